"""Grammatical categories that both languages of a corpus share."""

from enum import Enum


class Gender(Enum):
    """Gender of a noun or of a third person singular pronoun."""

    MASCULINE = "masculine"
    FEMININE = "feminine"
    NEUTER = "neuter"


class Number(Enum):
    """Number of a nominal."""

    SINGULAR = "singular"
    PLURAL = "plural"


class Person(Enum):
    """Person of a nominal."""

    FIRST = 1
    SECOND = 2
    THIRD = 3


class Case(Enum):
    """Case of a German nominal."""

    NOMINATIVE = "nominative"
    ACCUSATIVE = "accusative"
    DATIVE = "dative"
    GENITIVE = "genitive"
