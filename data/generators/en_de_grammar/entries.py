"""The shape of lexicon entries: an English entry beside its German translation.

Semantic features say what goes with what: a verb names the features that its
subject, its object and its place may have, an adjective those of its noun. Each
entry exists once, so entries are compared by identity.
"""

from dataclasses import dataclass
from enum import Enum, Flag, auto

from generators.en_de_grammar import english as en
from generators.en_de_grammar import german as de
from generators.en_de_grammar.categories import Case, Gender


class Feature(Flag):
    """What a noun denotes and what can be done with it."""

    NONE = 0
    ADULT = auto()
    YOUTH = auto()
    KIN = auto()
    SIBLING = auto()
    ACQUAINTANCE = auto()
    PROFESSION = auto()
    PET = auto()
    LIVESTOCK = auto()
    EDIBLE = auto()
    FRUIT = auto()
    ANIMAL_FOOD = auto()
    ANIMAL_DRINK = auto()
    COOKABLE = auto()
    BAKABLE = auto()
    DRINKABLE = auto()
    HOT = auto()
    READABLE = auto()
    PRINTED = auto()
    SENT = auto()
    WRITABLE = auto()
    WEARABLE = auto()
    GARMENT = auto()
    LENGTHY = auto()
    FURNITURE = auto()
    SURFACE = auto()
    CONTAINER = auto()
    TABLEWARE = auto()
    PORTABLE = auto()
    DEVICE = auto()
    ORNAMENT = auto()
    COLORED = auto()
    VEHICLE = auto()
    TRANSIT = auto()
    OPENABLE = auto()
    WASHABLE = auto()
    CLEANABLE = auto()
    SALEABLE = auto()
    ROOM = auto()
    KITCHEN = auto()
    LODGING = auto()
    WORKPLACE = auto()
    HOUSE = auto()
    BUILDING = auto()
    STORE = auto()
    EATERY = auto()
    GREEN = auto()
    WATER = auto()
    STREET = auto()
    STATION = auto()
    SIGHT = auto()
    SETTLEMENT = auto()
    WEATHER = auto()


GROWN_UP = Feature.ADULT | Feature.KIN | Feature.PROFESSION
PERSON = GROWN_UP | Feature.YOUTH
ANIMAL = Feature.PET | Feature.LIVESTOCK
PROVISIONS = Feature.EDIBLE | Feature.DRINKABLE


@dataclass(frozen=True, eq=False)
class Preposition:
    """A preposition; without a case, it governs the dative at rest and the accusative in motion."""

    english: str
    german: str
    case: Case | None = None


@dataclass(frozen=True, eq=False)
class Noun:
    """A common noun.

    Attributes:
        english: the English entry.
        german: the German entry.
        features: what the noun denotes.
        locative: for a place, the preposition of being there.
        directional: for a place, the preposition of going there.
        feminine: for a profession, the German word for a woman.
    """

    english: en.Noun
    german: de.Noun
    features: Feature
    locative: Preposition | None = None
    directional: Preposition | None = None
    feminine: str = ""

    @property
    def countable(self) -> bool:
        """Whether the noun has a plural, and so takes an article and numerals."""
        return bool(self.german.plural)


@dataclass(frozen=True, eq=False)
class Name:
    """A proper name of a person or of a city."""

    english: str
    german: str
    gender: Gender = Gender.NEUTER


@dataclass(frozen=True, eq=False)
class Adjective:
    """An adjective.

    Attributes:
        english: the English entry.
        german: the German entry.
        features: the nouns it describes.
        transient: whether it describes a state that passes.
        gradable: whether it is used with "very" and in comparisons.
        excessive: whether it is used with "too".
    """

    english: en.Adjective
    german: de.Adjective
    features: Feature
    transient: bool = False
    gradable: bool = True
    excessive: bool = False


class Aspect(Enum):
    """How a verb unfolds in time: only an action has a progressive."""

    ACTION = "action"
    EVENT = "event"
    STATE = "state"


@dataclass(frozen=True, eq=False)
class Verb:
    """A verb with its frame.

    Attributes:
        english: the English entry.
        german: the German entry.
        objects: the nouns it takes as direct object.
        places: the places where it happens.
        subjects: the nouns it takes as subject.
        case: the German case of the direct object.
        aspect: how the verb unfolds in time.
        notable: whether one tells a week later that it happened.
    """

    english: en.Verb
    german: de.Verb
    objects: Feature = Feature.NONE
    places: Feature = Feature.NONE
    subjects: Feature = PERSON
    case: Case = Case.ACCUSATIVE
    aspect: Aspect = Aspect.ACTION
    notable: bool = False


@dataclass(frozen=True)
class ModalForm:
    """How English says a modal: by an auxiliary, or by a verb that conjugates."""

    auxiliary: str = ""
    verb: en.Verb | None = None
    infix: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Modal:
    """A modal verb; a missing past means that the present is all there is."""

    german: de.Verb
    present: ModalForm
    past: ModalForm | None = None
    negative: ModalForm | None = None


@dataclass(frozen=True, eq=False)
class Adverb:
    """An adverb or an adverbial phrase; a medial one precedes the English main verb."""

    english: str
    german: str
    medial: bool = False


@dataclass(frozen=True, eq=False)
class Conjunction:
    """A conjunction; `comma` tells whether English too sets a comma before it."""

    english: str
    german: str
    comma: bool = False
