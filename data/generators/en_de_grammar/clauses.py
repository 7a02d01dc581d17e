"""Random clauses: what somebody does, is or has."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from generators.en_de_grammar import verbs
from generators.en_de_grammar.categories import Number
from generators.en_de_grammar.entries import ANIMAL, PERSON, Adverb, Aspect, Feature, Name, Verb
from generators.en_de_grammar.function_words import (
    ALREADY,
    AT_HOME,
    CAN,
    FOR,
    FROM,
    FROM_CITY,
    HABITUAL_ADVERBS,
    HOME,
    MUST,
    NEXT_WEEK,
    NOW,
    PAST_PERIODS,
    SEASONS,
    SHOULD,
    THROUGH,
    TO_CITY,
    TODAY,
    TOMORROW,
    WANT,
    WITH,
    WITHOUT,
    WOULD_LIKE,
    YESTERDAY,
)
from generators.en_de_grammar.nouns import IN, SUN
from generators.en_de_grammar.sampling import (
    IT,
    PRONOUNS,
    WE,
    YOU,
    Sampler,
    adjectives_for,
    is_referable,
    sequence,
)
from generators.en_de_grammar.trees import (
    AdjectivePhrase,
    Clause,
    Degree,
    Demonstrative,
    Determiner,
    Nominal,
    NounPhrase,
    Occupation,
    PrepositionalPhrase,
    Pronoun,
    Tense,
    agreement,
    pronoun_for,
)

Maker = Callable[[Sampler], Clause]
ActionMaker = Callable[[Sampler, Nominal | None], Clause]
Setting = Callable[[Sampler, Clause], Clause]

_PLACES_TO_DRIVE_THROUGH = Feature.SETTLEMENT | Feature.STREET
_PLACES_TO_WALK_THROUGH = Feature.GREEN | Feature.SETTLEMENT | Feature.STREET
_STOPS = Feature.STATION | Feature.STREET
_PUBLIC_PLACES = (
    Feature.WORKPLACE
    | Feature.EATERY
    | Feature.STORE
    | Feature.STATION
    | Feature.GREEN
    | Feature.WATER
)
_COMPARABLE = (
    Feature.VEHICLE,
    Feature.FURNITURE,
    Feature.WEARABLE,
    Feature.BUILDING,
    Feature.READABLE,
    Feature.SETTLEMENT,
)
_CONCRETE = (
    Feature.FURNITURE
    | Feature.WEARABLE
    | Feature.VEHICLE
    | Feature.READABLE
    | Feature.EDIBLE
    | Feature.DRINKABLE
    | Feature.TABLEWARE
    | Feature.CONTAINER
    | Feature.DEVICE
)


def _negated(sampler: Sampler, clause: Clause, probability: float) -> bool:
    """Tell whether to negate a clause, which a counted object does not allow."""
    counted = isinstance(clause.direct, NounPhrase) and isinstance(clause.direct.determiner, int)
    return not counted and sampler.chance(probability)


def ongoing(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in the present."""
    state = clause.verb.aspect is Aspect.STATE
    time = None if state else sampler.choice((None, None, NOW, TODAY))
    tense = Tense.PRESENT if state else Tense.PROGRESSIVE
    negated = _negated(sampler, clause, 0.15)
    return replace(clause, tense=tense, time=time, negated=negated)


