"""Random nominals and adverbials that respect the semantic features of the words."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeVar

from generators.en_de_grammar.adjectives import ADJECTIVES
from generators.en_de_grammar.categories import Gender, Number, Person
from generators.en_de_grammar.entries import (
    PERSON,
    PROVISIONS,
    Adjective,
    Adverb,
    Feature,
    Name,
    Noun,
    Preposition,
)
from generators.en_de_grammar.function_words import (
    BEHIND,
    BETWEEN,
    IN_FRONT_OF,
    NEXT_TO,
    NUMERALS,
    ON,
    TO_CITY,
    UNDER,
    WEEKDAYS,
    WITH,
)
from generators.en_de_grammar.nouns import CITIES, IN, NOUNS, PEOPLE
from generators.en_de_grammar.trees import (
    AdjectivePhrase,
    Coordination,
    Degree,
    Determiner,
    Nominal,
    NounPhrase,
    PrepositionalPhrase,
    Pronoun,
    pronoun_for,
)

T = TypeVar("T")

I = Pronoun(Person.FIRST)  # noqa: E741
YOU = Pronoun(Person.SECOND)
HE = Pronoun(Person.THIRD, gender=Gender.MASCULINE)
SHE = Pronoun(Person.THIRD, gender=Gender.FEMININE)
IT = Pronoun(Person.THIRD, human=False)
WE = Pronoun(Person.FIRST, Number.PLURAL)
THEY = Pronoun(Person.THIRD, Number.PLURAL)
PRONOUNS = (I, YOU, HE, SHE, WE, THEY)

_HOUSEHOLD = Feature.ROOM | Feature.HOUSE
_OWNED_PLACES = _HOUSEHOLD | Feature.SETTLEMENT
_OWNERS = (I, I, I, YOU, YOU, WE, WE, HE, SHE, THEY)


@cache
def _nouns(features: Feature) -> tuple[Noun, ...]:
    """Return the nouns that have one of the features."""
    return tuple(noun for noun in NOUNS if noun.features & features)


@cache
def adjectives_for(features: Feature) -> tuple[Adjective, ...]:
    """Return the adjectives that describe nouns with one of the features."""
    return tuple(adjective for adjective in ADJECTIVES if adjective.features & features)


def is_referable(nominal: Nominal) -> bool:
    """Tell whether a pronoun can refer back: "das Mädchen" would be "es", and yet "she"."""
    match nominal:
        case NounPhrase(noun=noun, number=Number.SINGULAR):
            return noun.german.gender is not Gender.NEUTER or not noun.features & PERSON
        case _:
            return True


def can_own(nominal: Nominal) -> bool:
    """Tell whether a nominal denotes people to whom a possessive can refer."""
    return is_referable(nominal) and pronoun_for(nominal).human


def sequence(first: Adverb, second: Adverb) -> Adverb:
    """Return two adverbs as one: "tomorrow at six o'clock"."""
    return Adverb(f"{first.english} {second.english}", f"{first.german} {second.german}")


class Sampler:
    """Random choices for one text, in which no noun and no name is chosen twice."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._used: set[Noun | Name] = set()

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return self._random.random() < probability

    def choice(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return self._random.choice(options)

    def weighted(self, options: Sequence[tuple[T, int]]) -> T:
        """Return one of the options, each as likely as its weight."""
        values = [value for value, _ in options]
        return self._random.choices(values, [weight for _, weight in options])[0]

    def noun(self, features: Feature) -> Noun:
        """Return a noun that has one of the features."""
        return self._fresh(_nouns(features))

    def person_name(self) -> Name:
        """Return the name of a person."""
        return self._fresh(PEOPLE)

    def city(self) -> Name:
        """Return the name of a city."""
        return self._fresh(CITIES)

    def _fresh(self, options: Sequence[T]) -> T:
        """Return an option that was not chosen before, as long as there is one."""
        choice = self.choice([option for option in options if option not in self._used] or options)
        if isinstance(choice, Noun | Name):
            self._used.add(choice)
        return choice

    def numeral(self, most: int) -> int:
        """Return a number from two up."""
        return self._random.randint(2, most)

    def clock_time(self) -> Adverb:
        """Return a full hour."""
        english, german = self.choice(list(NUMERALS.values()))
        return Adverb(f"at {english} o'clock", f"um {german} Uhr")

    def weekday(self) -> Adverb:
        """Return a day of the week."""
        return self.choice(WEEKDAYS)

    def adjective(self, features: Feature, *, transient: bool | None = None) -> Adjective:
        """Return an adjective for a noun of some features, of a passing state if that is asked."""
        fitting = adjectives_for(features)
        preferred = [one for one in fitting if transient in (None, one.transient)]
        return self.choice(preferred or fitting)

    def adjective_phrase(
        self, features: Feature, *, transient: bool | None = None
    ) -> AdjectivePhrase:
        """Return a predicative adjective for a noun of some features."""
        adjective = self.adjective(features, transient=transient)
        degrees = [Degree.PLAIN] * 4
        degrees += [Degree.VERY] * 3 if adjective.gradable else []
        degrees += [Degree.TOO] * 2 if adjective.excessive else []
        return AdjectivePhrase(adjective, self.choice(degrees))

    def owner(self, subject: Nominal | None, *, kin: bool = False) -> Nominal:
        """Return the owner of something, preferably the subject of the clause.

        Args:
            subject: the subject.
            kin: whether a relative is owned: relatives of relatives have one owner.
        """
        if kin and isinstance(subject, NounPhrase) and Feature.KIN in subject.noun.features:
            return subject.determiner if isinstance(subject.determiner, Pronoun) else I
        if subject and can_own(subject) and self.chance(0.7):
            return pronoun_for(subject)
        return self.choice(_OWNERS)

    def phrase(
        self,
        features: Feature,
        subject: Nominal | None = None,
        *,
        definite: bool = False,
        plural: float = 0.25,
        described: float = 0.25,
    ) -> NounPhrase:
        """Return a noun phrase.

        Args:
            features: what the noun denotes.
            subject: the subject of the clause, a likely owner.
            definite: whether to bring nothing new into the conversation.
            plural: how likely the plural is.
            described: how likely an adjective is.
        """
        noun = self.noun(features)
        number = self._number(noun, plural)
        determiner = self._determiner(noun, number, subject, definite=definite)
        kin = Feature.KIN in noun.features
        adjective = (
            self.adjective(noun.features) if self.chance(0.05 if kin else described) else None
        )
        return NounPhrase(noun, determiner, number, adjective)

    def _number(self, noun: Noun, plural: float) -> Number:
        """Return a number that a noun can have."""
        only_plural = not noun.german.singular
        only_one = Feature.KIN in noun.features and Feature.SIBLING not in noun.features
        several = noun.countable and not only_one and self.chance(plural)
        return Number.PLURAL if only_plural or several else Number.SINGULAR

    def _determiner(
        self, noun: Noun, number: Number, subject: Nominal | None, *, definite: bool
    ) -> Determiner | int | Nominal:
        """Return a determiner for a noun in a number."""
        if Feature.KIN in noun.features:
            return self.owner(subject, kin=True)
        if noun.features & PROVISIONS:
            return self._provision_determiner(number, subject, definite=definite)
        if not noun.features & PERSON and not noun.locative and self.chance(0.08):
            return self.person_name() if self.chance(0.5) else self.person(Feature.KIN)
        options: list[Determiner | int | Nominal] = [Determiner.DEFINITE] * 4
        options.append(Determiner.DEMONSTRATIVE)
        public = noun.locative and not noun.features & _OWNED_PLACES
        if not noun.features & PERSON and not public:
            options += [self.owner(subject)] * 2
        elif Feature.ACQUAINTANCE in noun.features:
            options += [self.owner(subject)] * 4
        if not definite:
            options += [Determiner.INDEFINITE] * 3
            if number is Number.PLURAL:
                options += [self.numeral(5)] * 3
        return self.choice(options)

    def _provision_determiner(
        self, number: Number, subject: Nominal | None, *, definite: bool
    ) -> Determiner | int | Nominal:
        """Return a determiner for something to eat or to drink."""
        options: list[Determiner | int | Nominal] = [Determiner.DEFINITE] * 2
        if subject and can_own(subject):
            options.append(pronoun_for(subject))
        if not definite:
            options += [Determiner.INDEFINITE] * 4
            if number is Number.PLURAL:
                options += [self.numeral(12)] * 3
        return self.choice(options)

    def person(self, features: Feature = PERSON, subject: Nominal | None = None) -> Nominal:
        """Return somebody: a name or a definite noun phrase, or a pronoun if there is a subject."""
        if subject and self.chance(0.2):
            first = subject in (I, WE)
            excluded = (YOU, I, WE) if first else (YOU, subject)
            return self.choice([one for one in PRONOUNS if one not in excluded])
        if features & (Feature.ADULT | Feature.YOUTH) and self.chance(0.3):
            return self.person_name()
        return self.phrase(features & PERSON, subject, definite=True, plural=0.2, described=0.12)

    def subject(self, features: Feature = PERSON) -> Nominal:
        """Return a subject that has one of the features."""
        if features & PERSON and self.chance(0.36):
            return self.choice((I, YOU, WE, *PRONOUNS))
        if features & PERSON and self.chance(0.06):
            return self._pair(features)
        if features & PERSON and self.chance(0.06):
            return self.dressed_person()
        if features & PERSON and self.chance(0.9):
            return self.person(features)
        return self.phrase(features, definite=self.chance(0.8), plural=0.2, described=0.15)

    def _pair(self, features: Feature) -> Coordination:
        """Return two people, who have the same owner if they are relatives."""
        first, second = self.person(features), self.person(features)
        if isinstance(second, NounPhrase) and Feature.KIN in second.noun.features:
            second = replace(second, determiner=self.owner(first, kin=True))
        return Coordination(first, second)

    def dressed_person(self) -> NounPhrase:
        """Return "the man with the red hat"."""
        clothes = self.noun(Feature.WEARABLE)
        dress = NounPhrase(clothes, Determiner.DEFINITE, adjective=self.adjective(Feature.COLORED))
        person = self.noun(Feature.ADULT)
        return NounPhrase(person, modifier=PrepositionalPhrase(WITH, dress))

    def place(self, features: Feature) -> PrepositionalPhrase:
        """Return a place to be at."""
        if features & Feature.SETTLEMENT and self.chance(0.6):
            return PrepositionalPhrase(IN, self.city())
        noun = self._fresh([noun for noun in _nouns(features) if noun.locative])
        return PrepositionalPhrase(noun.locative or IN, self._place_phrase(noun))

    def destination(self, features: Feature) -> PrepositionalPhrase:
        """Return a place to go to."""
        if features & Feature.SETTLEMENT and self.chance(0.6):
            return PrepositionalPhrase(TO_CITY, self.city())
        fitting = [noun for noun in _nouns(features) if noun.directional]
        noun = self._fresh(fitting)
        return PrepositionalPhrase(noun.directional or TO_CITY, self._place_phrase(noun))

    def _place_phrase(self, noun: Noun) -> NounPhrase:
        """Return a place, which may be described and may have an owner."""
        determiner: Determiner | Nominal = Determiner.DEFINITE
        if noun.features & _HOUSEHOLD and self.chance(0.15):
            determiner = self.choice((I, YOU, WE))
        elif noun.features & _HOUSEHOLD and self.chance(0.2):
            determiner = self.person(Feature.KIN)
        elif self.chance(0.1):
            determiner = Determiner.INDEFINITE
        described = self.chance(0.15) or determiner is Determiner.INDEFINITE
        return NounPhrase(
            noun, determiner, adjective=self.adjective(noun.features) if described else None
        )

    def vicinity(self) -> PrepositionalPhrase:
        """Return a place outside a building."""
        preposition = self.choice((BEHIND, IN_FRONT_OF, NEXT_TO))
        return PrepositionalPhrase(preposition, NounPhrase(self.noun(Feature.BUILDING)))

    def position(self) -> PrepositionalPhrase:
        """Return a place for a thing in a house."""
        furniture = Feature.FURNITURE
        options: list[tuple[Preposition, Feature]] = [
            (ON, Feature.SURFACE),
            (ON, Feature.SURFACE),
            (UNDER, Feature.SURFACE),
            (IN, Feature.CONTAINER),
            (NEXT_TO, furniture),
            (BEHIND, furniture),
            (IN_FRONT_OF, furniture),
            (BETWEEN, furniture),
        ]
        preposition, features = self.choice(options)
        first = NounPhrase(self.noun(features))
        if preposition is BETWEEN:
            second = NounPhrase(self.noun(features))
            return PrepositionalPhrase(preposition, Coordination(first, second))
        return PrepositionalPhrase(preposition, first)
