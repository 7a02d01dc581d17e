"""Random clauses about what somebody or something is or has, and about timetables."""

from collections.abc import Callable
from dataclasses import replace

from generators.en_de_grammar import verbs
from generators.en_de_grammar.actions import animal_action
from generators.en_de_grammar.categories import Number
from generators.en_de_grammar.entries import ANIMAL, PERSON, PROVISIONS, Feature
from generators.en_de_grammar.function_words import (
    AT_HOME,
    FROM_CITY,
    HABITUAL_ADVERBS,
    NOW,
    TODAY,
    TOMORROW,
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
    Tense,
    agreement,
    pronoun_for,
)

Maker = Callable[[Sampler], Clause]

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
            (every_day, Tense.PRESENT),
            (TOMORROW, Tense.FUTURE),
            (sampler.weekday(), Tense.FUTURE),
            (sampler.weekday(), Tense.PAST),
            (YESTERDAY, Tense.PAST),
        )
    )
    time = hour if tense is Tense.PRESENT and sampler.chance(0.5) else sequence(day, hour)
    return Clause(subject, verb, tense, time=time)


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
    features = sampler.choice((Feature.KIN, _CONCRETE & ~PROVISIONS, ANIMAL))
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
    (timetable, 24),
    (animal_action, 14),
)


def description(sampler: Sampler) -> Clause:
    """Return a clause about a state, or about the hour when something happens."""
    return sampler.weighted(DESCRIPTIONS)(sampler)
