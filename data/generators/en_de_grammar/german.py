"""German morphology: declension of nominals and conjugation of verbs.

The citation form of a word and grammatical categories enter, an inflected form
leaves. Nothing here knows a particular word: an entry spells out only the forms
that the rules below would get wrong.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from generators.en_de_grammar.categories import Case, Gender, Number, Person

Forms = tuple[str, str, str, str]
"""Forms for masculine, feminine and neuter singular, and for the plural."""

Paradigm = Mapping[Case, Forms]

_DEFINITE_ARTICLE: Paradigm = {
    Case.NOMINATIVE: ("der", "die", "das", "die"),
    Case.ACCUSATIVE: ("den", "die", "das", "die"),
    Case.DATIVE: ("dem", "der", "dem", "den"),
    Case.GENITIVE: ("des", "der", "des", "der"),
}
_RELATIVE_PRONOUN: Paradigm = {
    **_DEFINITE_ARTICLE,
    Case.DATIVE: ("dem", "der", "dem", "denen"),
    Case.GENITIVE: ("dessen", "deren", "dessen", "deren"),
}
_DER_WORD: Paradigm = {
    Case.NOMINATIVE: ("er", "e", "es", "e"),
    Case.ACCUSATIVE: ("en", "e", "es", "e"),
    Case.DATIVE: ("em", "er", "em", "en"),
    Case.GENITIVE: ("es", "er", "es", "er"),
}
_EIN_WORD: Paradigm = {
    **_DER_WORD,
    Case.NOMINATIVE: ("", "e", "", "e"),
    Case.ACCUSATIVE: ("en", "e", "", "e"),
}
_WEAK: Paradigm = {
    Case.NOMINATIVE: ("e", "e", "e", "en"),
    Case.ACCUSATIVE: ("en", "e", "e", "en"),
    Case.DATIVE: ("en", "en", "en", "en"),
    Case.GENITIVE: ("en", "en", "en", "en"),
}
_MIXED: Paradigm = {
    **_WEAK,
    Case.NOMINATIVE: ("er", "e", "es", "en"),
    Case.ACCUSATIVE: ("en", "e", "es", "en"),
}
_STRONG: Paradigm = {**_DER_WORD, Case.GENITIVE: ("en", "er", "en", "er")}

_GENDERS = (Gender.MASCULINE, Gender.FEMININE, Gender.NEUTER)
_PRONOUN_CASES = (Case.NOMINATIVE, Case.ACCUSATIVE, Case.DATIVE)
_PERSONAL_PRONOUNS = {
    (Person.FIRST, Number.SINGULAR): ("ich", "mich", "mir"),
    (Person.SECOND, Number.SINGULAR): ("du", "dich", "dir"),
    (Person.FIRST, Number.PLURAL): ("wir", "uns", "uns"),
    (Person.THIRD, Number.PLURAL): ("sie", "sie", "ihnen"),
}
_THIRD_PERSON_SINGULAR = {
    Gender.MASCULINE: ("er", "ihn", "ihm"),
    Gender.FEMININE: ("sie", "sie", "ihr"),
    Gender.NEUTER: ("es", "es", "ihm"),
}
_POSSESSIVES = {
    (Person.FIRST, Number.SINGULAR): "mein",
    (Person.SECOND, Number.SINGULAR): "dein",
    (Person.FIRST, Number.PLURAL): "unser",
    (Person.THIRD, Number.PLURAL): "ihr",
}

_PRESENT_ENDINGS = {Person.FIRST: "e", Person.SECOND: "st", Person.THIRD: "t"}
_SIBILANT = re.compile(r"(s|ß|z|x)$")
_NEEDS_LINKING_E = re.compile(r"([td]|[^aeiouäöülrhmn][mn])$")
_VOWELS = re.compile(r"[aeiouyäöü]+", re.IGNORECASE)


class Declension(Enum):
    """Declension of an adjective, which depends on the determiner before it."""

    STRONG = "strong"
    WEAK = "weak"
    MIXED = "mixed"


_ADJECTIVE_ENDINGS = {Declension.STRONG: _STRONG, Declension.WEAK: _WEAK, Declension.MIXED: _MIXED}


@dataclass(frozen=True)
class Noun:
    """A German noun.

    Attributes:
        singular: the nominative singular; empty for a plurale tantum.
        gender: the grammatical gender.
        plural: the nominative plural; empty for a mass noun.
        weak: whether the noun follows the n-declension ("den Jungen").
        genitive: the genitive singular, where it is irregular.
    """

    singular: str
    gender: Gender
    plural: str = ""
    weak: bool = False
    genitive: str = ""


@dataclass(frozen=True)
class Adjective:
    """A German adjective; the stem and the comparative are spelt out where irregular."""

    predicative: str
    stem: str = ""
    comparative: str = ""


@dataclass(frozen=True)
class Verb:
    """A German verb.

    Attributes:
        infinitive: the infinitive without a separable prefix.
        prefix: the separable prefix.
        participle: the past participle without that prefix, unless ge-...-t.
        changed_stem: the stem of "du" and "er", where its vowel changes.
        singular: the common form of "ich" and "er" in a preterite-present verb.
        present: the six present forms, where they are wholly irregular.
        preterite: the form of "ich" and "er", for verbs that avoid the perfect.
        perfect_with_sein: whether the perfect takes "sein", not "haben".
    """

    infinitive: str
    prefix: str = ""
    participle: str = ""
    changed_stem: str = ""
    singular: str = ""
    present: tuple[str, ...] = ()
    preterite: str = ""
    perfect_with_sein: bool = False


SEIN = Verb(
    "sein",
    participle="gewesen",
    present=("bin", "bist", "ist", "sind", "seid", "sind"),
    preterite="war",
    perfect_with_sein=True,
)
HABEN = Verb("haben", changed_stem="ha", preterite="hatte")
WERDEN = Verb("werden", present=("werde", "wirst", "wird", "werden", "werdet", "werden"))


def _pick(forms: Forms, gender: Gender, number: Number) -> str:
    """Return the form for a gender, or the plural, which knows no gender."""
    return forms[3] if number is Number.PLURAL else forms[_GENDERS.index(gender)]


def definite_article(case: Case, gender: Gender, number: Number) -> str:
    """Return a form of "der"."""
    return _pick(_DEFINITE_ARTICLE[case], gender, number)


def relative_pronoun(case: Case, gender: Gender, number: Number) -> str:
    """Return a form of the relative pronoun "der"."""
    return _pick(_RELATIVE_PRONOUN[case], gender, number)


def der_word(stem: str, case: Case, gender: Gender, number: Number) -> str:
    """Return a form of a determiner such as "dies-" or "welch-"."""
    return stem + _pick(_DER_WORD[case], gender, number)


def ein_word(stem: str, case: Case, gender: Gender, number: Number) -> str:
    """Return a form of a determiner such as "ein", "kein" or "mein"."""
    return stem + _pick(_EIN_WORD[case], gender, number)


def personal_pronoun(case: Case, person: Person, number: Number, gender: Gender) -> str:
    """Return a nominative, accusative or dative personal pronoun."""
    if (person, number) == (Person.THIRD, Number.SINGULAR):
        forms = _THIRD_PERSON_SINGULAR[gender]
    else:
        forms = _PERSONAL_PRONOUNS[person, number]
    return forms[_PRONOUN_CASES.index(case)]


def possessive_stem(person: Person, number: Number, gender: Gender) -> str:
    """Return the possessive determiner of an owner, without an ending."""
    if (person, number) == (Person.THIRD, Number.SINGULAR):
        return "ihr" if gender is Gender.FEMININE else "sein"
    return _POSSESSIVES[person, number]


def noun_form(noun: Noun, case: Case, number: Number) -> str:
    """Return a noun in a case and number."""
    if number is Number.PLURAL:
        dative_n = case is Case.DATIVE and noun.plural[-1] not in "ns"
        return noun.plural + ("n" if dative_n else "")
    if noun.weak and case is not Case.NOMINATIVE:
        return noun.plural
    if case is not Case.GENITIVE or noun.gender is Gender.FEMININE:
        return noun.singular
    return noun.genitive or noun.singular + _genitive_ending(noun.singular)


def _genitive_ending(singular: str) -> str:
    """Return -es after a sibilant or in a closed monosyllable, otherwise -s."""
    closed = singular[-1].lower() not in "aeiouäöü"
    monosyllabic = len(_VOWELS.findall(singular)) == 1
    return "es" if _SIBILANT.search(singular) or (closed and monosyllabic) else "s"


def adjective_form(
    adjective: Adjective, declension: Declension, case: Case, gender: Gender, number: Number
) -> str:
    """Return an attributive adjective."""
    stem = adjective.stem or adjective.predicative.removesuffix("e")
    return stem + _pick(_ADJECTIVE_ENDINGS[declension][case], gender, number)


def comparative(adjective: Adjective) -> str:
    """Return the predicative comparative: "älter", "schöner"."""
    stem = adjective.stem or adjective.predicative.removesuffix("e")
    return adjective.comparative or stem + "er"


def _stem(verb: Verb) -> str:
    """Return the stem of the infinitive: "lern-" of "lernen", "fütter-" of "füttern"."""
    infinitive = verb.infinitive
    return infinitive[: -2 if infinitive.endswith("en") else -1]


def _linking_e(stem: str) -> str:
    """Return the -e- of "arbeitest" and "öffnet", or nothing."""
    return "e" if _NEEDS_LINKING_E.search(stem) else ""


def present(verb: Verb, person: Person, number: Number) -> str:
    """Return a present form, without the separable prefix."""
    if verb.present:
        return verb.present[person.value - 1 + (3 if number is Number.PLURAL else 0)]
    if number is Number.PLURAL and person is not Person.SECOND:
        return verb.infinitive
    if verb.singular and number is Number.SINGULAR:
        return _preterite_like(verb.singular, person, number)
    stem = _stem(verb)
    ending = "t" if number is Number.PLURAL else _PRESENT_ENDINGS[person]
    if verb.changed_stem and number is Number.SINGULAR and person is not Person.FIRST:
        stem, link = verb.changed_stem, ""
    else:
        link = _linking_e(stem) if ending != "e" else ""
    if ending == "st" and _SIBILANT.search(stem):
        ending = "t"
    return stem + link + ending


def preterite(verb: Verb, person: Person, number: Number) -> str:
    """Return a preterite form of a verb that has one in its entry."""
    return _preterite_like(verb.preterite, person, number)


def _preterite_like(form: str, person: Person, number: Number) -> str:
    """Inflect a form that has no ending for "ich" and "er": "war", "konnte", "kann"."""
    link = "" if form.endswith("e") else "e"
    if number is Number.SINGULAR:
        ending = "t" if _SIBILANT.search(form) else "st"
        return form + (ending if person is Person.SECOND else "")
    return form + (_linking_e(form) + "t" if person is Person.SECOND else link + "n")


def participle(verb: Verb) -> str:
    """Return the past participle: "gemacht", "aufgestanden", "besucht"."""
    stem = _stem(verb)
    return verb.prefix + (verb.participle or f"ge{stem}{_linking_e(stem)}t")


def infinitive(verb: Verb) -> str:
    """Return the infinitive."""
    return verb.prefix + verb.infinitive


def zu_infinitive(verb: Verb) -> str:
    """Return the infinitive with "zu": "zu lesen", "aufzustehen"."""
    return f"{verb.prefix}zu{'' if verb.prefix else ' '}{verb.infinitive}"


def imperative(verb: Verb) -> str:
    """Return the imperative of "du", without the separable prefix."""
    stem = _stem(verb)
    if "e" in stem and "i" in verb.changed_stem:
        return verb.changed_stem
    return stem + ("e" if _linking_e(stem) or stem.endswith(("er", "el")) else "")
