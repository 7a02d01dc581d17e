"""Random clauses about what somebody does."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from generators.en_de_grammar import verbs
from generators.en_de_grammar.entries import ANIMAL, PERSON, Adverb, Aspect, Feature, Name, Verb
from generators.en_de_grammar.function_words import (
    AT_HOME,
    FOR,
    FROM,
    HOME,
    THROUGH,
    TO_CITY,
    WITH,
    WITHOUT,
)
from generators.en_de_grammar.nouns import IN
from generators.en_de_grammar.sampling import SHE, Sampler, can_own
from generators.en_de_grammar.tenses import situate
from generators.en_de_grammar.trees import (
    Clause,
    Determiner,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    agreement,
    pronoun_for,
)

ActionMaker = Callable[[Sampler, Nominal | None], Clause]

_PLACES_TO_DRIVE_THROUGH = Feature.SETTLEMENT | Feature.STREET
_PLACES_TO_WALK_THROUGH = Feature.GREEN | Feature.SETTLEMENT | Feature.STREET
_STOPS = Feature.STATION | Feature.STREET


def bare_action(
    sampler: Sampler,
    makers: Sequence[ActionMaker],
    subject: Nominal | None = None,
    *,
    lasting: bool = False,
) -> Clause:
    """Return a clause without a tense about what somebody does, not about a state.

    Args:
        sampler: the source of choices.
        makers: the functions to choose from.
        subject: who does it, if that is settled.
        lasting: whether it must go on for some time.
    """
    excluded = (Aspect.STATE, Aspect.EVENT) if lasting else (Aspect.STATE,)
    while (clause := sampler.choice(makers)(sampler, subject)).verb.aspect in excluded:
        pass
    return clause


def transitive(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause with an accusative or dative object."""
    return with_object(sampler, sampler.choice(verbs.TRANSITIVE_VERBS), subject)


def with_object(sampler: Sampler, verb: Verb, subject: Nominal | None = None) -> Clause:
    """Return a clause with a given transitive verb."""
    subject = subject or sampler.subject(verb.subjects)
    direct = _object(sampler, verb, subject)
    place = sampler.place(verb.places) if verb.places and sampler.chance(0.2) else None
    return Clause(subject, verb, direct=direct, place=place)


def _object(sampler: Sampler, verb: Verb, subject: Nominal) -> Nominal:
    """Return an object that suits a verb."""
    features = verb.objects
    if verb is verbs.TAKE:
        return NounPhrase(sampler.noun(features))
    if features & Feature.SETTLEMENT and sampler.chance(0.2):
        return sampler.city()
    if features & PERSON and (sampler.chance(0.6) or not features & ~PERSON):
        return sampler.person(features & PERSON, subject)
    definite = verb.aspect is not Aspect.ACTION or bool(features & ANIMAL)
    plural = 0.0 if verb in (verbs.WEAR, verbs.PUT_ON) else 0.25
    plain = verb in (verbs.CLEAN, verbs.WASH, *verbs.CREATION_VERBS)
    described = 0.0 if plain else 0.25
    phrase = sampler.phrase(
        features, subject, definite=definite, plural=plural, described=described
    )
    if verb in verbs.CREATION_VERBS and isinstance(phrase.determiner, NounPhrase | Name | Pronoun):
        phrase = replace(phrase, determiner=Determiner.INDEFINITE)
    return _modified(sampler, verb, subject, phrase)


def _modified(sampler: Sampler, verb: Verb, subject: Nominal, phrase: NounPhrase) -> NounPhrase:
    """Return an object that may say for whom or from whom it is."""
    indefinite = phrase.determiner is Determiner.INDEFINITE
    recipient = verb in (verbs.BUY, verbs.COOK, verbs.BAKE, verbs.LOOK_FOR) and indefinite
    sent = Feature.SENT in phrase.noun.features and verb is not verbs.WRITE
    if recipient and sampler.chance(0.3):
        beneficiary = sampler.person(PERSON, subject)
        return replace(phrase, modifier=PrepositionalPhrase(FOR, beneficiary))
    if sent and isinstance(phrase.determiner, Determiner) and sampler.chance(0.4):
        sender = sampler.person_name() if sampler.chance(0.4) else sampler.person(Feature.KIN)
        return replace(phrase, modifier=PrepositionalPhrase(FROM, sender))
    return phrase


