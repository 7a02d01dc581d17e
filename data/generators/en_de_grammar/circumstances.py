"""Random pairs of clauses that make sense together: reasons, conditions, obstacles, purposes.

A person or a thing that both clauses speak of is named in the clause that comes
first and is a pronoun in the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from generators.en_de_grammar import adjectives, verbs
from generators.en_de_grammar.actions import place_of, with_object
from generators.en_de_grammar.entries import GROWN_UP, PERSON, Adjective, Aspect, Feature, Verb
from generators.en_de_grammar.function_words import (
    AT_HOME,
    CAN,
    HOME,
    MUST,
    SHOULD,
    TO_CITY,
    WANT,
    YESTERDAY,
)
from generators.en_de_grammar.nouns import SUN
from generators.en_de_grammar.sampling import IT, Sampler, is_referable
from generators.en_de_grammar.tenses import past, situate
from generators.en_de_grammar.trees import (
    AdjectivePhrase,
    Clause,
    Degree,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Tense,
    pronoun_for,
)

Reaction = Callable[[Sampler, Nominal], Clause]

_MOTIVES: tuple[tuple[Verb, tuple[Adjective, ...]], ...] = (
    (verbs.BUY, (adjectives.CHEAP, adjectives.BEAUTIFUL, adjectives.GOOD, adjectives.FRESH)),
    (verbs.BUY, (adjectives.CHEAP, adjectives.BEAUTIFUL)),
    (verbs.SELL, (adjectives.OLD, adjectives.SMALL, adjectives.BIG)),
    (verbs.WEAR, (adjectives.BEAUTIFUL, adjectives.WARM, adjectives.NEW)),
    (verbs.READ, (adjectives.INTERESTING, adjectives.GOOD)),
    (verbs.WASH, (adjectives.DIRTY,)),
    (verbs.CLEAN, (adjectives.DIRTY,)),
    (verbs.EAT, (adjectives.GOOD, adjectives.FRESH)),
    (verbs.DRINK, (adjectives.GOOD, adjectives.COLD)),
)
_DRAWBACKS: tuple[tuple[Verb, tuple[Adjective, ...]], ...] = (
    (verbs.BUY, (adjectives.EXPENSIVE, adjectives.OLD, adjectives.EXPENSIVE)),
    (verbs.WEAR, (adjectives.OLD, adjectives.DIRTY)),
    (verbs.DRINK, (adjectives.COLD, adjectives.HOT)),
)
_PURPOSES: tuple[tuple[Feature, tuple[Verb, ...]], ...] = (
    (Feature.STORE, (verbs.BUY, verbs.BUY, verbs.MEET, verbs.SELL)),
    (Feature.STATION, (verbs.PICK_UP, verbs.MEET)),
    (Feature.EATERY, (verbs.EAT, verbs.DRINK, verbs.MEET)),
    (Feature.GREEN, (verbs.PLAY, verbs.READ, verbs.FEED)),
    (Feature.WATER, (verbs.SWIM,)),
    (Feature.SETTLEMENT, (verbs.VISIT, verbs.WORK)),
    (Feature.ROOM, (verbs.EAT, verbs.DRINK, verbs.READ)),
)
_ATTEMPTS = (
    verbs.REPAIR,
    verbs.OPEN,
    verbs.CLOSE,
    verbs.SELL,
    verbs.FIND,
    verbs.CALL,
    verbs.READ,
    verbs.BAKE,
    verbs.SLEEP,
)
_DUTIES = (
    verbs.CLOSE,
    verbs.CALL,
    verbs.BUY,
    verbs.FEED,
    verbs.WASH,
    verbs.PICK_UP,
    verbs.INVITE,
    verbs.WRITE,
    verbs.CLEAN,
)


@dataclass(frozen=True)
class Pair:
    """A main clause, a clause that depends on it, and which of them comes first."""

    main: Clause
    dependent: Clause
    dependent_first: bool = False


def _resting(sampler: Sampler, subject: Nominal) -> Clause:
    """Return what a tired or sick person does."""
    workplace = sampler.destination(Feature.WORKPLACE)
    return sampler.choice(
        (
            Clause(subject, verbs.SLEEP),
            Clause(subject, verbs.STAY, place=AT_HOME),
            Clause(subject, verbs.GO, oblique=HOME),
            Clause(subject, verbs.WORK, negated=True),
            Clause(subject, verbs.GO, oblique=workplace, negated=True),
            Clause(subject, verbs.SLEEP, place=sampler.place(Feature.ROOM)),
        )
    )


def _eating(sampler: Sampler, subject: Nominal) -> Clause:
    """Return what a hungry person does."""
    return with_object(sampler, verbs.EAT, subject)


def _celebrating(sampler: Sampler, subject: Nominal) -> Clause:
    """Return what a happy person does."""
    verb = sampler.choice((verbs.SING, verbs.DANCE, verbs.LAUGH))
    return Clause(subject, verb, place=sampler.place(verb.places) if sampler.chance(0.4) else None)


def _grieving(sampler: Sampler, subject: Nominal) -> Clause:
    """Return what a sad person does."""
    negated = Clause(subject, sampler.choice((verbs.SING, verbs.DANCE, verbs.LAUGH)), negated=True)
    return sampler.choice((negated, with_object(sampler, verbs.CALL, subject)))


def _sheltering(sampler: Sampler, subject: Nominal) -> Clause:
    """Return what one does in bad weather."""
    clothes = sampler.phrase(verbs.PUT_ON.objects, subject, definite=True, plural=0)
    bus = NounPhrase(sampler.noun(Feature.TRANSIT))
    return sampler.choice(
        (
            Clause(subject, verbs.STAY, place=AT_HOME),
            Clause(subject, verbs.PUT_ON, direct=clothes),
            Clause(subject, verbs.TAKE, direct=bus),
            Clause(subject, verbs.PLAY, place=sampler.place(Feature.ROOM)),
            Clause(subject, verbs.READ, direct=sampler.phrase(Feature.READABLE, subject)),
        )
    )


def _going_out(sampler: Sampler, subject: Nominal) -> Clause:
    """Return what one does in good weather."""
    outdoors = Feature.GREEN | Feature.WATER
    book = sampler.phrase(Feature.READABLE, subject)
    return sampler.choice(
        (
            Clause(subject, verbs.PLAY, place=sampler.place(Feature.GREEN)),
            Clause(subject, verbs.SIT, place=sampler.place(outdoors)),
            Clause(subject, verbs.SWIM, place=place_of(sampler, verbs.SWIM)),
            Clause(subject, verbs.GO, oblique=sampler.destination(outdoors)),
            Clause(subject, verbs.READ, direct=book, place=sampler.place(Feature.GREEN)),
        )
    )


_REACTIONS: tuple[tuple[Adjective, Reaction], ...] = (
    (adjectives.TIRED, _resting),
    (adjectives.SICK, _resting),
    (adjectives.HUNGRY, _eating),
    (adjectives.HUNGRY, _eating),
    (adjectives.HAPPY, _celebrating),
    (adjectives.SAD, _grieving),
)


def _weather(sampler: Sampler) -> tuple[Clause, Reaction]:
    """Return a clause about the weather and what one does in it."""
    cold, warm = (
        Clause(IT, verbs.BE, predicate=AdjectivePhrase(word))
        for word in (adjectives.COLD, adjectives.WARM)
    )
    return sampler.choice(
        (
            (Clause(IT, verbs.RAIN), _sheltering),
            (cold, _sheltering),
            (warm, _going_out),
            (Clause(NounPhrase(SUN), verbs.SHINE), _going_out),
        )
    )


def _referable_subject(sampler: Sampler, features: Feature = PERSON) -> Nominal:
    """Return a subject that a pronoun can refer back to."""
    subject = sampler.subject(features)
    if isinstance(subject, NounPhrase):
        subject = replace(subject, adjective=None)
    return subject if is_referable(subject) else _referable_subject(sampler, features)


def _state(sampler: Sampler, subject: Nominal, adjective: Adjective) -> Clause:
    """Return a clause about how somebody is."""
    degree = sampler.choice((Degree.PLAIN, Degree.PLAIN, Degree.VERY))
    return Clause(subject, verbs.BE, predicate=AdjectivePhrase(adjective, degree))


def _in_present(clause: Clause) -> Clause:
    """Return a clause as something that goes on now."""
    action = clause.verb.aspect is Aspect.ACTION
    return replace(clause, tense=Tense.PROGRESSIVE if action else Tense.PRESENT)


def _simultaneous(sampler: Sampler, pair: Pair) -> Pair:
    """Return a pair of clauses in the same tense."""
    if sampler.chance(0.35):
        time = YESTERDAY if sampler.chance(0.6) else None
        main = replace(pair.main, tense=Tense.PAST, time=time)
        return replace(pair, main=main, dependent=replace(pair.dependent, tense=Tense.PAST))
    dependent = _in_present(pair.dependent)
    if sampler.chance(0.3) and not pair.main.negated:
        main = replace(pair.main, modal=sampler.choice((MUST, WANT)))
        return replace(pair, main=main, dependent=dependent)
    return replace(pair, main=_in_present(pair.main), dependent=dependent)


def reason(sampler: Sampler) -> Pair:
    """Return what somebody does, and why."""
    makers = ((_personal_reason, 4), (_weather_reason, 3), (_quality_reason, 5), (_loss, 1))
    return sampler.weighted(makers)(sampler)


def _personal_reason(sampler: Sampler) -> Pair:
    """Return what somebody does because of how he or she is."""
    subject = _referable_subject(sampler)
    adjective, react = sampler.choice(_REACTIONS)
    state = _state(sampler, pronoun_for(subject), adjective)
    return _simultaneous(sampler, Pair(react(sampler, subject), state))


def _weather_reason(sampler: Sampler) -> Pair:
    """Return what somebody does because of the weather."""
    weather, react = _weather(sampler)
    return _simultaneous(sampler, Pair(react(sampler, sampler.subject()), weather))


def _evaluated_object(
    sampler: Sampler, options: Sequence[tuple[Verb, tuple[Adjective, ...]]]
) -> tuple[Clause, Adjective]:
    """Return a clause with an object, and an adjective that suits it."""
    verb, judgements = sampler.choice(options)
    adjective = sampler.choice(judgements)
    subject = sampler.subject(verb.subjects)
    fitting = False
    while not fitting:
        phrase = sampler.phrase(verb.objects, subject, definite=True, plural=0.2, described=0)
        fitting = bool(phrase.noun.features & adjective.features)
    return Clause(subject, verb, direct=phrase), adjective


def _quality_reason(sampler: Sampler) -> Pair:
    """Return what somebody does with a thing because of what the thing is like."""
    main, adjective = _evaluated_object(sampler, _MOTIVES)
    degree = Degree.TOO if main.verb is verbs.SELL else sampler.choice((Degree.PLAIN, Degree.VERY))
    if main.verb is verbs.BUY and sampler.chance(0.3) and _costs(main.direct):
        main = replace(main, modal=CAN, negated=True)
        adjective, degree = adjectives.EXPENSIVE, Degree.TOO
    quality = Clause(_reference(main), verbs.BE, predicate=AdjectivePhrase(adjective, degree))
    if main.modal:
        return Pair(main, quality)
    return _simultaneous(sampler, Pair(main, quality))


def _costs(nominal: Nominal | None) -> bool:
    """Tell whether a thing can be called expensive."""
    return isinstance(nominal, NounPhrase) and bool(
        nominal.noun.features & adjectives.EXPENSIVE.features
    )


def _reference(clause: Clause) -> Nominal:
    """Return the pronoun that refers back to the direct object."""
    return pronoun_for(clause.direct) if clause.direct else IT


def _loss(sampler: Sampler) -> Pair:
    """Return what somebody looks for because it is lost."""
    subject = _referable_subject(sampler)
    phrase = sampler.phrase(verbs.LOSE.objects, pronoun_for(subject), definite=True, plural=0.2)
    main = Clause(subject, verbs.LOOK_FOR, Tense.PROGRESSIVE, direct=phrase)
    lost = Clause(pronoun_for(subject), verbs.LOSE, Tense.PERFECT, direct=pronoun_for(phrase))
    return Pair(main, lost)


def condition(sampler: Sampler) -> Pair:
    """Return what somebody does, and under which condition."""
    modal = sampler.choice((None, None, SHOULD, MUST, CAN))
    tense = Tense.PRESENT if modal or sampler.chance(0.6) else Tense.FUTURE
    first = sampler.chance(0.6)
    if sampler.chance(0.5):
        weather, react = _weather(sampler)
        main, dependent = react(sampler, sampler.subject()), weather
    else:
        subject = _referable_subject(sampler)
        pronoun = pronoun_for(subject)
        adjective, react = sampler.choice(_REACTIONS)
        main = react(sampler, pronoun if first else subject)
        dependent = _state(sampler, subject if first else pronoun, adjective)
    modal = None if main.negated else modal
    return Pair(replace(main, modal=modal, tense=tense), dependent, first)


def obstacle(sampler: Sampler) -> Pair:
    """Return what somebody does, and what speaks against it."""
    makers = (_flawed_object, _flawed_object, _bad_weather, _bad_state, _bad_state)
    return _simultaneous(sampler, sampler.choice(makers)(sampler))


def _flawed_object(sampler: Sampler) -> Pair:
    """Return what somebody does with a thing in spite of what the thing is like."""
    main, adjective = _evaluated_object(sampler, _DRAWBACKS)
    degree = sampler.choice((Degree.PLAIN, Degree.VERY, Degree.TOO))
    quality = Clause(_reference(main), verbs.BE, predicate=AdjectivePhrase(adjective, degree))
    return Pair(main, quality)


def _bad_weather(sampler: Sampler) -> Pair:
    """Return what somebody does in spite of the rain."""
    main = _going_out(sampler, sampler.subject())
    return Pair(main, Clause(IT, verbs.RAIN), sampler.chance(0.5))


def _bad_state(sampler: Sampler) -> Pair:
    """Return what somebody does in spite of how he or she is."""
    first = sampler.chance(0.5)
    subject = _referable_subject(sampler, GROWN_UP)
    pronoun = pronoun_for(subject)
    verb = sampler.choice((verbs.WORK, verbs.PLAY, verbs.DANCE, verbs.SING, verbs.SWIM))
    main = Clause(pronoun if first else subject, verb, place=place_of(sampler, verb))
    adjective = sampler.choice((adjectives.TIRED, adjectives.SICK, adjectives.HUNGRY))
    return Pair(main, _state(sampler, subject if first else pronoun, adjective), first)


def purpose(sampler: Sampler) -> Pair:
    """Return where somebody goes, and what for."""
    features, activities = sampler.choice(_PURPOSES)
    verb = sampler.choice(activities)
    subject = sampler.subject(verb.subjects & GROWN_UP)
    main = Clause(subject, verbs.GO, oblique=sampler.destination(features))
    if features is Feature.SETTLEMENT:
        city = PrepositionalPhrase(TO_CITY, sampler.city())
        main = Clause(subject, sampler.choice((verbs.DRIVE, verbs.TRAVEL)), oblique=city)
    return Pair(situate(sampler, main), _content(sampler, subject, verb))


def _content(sampler: Sampler, subject: Nominal, verb: Verb) -> Clause:
    """Return the clause of an infinitive."""
    if verb.objects:
        return replace(with_object(sampler, verb, subject), place=None)
    return Clause(subject, verb)


def task(sampler: Sampler) -> Pair:
    """Return what somebody tries or forgets to do."""
    matrix = sampler.choice((verbs.TRY, verbs.FORGET))
    verb = sampler.choice(_ATTEMPTS if matrix is verbs.TRY else _DUTIES)
    subject = sampler.subject(verb.subjects & PERSON)
    main = Clause(subject, matrix)
    if matrix is verbs.TRY and sampler.chance(0.4):
        main = replace(main, tense=Tense.PROGRESSIVE)
    else:
        main = replace(past(sampler, main), negated=False)
    return Pair(main, _content(sampler, subject, verb))