def habitual(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in the present as something that happens again and again."""
    options = list(HABITUAL_ADVERBS)
    options += SEASONS * 2 if clause.place or clause.oblique else []
    return replace(clause, tense=Tense.PRESENT, time=sampler.choice(options))


def past(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in the past."""
    options = [YESTERDAY, YESTERDAY, sampler.weekday()]
    options += PAST_PERIODS if clause.verb.notable else []
    negated = _negated(sampler, clause, 0.12)
    return replace(clause, tense=Tense.PAST, time=sampler.choice(options), negated=negated)


def perfect(_: Sampler, clause: Clause) -> Clause:
    """Set a clause in the past as something that is done by now."""
    return replace(clause, tense=Tense.PERFECT, time=ALREADY)


def future(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in the future."""
    options = [TOMORROW, TOMORROW, sampler.weekday()]
    options += [NEXT_WEEK] if clause.verb.notable else []
    negated = _negated(sampler, clause, 0.1)
    return replace(clause, tense=Tense.FUTURE, time=sampler.choice(options), negated=negated)


def modal(sampler: Sampler, clause: Clause) -> Clause:
    """Say that somebody can, must, wants to, should or would like to do something."""
    chosen = sampler.choice((CAN, MUST, WANT, SHOULD, WOULD_LIKE))
    time = sampler.choice((None, None, TODAY, TOMORROW, sampler.weekday()))
    negated = chosen is not WOULD_LIKE and _negated(sampler, clause, 0.25)
    return replace(clause, modal=chosen, time=time, negated=negated)


def past_modal(sampler: Sampler, clause: Clause) -> Clause:
    """Say that somebody had to or wanted to do something, or could not do it."""
    chosen = sampler.choice((MUST, WANT, CAN))
    counted = isinstance(clause.direct, NounPhrase) and isinstance(clause.direct.determiner, int)
    if chosen is CAN and counted:
        chosen = MUST
    time = sampler.choice((YESTERDAY, sampler.weekday()))
    return replace(clause, modal=chosen, tense=Tense.PAST, time=time, negated=chosen is CAN)


def fond(sampler: Sampler, clause: Clause) -> Clause:
    """Say that somebody likes to do something."""
    return replace(clause, fond=True, negated=sampler.chance(0.2))


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


def situate(sampler: Sampler, clause: Clause) -> Clause:
    """Set a clause in a tense that suits its verb and its object."""
    verb = clause.verb
    settings: list[Setting] = []
    if verb.aspect is Aspect.STATE:
        return ongoing(sampler, clause)
    if _is_repeatable(clause):
        settings += [habitual] * 4
    if verb.aspect is Aspect.EVENT:
        return sampler.choice([*settings, past, past, past])(sampler, clause)
    if clause.direct and verb not in (verbs.WEAR, verbs.LOOK_FOR, verbs.TAKE):
        settings.append(perfect)
    if _is_generic(clause) and verb not in (verbs.SLEEP, verbs.LOOK_FOR):
        settings.append(fond)
    settings += [ongoing, ongoing, past, past, past, future, future, modal, modal, past_modal]
    return sampler.choice(settings)(sampler, clause)


def _is_repeatable(clause: Clause) -> bool:
    """Tell whether one can do the same again and again."""
    indefinite = isinstance(clause.direct, NounPhrase) and clause.direct.indefinite
    return indefinite or _is_generic(clause)


def _is_generic(clause: Clause) -> bool:
    """Tell whether a clause is about a kind of object, or about one that lasts."""
    lasting = PERSON | ANIMAL | Feature.TRANSIT | Feature.CLEANABLE | Feature.ROOM
    match clause.direct:
        case NounPhrase(noun=noun, determiner=Determiner.INDEFINITE, number=number):
            return number is Number.PLURAL or not noun.countable
        case NounPhrase(noun=noun, determiner=determiner):
            return bool(noun.features & lasting) and not isinstance(determiner, int)
        case _:
            return True


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
    plural = 0.0 if features is Feature.WEARABLE else 0.25
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


def intransitive(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause without an object."""
    verb = sampler.choice(verbs.INTRANSITIVE_VERBS)
    subject = subject or sampler.subject(verb.subjects & PERSON)
    home = verb.places & Feature.ROOM and sampler.chance(0.15)
    place = AT_HOME if home else sampler.place(verb.places)
    clause = Clause(subject, verb, place=place)
    return _accompanied(sampler, clause) if verb is not verbs.SLEEP else clause


def _accompanied(sampler: Sampler, clause: Clause) -> Clause:
    """Return a clause that may say with whom or without what somebody does something."""
    if sampler.chance(0.2):
        person = sampler.person(PERSON, clause.subject)
        return replace(clause, companion=PrepositionalPhrase(WITH, person))
    if clause.verb in (verbs.GO, verbs.DRIVE, verbs.PLAY) and sampler.chance(0.12):
        clothes = sampler.noun(Feature.WEARABLE)
        owner = pronoun_for(clause.subject) if is_referable(clause.subject) else Determiner.DEFINITE
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


def animal_action(sampler: Sampler) -> Clause:
    """Return a clause about an animal, set in some tense."""
    return situate(sampler, animal(sampler))


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


def timetable(sampler: Sampler) -> Clause:
    """Return a clause about the hour when somebody gets up, arrives or comes back."""
    verb = sampler.choice((verbs.GET_UP, verbs.ARRIVE, verbs.COME_BACK))
    if verb is verbs.ARRIVE and sampler.chance(0.5):
        subject: Nominal = NounPhrase(sampler.noun(Feature.TRANSIT))
    else:
        subject = sampler.subject(verb.subjects & PERSON)
    hour = sampler.clock_time()
    every_day = sampler.choice(HABITUAL_ADVERBS[4:6])
    day, tense = sampler.choice(
        (
            (every_day, Tense.PRESENT),
            (TOMORROW, Tense.FUTURE),
            (sampler.weekday(), Tense.FUTURE),
            (sampler.weekday(), Tense.PAST),
            (YESTERDAY, Tense.PAST),
        )
    )
    return Clause(subject, verb, tense, time=sequence(day, hour))


def quality(sampler: Sampler) -> Clause:
    """Return a clause about what somebody or something is like."""
    subject, features = _describable(sampler)
    transient = None if sampler.chance(0.7) else True
    predicate = sampler.adjective_phrase(features, transient=transient)
    clause = Clause(subject, verbs.BE, predicate=predicate)
    if predicate.adjective.transient and sampler.chance(0.5):
        if sampler.chance(0.5):
            return replace(clause, tense=Tense.PAST, time=YESTERDAY)
        return replace(clause, time=sampler.choice((TODAY, NOW, *HABITUAL_ADVERBS[:2])))
    tense = Tense.PAST if sampler.chance(0.15) else Tense.PRESENT
    return replace(clause, tense=tense, negated=sampler.chance(0.15))


def _describable(sampler: Sampler) -> tuple[Nominal, Feature]:
    """Return a subject with the features that its adjectives must share."""
    if sampler.chance(0.15):
        return sampler.choice(PRONOUNS), Feature.ADULT
    if sampler.chance(0.15):
        return sampler.person_name(), Feature.ADULT
    features = PERSON if sampler.chance(0.25) else _CONCRETE | ANIMAL | Feature.ROOM | Feature.SIGHT
    phrase = sampler.phrase(features, definite=True, described=0.12)
    return phrase, phrase.noun.features


def location(sampler: Sampler) -> Clause:
    """Return a clause about where somebody or something is."""
    kind = sampler.weighted((("person", 4), ("pet", 1), ("vehicle", 2), ("thing", 5)))
    if kind == "person":
        subject = sampler.subject(PERSON)
        place = sampler.place(Feature.ROOM | Feature.GREEN | Feature.EATERY | Feature.WORKPLACE)
        time = sampler.choice((None, TODAY, NOW))
        at_home = sampler.chance(0.25)
        return Clause(subject, verbs.BE, place=AT_HOME if at_home else place, time=time)
    features, place = {
        "pet": (Feature.PET, sampler.place(Feature.ROOM | Feature.GREEN)),
        "vehicle": (Feature.VEHICLE, sampler.vicinity()),
        "thing": (Feature.PORTABLE | Feature.TABLEWARE, sampler.position()),
    }[kind]
    phrase = sampler.phrase(features, definite=True, plural=0.3)
    return Clause(phrase, verbs.BE, place=place, negated=sampler.chance(0.15))


def comparison(sampler: Sampler) -> Clause:
    """Return a clause that compares two people or two things."""
    if sampler.chance(0.3):
        family = sampler.choice((Feature.SIBLING, Feature.ADULT))
        first, second = (
            sampler.person_name() if family is Feature.ADULT else sampler.phrase(family, plural=0)
            for _ in range(2)
        )
        features = Feature.ADULT
    else:
        family = sampler.choice(_COMPARABLE)
        phrases = [sampler.phrase(family, definite=True, plural=0, described=0) for _ in range(2)]
        first, second = phrases
        features = phrases[0].noun.features & phrases[1].noun.features
    gradable = [one for one in adjectives_for(features) if one.gradable and not one.transient]
    if not gradable:
        return comparison(sampler)
    adjective = sampler.choice(gradable)
    degree = sampler.choice((Degree.COMPARATIVE, Degree.COMPARATIVE, Degree.EQUATIVE))
    predicate = AdjectivePhrase(adjective, degree, second)
    return Clause(first, verbs.BE, predicate=predicate, negated=sampler.chance(0.15))


def profession(sampler: Sampler) -> Clause:
    """Return a clause about what somebody does for a living."""
    subject = sampler.subject(Feature.KIN | Feature.ADULT)
    pronoun = pronoun_for(subject)
    _, number = agreement(subject)
    occupation = Occupation(sampler.noun(Feature.PROFESSION), number, pronoun.gender)
    return Clause(subject, verbs.BE, predicate=occupation, negated=sampler.chance(0.2))


def identification(sampler: Sampler) -> Clause:
    """Return a clause that begins with "this is" or "these are"."""
    features = sampler.choice(
        (Feature.KIN, _CONCRETE & ~(Feature.EDIBLE | Feature.DRINKABLE), ANIMAL)
    )
    phrase = sampler.phrase(features, described=0.2)
    if isinstance(phrase.determiner, Determiner | int):
        phrase = replace(phrase, determiner=sampler.owner(None))
    negated = sampler.chance(0.2)
    return Clause(Demonstrative(phrase.number), verbs.BE, predicate=phrase, negated=negated)


def possession(sampler: Sampler) -> Clause:
    """Return a clause about what somebody has."""
    subject = sampler.subject(PERSON)
    features = sampler.choice(
        (
            Feature.SIBLING,
            ANIMAL,
            Feature.VEHICLE | Feature.DEVICE | Feature.HOUSE,
            Feature.WEARABLE | Feature.CONTAINER | Feature.READABLE,
        )
    )
    phrase = sampler.phrase(features, plural=0.5, described=0.35)
    several = phrase.number is Number.PLURAL
    determiner = sampler.numeral(5) if several else Determiner.INDEFINITE
    phrase = replace(phrase, determiner=determiner)
    negated = not several and sampler.chance(0.3)
    return Clause(subject, verbs.HAVE, direct=phrase, negated=negated)


def preference(sampler: Sampler) -> Clause:
    """Return a clause about what somebody likes."""
    subject = sampler.subject(PERSON)
    if sampler.chance(0.5):
        phrase = sampler.phrase(
            Feature.EDIBLE | Feature.DRINKABLE | ANIMAL, plural=1, described=0.3
        )
        phrase = replace(phrase, determiner=Determiner.INDEFINITE)
    else:
        phrase = sampler.phrase(verbs.LIKE.objects, subject, definite=True)
    return Clause(subject, verbs.LIKE, direct=phrase, negated=sampler.chance(0.25))


def belonging(sampler: Sampler) -> Clause:
    """Return a clause about whom something belongs to."""
    phrase = sampler.phrase(verbs.BELONG_TO.subjects, plural=0.2)
    determiner = sampler.choice((Determiner.DEFINITE, Determiner.DEMONSTRATIVE))
    subject = replace(phrase, determiner=determiner)
    owner = sampler.person(verbs.BELONG_TO.objects, subject)
    return Clause(subject, verbs.BELONG_TO, direct=owner, negated=sampler.chance(0.15))


def origin(sampler: Sampler) -> Clause:
    """Return a clause about the city that somebody lives in or comes from."""
    subject = sampler.subject(PERSON)
    if sampler.chance(0.5):
        city = PrepositionalPhrase(FROM_CITY, sampler.city())
        return Clause(subject, verbs.COME, oblique=city, negated=sampler.chance(0.15))
    return Clause(
        subject, verbs.LIVE, place=sampler.place(verbs.LIVE.places), negated=sampler.chance(0.15)
    )


def existence(sampler: Sampler) -> Clause:
    """Return a clause about what there is in a village or in a city."""
    phrase = sampler.phrase(_PUBLIC_PLACES, plural=0.4, described=0.35)
    several = phrase.number is Number.PLURAL
    determiner = sampler.numeral(6) if several else Determiner.INDEFINITE
    direct = replace(phrase, determiner=determiner)
    owner = sampler.choice((WE, YOU)) if sampler.chance(0.4) else Determiner.DEFINITE
    settlement = NounPhrase(sampler.noun(Feature.SETTLEMENT), owner)
    place = PrepositionalPhrase(IN, sampler.city() if sampler.chance(0.4) else settlement)
    return Clause(IT, verbs.THERE_BE, direct=direct, place=place)


def weather(sampler: Sampler) -> Clause:
    """Return a clause about the weather."""
    clause = sampler.choice((Clause(IT, verbs.RAIN), Clause(NounPhrase(SUN), verbs.SHINE)))
    if sampler.chance(0.5):
        clause = Clause(IT, verbs.BE, predicate=sampler.adjective_phrase(Feature.WEATHER))
    time, tense = sampler.choice(
        (
            (None, Tense.PROGRESSIVE),
            (TODAY, Tense.PROGRESSIVE),
            (NOW, Tense.PROGRESSIVE),
            (YESTERDAY, Tense.PAST),
            (sampler.weekday(), Tense.PAST),
            (TOMORROW, Tense.FUTURE),
            (sampler.choice(HABITUAL_ADVERBS[:4]), Tense.PRESENT),
        )
    )
    if clause.verb is verbs.BE and tense is Tense.PROGRESSIVE:
        tense = Tense.PRESENT
    place = sampler.place(Feature.SETTLEMENT) if sampler.chance(0.6) else None
    return replace(clause, tense=tense, time=time, place=place)


ACTIONS: tuple[tuple[ActionMaker, int], ...] = (
    (transitive, 40),
    (ditransitive, 14),
    (prepositional, 9),
    (intransitive, 10),
    (motion, 12),
    (placement, 8),
)
DESCRIPTIONS: tuple[tuple[Maker, int], ...] = (
    (quality, 20),
    (location, 14),
    (comparison, 12),
    (profession, 7),
    (identification, 6),
    (possession, 10),
    (preference, 8),
    (belonging, 6),
    (origin, 6),
    (existence, 7),
    (weather, 7),
    (timetable, 10),
    (animal_action, 14),
)


def action(sampler: Sampler, subject: Nominal | None = None) -> Clause:
    """Return a clause about what somebody does, set in some tense."""
    return situate(sampler, sampler.weighted(ACTIONS)(sampler, subject))


def description(sampler: Sampler) -> Clause:
    """Return a clause about a state, or about the hour when something happens."""
    return sampler.weighted(DESCRIPTIONS)(sampler)