def ditransitive(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause with a dative and an accusative object."""
    verb = sampler.choice(verbs.DITRANSITIVE_VERBS)
    subject = subject or sampler.subject(verb.subjects)
    indirect = sampler.person(PERSON, subject)
    direct = sampler.phrase(verb.objects, subject, plural=0.2, described=0.3)
    if indirect == SHE and direct.determiner is Determiner.INDEFINITE:
        direct = replace(direct, determiner=Determiner.DEFINITE)  # "her" would look possessive
    return Clause(subject, verb, indirect=indirect, direct=direct)


def prepositional(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause with a prepositional object."""
    verb, preposition = sampler.choice(verbs.PREPOSITIONAL_VERBS)
    subject = subject or sampler.subject(verb.subjects)
    if sampler.chance(0.6) or not verb.objects & ~PERSON:
        nominal = sampler.person(verb.objects & PERSON, subject)
    elif verb.objects & Feature.TRANSIT:
        nominal = NounPhrase(sampler.noun(Feature.TRANSIT))
    else:
        nominal = sampler.phrase(verb.objects & ~PERSON, subject, plural=0.1)
    places = _STOPS if isinstance(nominal, NounPhrase) and verb is verbs.WAIT else verb.places
    place = sampler.place(places) if places and sampler.chance(0.3) else None
    return Clause(subject, verb, place=place, oblique=PrepositionalPhrase(preposition, nominal))


def place_of(sampler: Sampler, verb: Verb) -> PrepositionalPhrase:
    """Return a place that suits a verb: one sits at a lake, but swims in it."""
    place = sampler.place(verb.places)
    return replace(place, preposition=IN) if verb is verbs.SWIM else place


def intransitive(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause without an object."""
    verb = sampler.choice(verbs.INTRANSITIVE_VERBS)
    subject = subject or sampler.subject(verb.subjects & PERSON)
    home = verb.places & Feature.ROOM and sampler.chance(0.15)
    place = AT_HOME if home else place_of(sampler, verb)
    clause = Clause(subject, verb, place=place)
    return _accompanied(sampler, clause) if verb is not verbs.SLEEP else clause


def _accompanied(sampler: Sampler, clause: Clause) -> Clause:
    """Return a clause that may say with whom or without what somebody does something."""
    if sampler.chance(0.2):
        person = sampler.person(PERSON, clause.subject)
        return replace(clause, companion=PrepositionalPhrase(WITH, person))
    if clause.verb in (verbs.GO, verbs.DRIVE, verbs.PLAY) and sampler.chance(0.12):
        clothes = sampler.noun(Feature.WEARABLE)
        owner = pronoun_for(clause.subject) if can_own(clause.subject) else Determiner.DEFINITE
        _, number = agreement(clause.subject)
        thing = NounPhrase(clothes, owner, number)
        return replace(clause, companion=PrepositionalPhrase(WITHOUT, thing))
    return clause


def animal(sampler: Sampler) -> Clause:
    """Return a clause about an animal."""
    verb = sampler.choice(
        (verbs.SLEEP, verbs.SLEEP, verbs.PLAY, verbs.RUN, verbs.FEED_ON, verbs.FEED_ON, verbs.DRINK)
    )
    subject = sampler.phrase(
        verb.subjects & ANIMAL or ANIMAL, definite=sampler.chance(0.8), plural=0.3
    )
    clause = Clause(subject, verb)
    if verb is verbs.RUN:
        return replace(clause, oblique=sampler.destination(Feature.GREEN | Feature.HOUSE))
    if verb in (verbs.SLEEP, verbs.PLAY):
        indoors = verb is verbs.SLEEP and sampler.chance(0.4)
        place = sampler.position() if indoors else sampler.place(Feature.ROOM | Feature.GREEN)
        return replace(clause, place=place)
    objects = verb.objects if verb is verbs.FEED_ON else Feature.ANIMAL_DRINK
    return replace(clause, direct=sampler.phrase(objects, plural=0.2))


def motion(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause about somebody who goes somewhere."""
    verb = sampler.choice(
        (verbs.GO, verbs.GO, verbs.GO, verbs.DRIVE, verbs.DRIVE, verbs.RUN, verbs.TRAVEL)
    )
    subject = subject or sampler.subject(verb.subjects & PERSON)
    if verb is verbs.TRAVEL:
        oblique: Adverb | PrepositionalPhrase = PrepositionalPhrase(TO_CITY, sampler.city())
    elif sampler.chance(0.15):
        oblique = HOME
    elif sampler.chance(0.2):
        crossed = _PLACES_TO_DRIVE_THROUGH if verb is verbs.DRIVE else _PLACES_TO_WALK_THROUGH
        oblique = PrepositionalPhrase(THROUGH, NounPhrase(sampler.noun(crossed)))
    else:
        oblique = sampler.destination(verb.places)
    return _accompanied(sampler, Clause(subject, verb, oblique=oblique))


def placement(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause about somebody who puts something somewhere."""
    subject = subject or sampler.subject(verbs.PUT.subjects)
    direct = sampler.phrase(verbs.PUT.objects, subject, plural=0.2)
    return Clause(subject, verbs.PUT, direct=direct, oblique=sampler.position())


ACTIONS: tuple[tuple[ActionMaker, int], ...] = (
    (transitive, 40),
    (ditransitive, 14),
    (prepositional, 9),
    (intransitive, 10),
    (motion, 12),
    (placement, 8),
)


def action(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause about what somebody does, set in some tense."""
    return situate(sampler, sampler.weighted(ACTIONS)(sampler, subject))


def animal_action(sampler: Sampler) -> Clause:
    """Return a clause about an animal, set in some tense."""
    return situate(sampler, animal(sampler))
