"""English morphology: noun plurals, verb forms, comparison, articles and pronouns.

The citation form of a word enters, an inflected form leaves. An entry spells out
only the forms that the rules below would get wrong.
"""

import re
from dataclasses import dataclass

from generators.en_de_grammar.categories import Gender, Number, Person

_SIBILANT = re.compile(r"(s|x|z|ch|sh)$")
_CONSONANT_Y = re.compile(r"[^aeiou]y$")
_SHORT_SYLLABLE = re.compile(r"^[^aeiou]+[aeiou][^aeiouwxy]$")
_VOWELS = re.compile(r"[aeiouy]+")


@dataclass(frozen=True)
class Noun:
    """An English noun; `plural` is spelt out where it is irregular."""

    singular: str
    plural: str = ""


@dataclass(frozen=True)
class Adjective:
    """An English adjective; `comparative` is spelt out where it is irregular."""

    positive: str
    comparative: str = ""


@dataclass(frozen=True)
class Verb:
    """An English verb.

    Attributes:
        base: the infinitive without "to".
        past: the past tense, where it is irregular.
        participle: the past participle, where it differs from the past tense.
        gerund: the -ing form, where it is irregular.
        particle: what follows a noun object or precedes it ("pick [him] up").
        preposition: what stands before the object ("look for [it]").
    """

    base: str
    past: str = ""
    participle: str = ""
    gerund: str = ""
    particle: str = ""
    preposition: str = ""


BE = Verb("be", "was", "been", "being")
DO = Verb("do", "did", "done")
HAVE = Verb("have", "had")
LIKE = Verb("like")
WANT = Verb("want")

_BE_PRESENT = {(Person.FIRST, Number.SINGULAR): "am", (Person.THIRD, Number.SINGULAR): "is"}
_PERSONAL_PRONOUNS = {
    (Person.FIRST, Number.SINGULAR): ("I", "me", "my"),
    (Person.SECOND, Number.SINGULAR): ("you", "you", "your"),
    (Person.FIRST, Number.PLURAL): ("we", "us", "our"),
    (Person.THIRD, Number.PLURAL): ("they", "them", "their"),
}
_THIRD_PERSON_SINGULAR = {
    Gender.MASCULINE: ("he", "him", "his"),
    Gender.FEMININE: ("she", "her", "her"),
    Gender.NEUTER: ("it", "it", "its"),
}


def _sibilant_s(word: str) -> str:
    """Add the -s of plurals and of the third person singular."""
    if _CONSONANT_Y.search(word):
        return word[:-1] + "ies"
    return word + ("es" if _SIBILANT.search(word) or word.endswith("o") else "s")


def _with_suffix(word: str, suffix: str) -> str:
    """Add a suffix that starts with a vowel: drop a mute -e, double a final consonant."""
    if word.endswith("e"):
        return word[:-1] + suffix
    if _SHORT_SYLLABLE.match(word):
        return word + word[-1] + suffix
    return word + suffix


def noun_form(noun: Noun, number: Number) -> str:
    """Return the singular or the plural of a noun."""
    if number is Number.SINGULAR:
        return noun.singular
    return noun.plural or _sibilant_s(noun.singular)


def comparative(adjective: Adjective) -> str:
    """Return "older" for "old" and "more expensive" for "expensive"."""
    positive = adjective.positive
    if adjective.comparative:
        return adjective.comparative
    if _CONSONANT_Y.search(positive):
        return positive[:-1] + "ier"
    if len(_VOWELS.findall(positive)) == 1:
        return _with_suffix(positive, "er")
    return f"more {positive}"


def present(verb: Verb, person: Person, number: Number) -> str:
    """Return a simple present form."""
    if verb == BE:
        return _BE_PRESENT.get((person, number), "are")
    if (person, number) != (Person.THIRD, Number.SINGULAR):
        return verb.base
    return "has" if verb == HAVE else _sibilant_s(verb.base)


def past(verb: Verb, person: Person, number: Number) -> str:
    """Return a simple past form."""
    if verb == BE:
        plural = number is Number.PLURAL or person is Person.SECOND
        return "were" if plural else "was"
    if verb.past:
        return verb.past
    if _CONSONANT_Y.search(verb.base):
        return verb.base[:-1] + "ied"
    return _with_suffix(verb.base, "ed")


def participle(verb: Verb) -> str:
    """Return the past participle."""
    return verb.participle or past(verb, Person.THIRD, Number.SINGULAR)


def gerund(verb: Verb) -> str:
    """Return the -ing form."""
    return verb.gerund or _with_suffix(verb.base, "ing")


def indefinite_article(following: str) -> str:
    """Return "an" before a word that starts with a vowel, otherwise "a"."""
    return "an" if following[0] in "aeiou" else "a"


def possessive(phrase: str) -> str:
    """Return a phrase with the possessive -'s, which is bare after a plural -s."""
    return phrase + ("'" if phrase.endswith("s") else "'s")


def pronoun_forms(person: Person, number: Number, gender: Gender) -> tuple[str, str, str]:
    """Return the subject, object and possessive form of a personal pronoun."""
    if (person, number) == (Person.THIRD, Number.SINGULAR):
        return _THIRD_PERSON_SINGULAR[gender]
    return _PERSONAL_PRONOUNS[person, number]
