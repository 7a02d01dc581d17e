"""Sentences before they are put into words of either language.

A tree holds lexicon entries and grammatical choices, no inflected forms and no
word order. `english_syntax` and `german_syntax` turn one tree into one sentence
each, so that the English sentence and the German one say the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from generators.en_de_grammar.categories import Gender, Number, Person
from generators.en_de_grammar.entries import (
    PERSON,
    Adjective,
    Adverb,
    Conjunction,
    Modal,
    Name,
    Noun,
    Preposition,
    Verb,
)


class Determiner(Enum):
    """A determiner that is neither a numeral nor an owner."""

    DEFINITE = "the"
    INDEFINITE = "a"
    DEMONSTRATIVE = "this"
    WHICH = "which"
    HOW_MANY = "how many"


class Tense(Enum):
    """Tense and aspect; German makes no difference between the first two."""

    PRESENT = "present"
    PROGRESSIVE = "progressive"
    PAST = "past"
    PERFECT = "perfect"
    FUTURE = "future"


class Role(Enum):
    """A slot of a clause that can be moved to its front."""

    SUBJECT = "subject"
    DIRECT = "direct object"
    INDIRECT = "indirect object"
    TIME = "time"
    CAUSE = "cause"
    COMPANION = "companion"
    PLACE = "place"
    OBLIQUE = "direction or prepositional object"
    PREDICATE = "predicate"


class Mood(Enum):
    """What a sentence does."""

    STATEMENT = "."
    QUESTION = "?"
    COMMAND = "!"


@dataclass(frozen=True)
class Pronoun:
    """A personal pronoun.

    In the third person singular, `gender` is the German gender of the antecedent;
    English uses it only if the antecedent is human.
    """

    person: Person
    number: Number = Number.SINGULAR
    gender: Gender = Gender.NEUTER
    human: bool = True


@dataclass(frozen=True)
class Demonstrative:
    """The subject of "this is" and "these are"."""

    number: Number


@dataclass(frozen=True)
class Interrogative:
    """The pronoun "who" or "what"."""

    human: bool


@dataclass(frozen=True)
class RelativePronoun:
    """A pronoun that opens a relative clause about a noun."""

    noun: Noun
    number: Number


@dataclass(frozen=True)
class Coordination:
    """Two nominals joined by "and"."""

    first: Nominal
    second: Nominal


@dataclass(frozen=True)
class NounPhrase:
    """A noun with its dependents.

    Attributes:
        noun: the head.
        determiner: a numeral is given as a number, a possessive as its owner.
        number: the number of the head.
        adjective: an attributive adjective.
        modifier: a prepositional phrase: "a letter from my mother".
        relative: a relative clause.
    """

    noun: Noun
    determiner: Determiner | int | Nominal = Determiner.DEFINITE
    number: Number = Number.SINGULAR
    adjective: Adjective | None = None
    modifier: PrepositionalPhrase | None = None
    relative: FrontedClause | None = None

    @property
    def indefinite(self) -> bool:
        """Whether the phrase brings something new into the conversation."""
        return self.determiner is Determiner.INDEFINITE or isinstance(self.determiner, int)


@dataclass(frozen=True)
class PrepositionalPhrase:
    """A preposition with its nominal."""

    preposition: Preposition
    nominal: Nominal


Nominal = (
    Pronoun | Demonstrative | Interrogative | RelativePronoun | Coordination | NounPhrase | Name
)
Adverbial = PrepositionalPhrase | Adverb


class Degree(Enum):
    """Degree of a predicative adjective."""

    PLAIN = "plain"
    VERY = "very"
    TOO = "too"
    HOW = "how"
    COMPARATIVE = "comparative"
    EQUATIVE = "equative"


@dataclass(frozen=True)
class AdjectivePhrase:
    """A predicative adjective; `standard` is what the subject is compared with."""

    adjective: Adjective
    degree: Degree = Degree.PLAIN
    standard: Nominal | None = None


@dataclass(frozen=True)
class Occupation:
    """A predicative profession, which German leaves without an article."""

    noun: Noun
    number: Number
    gender: Gender


Predicate = AdjectivePhrase | Occupation | NounPhrase


@dataclass(frozen=True)
class Clause:
    """A predication; `fond` is "like to" in English and "gern" in German."""

    subject: Nominal
    verb: Verb
    tense: Tense = Tense.PRESENT
    modal: Modal | None = None
    fond: bool = False
    negated: bool = False
    direct: Nominal | None = None
    indirect: Nominal | None = None
    time: Adverbial | None = None
    cause: Adverb | None = None
    companion: PrepositionalPhrase | None = None
    place: Adverbial | None = None
    oblique: Adverbial | None = None
    predicate: Predicate | None = None


@dataclass(frozen=True)
class FrontedClause:
    """A dependent clause that opens with its relative or interrogative constituent."""

    clause: Clause
    front: Role


@dataclass(frozen=True)
class Subordinate:
    """A dependent clause that opens with a conjunction."""

    conjunction: Conjunction
    clause: Clause


@dataclass(frozen=True)
class Coordinate:
    """A second main clause; an elliptical one shares the subject of the first."""

    conjunction: Conjunction
    clause: Clause
    elliptical: bool = False


@dataclass(frozen=True)
class Infinitival:
    """An infinitive clause with "to"; German marks a purpose by "um"."""

    clause: Clause
    purpose: bool = False


Dependent = FrontedClause | Subordinate | Coordinate | Infinitival


@dataclass(frozen=True)
class Sentence:
    """A main clause, what it does, and a clause that depends on it.

    Attributes:
        clause: the main clause.
        mood: what the sentence does, and so its punctuation.
        front: the constituent of the main clause that stands first; in a question
            None asks for yes or no.
        dependent: another clause.
        dependent_first: whether that clause stands before the main clause.
        polite: whether a command begins with "please".
    """

    clause: Clause
    mood: Mood = Mood.STATEMENT
    front: Role | None = Role.SUBJECT
    dependent: Dependent | None = None
    dependent_first: bool = False
    polite: bool = False


def adverbial(clause: Clause, role: Role) -> Adverbial | None:
    """Return the adverbial in a slot of a clause, if it has one."""
    match role:
        case Role.TIME:
            return clause.time
        case Role.PLACE:
            return clause.place
        case Role.OBLIQUE:
            return clause.oblique
        case Role.COMPANION:
            return clause.companion
        case Role.CAUSE:
            return clause.cause
        case _:
            return None


def agreement(nominal: Nominal) -> tuple[Person, Number]:
    """Return the person and number that a subject demands of its verb."""
    match nominal:
        case Pronoun(person=person, number=number):
            return person, number
        case Demonstrative(number=number) | RelativePronoun(number=number):
            return Person.THIRD, number
        case NounPhrase(number=number):
            return Person.THIRD, number
        case Coordination():
            return Person.THIRD, Number.PLURAL
        case _:
            return Person.THIRD, Number.SINGULAR


def is_counted(nominal: Nominal | None) -> bool:
    """Tell whether a nominal has a numeral."""
    return isinstance(nominal, NounPhrase) and isinstance(nominal.determiner, int)


def pronoun_for(nominal: Nominal) -> Pronoun:
    """Return the pronoun that refers back to a nominal."""
    match nominal:
        case Pronoun():
            return nominal
        case Name(gender=gender):
            return Pronoun(Person.THIRD, gender=gender)
        case NounPhrase(noun=noun, number=number):
            human = bool(noun.features & PERSON)
            gender = Gender.NEUTER if number is Number.PLURAL else noun.german.gender
            return Pronoun(Person.THIRD, number, gender, human)
        case _:
            return Pronoun(Person.THIRD, Number.PLURAL)
