"""The adjectives, with the nouns that they describe."""

from generators.en_de_grammar import english as en
from generators.en_de_grammar import german as de
from generators.en_de_grammar.entries import ANIMAL, GROWN_UP, PERSON, Adjective
from generators.en_de_grammar.entries import Feature as F

_PLACES = F.BUILDING | F.WORKPLACE | F.STORE | F.GREEN | F.SETTLEMENT | F.WATER | F.ROOM
_SIZED = _PLACES | F.FURNITURE | F.VEHICLE | F.CONTAINER | F.OPENABLE | ANIMAL
_SOILED = F.WEARABLE | F.ROOM | F.TABLEWARE | F.VEHICLE | F.STREET
_THINGS = F.FURNITURE | F.DEVICE | F.VEHICLE | F.TABLEWARE


def _adjective(
    english: str,
    german: str,
    features: F,
    comparatives: tuple[str, str] = ("", ""),
    *,
    stem: str = "",
    transient: bool = False,
    gradable: bool = True,
    excessive: bool = False,
) -> Adjective:
    """Build an entry; a comparative is empty where it is regular."""
    return Adjective(
        en.Adjective(english, comparatives[0]),
        de.Adjective(german, stem, comparatives[1]),
        features,
        transient,
        gradable,
        excessive,
    )


NEW = _adjective("new", "neu", _THINGS | F.BUILDING | F.WEARABLE | F.READABLE | F.PORTABLE)
GOOD = _adjective(
    "good", "gut", F.READABLE | F.EDIBLE | F.DRINKABLE | F.EATERY, ("better", "besser")
)
BEAUTIFUL = _adjective(
    "beautiful", "schön", F.GREEN | F.SETTLEMENT | F.BUILDING | F.WEARABLE | F.ORNAMENT
)
EXPENSIVE = _adjective(
    "expensive",
    "teuer",
    F.WEARABLE | F.FURNITURE | F.DEVICE | F.VEHICLE | F.EATERY,
    ("", "teurer"),
    stem="teur",
    excessive=True,
)
CHEAP = _adjective("cheap", "billig", F.WEARABLE | F.FURNITURE | F.DEVICE | F.VEHICLE | F.EATERY)
WARM = _adjective(
    "warm", "warm", F.ROOM | F.WEARABLE | F.WEATHER, ("", "wärmer"), transient=True, excessive=True
)
COLD = _adjective(
    "cold", "kalt", F.DRINKABLE | F.ROOM | F.WEATHER, ("", "kälter"), transient=True, excessive=True
)
FRESH = _adjective("fresh", "frisch", F.EDIBLE)
OLD = _adjective(
    "old",
    "alt",
    F.ADULT | _THINGS | F.TRANSIT | F.BUILDING | F.WEARABLE | F.PORTABLE | ANIMAL,
    ("", "älter"),
    excessive=True,
)
SMALL = _adjective("small", "klein", _SIZED | F.YOUTH, excessive=True)
BIG = _adjective("big", "groß", _SIZED, ("", "größer"), excessive=True)
SHORT = _adjective("short", "kurz", F.LENGTHY, ("", "kürzer"), excessive=True)
LONG = _adjective("long", "lang", F.LENGTHY, ("", "länger"), excessive=True)
TIRED = _adjective("tired", "müde", PERSON | ANIMAL, transient=True, excessive=True)
SICK = _adjective("sick", "krank", PERSON | ANIMAL, transient=True)
HAPPY = _adjective("happy", "glücklich", PERSON, transient=True)
SAD = _adjective("sad", "traurig", PERSON, transient=True)
HUNGRY = _adjective("hungry", "hungrig", PERSON | ANIMAL, transient=True)
DIRTY = _adjective("dirty", "schmutzig", _SOILED, transient=True, excessive=True)
INTERESTING = _adjective("interesting", "interessant", F.READABLE | F.SIGHT)
HOT = _adjective("hot", "heiß", F.HOT, transient=True, excessive=True)
HEAVY = _adjective("heavy", "schwer", F.FURNITURE | F.CONTAINER, excessive=True)
TALL = _adjective("tall", "groß", PERSON, ("", "größer"))
CLEAN = _adjective("clean", "sauber", _SOILED, transient=True)

ADJECTIVES: tuple[Adjective, ...] = (
    BIG,
    SMALL,
    TALL,
    OLD,
    _adjective("young", "jung", F.ADULT | F.PROFESSION | F.PET, ("", "jünger"), excessive=True),
    NEW,
    GOOD,
    BEAUTIFUL,
    EXPENSIVE,
    CHEAP,
    _adjective("red", "rot", F.COLORED | F.FRUIT, gradable=False),
    _adjective("green", "grün", F.COLORED, gradable=False),
    _adjective("blue", "blau", F.COLORED, gradable=False),
    _adjective("white", "weiß", F.COLORED | ANIMAL, gradable=False),
    _adjective("black", "schwarz", F.WEARABLE | F.VEHICLE | ANIMAL, gradable=False),
    _adjective("brown", "braun", F.WEARABLE | F.FURNITURE | ANIMAL, gradable=False),
    HOT,
    WARM,
    COLD,
    FRESH,
    LONG,
    SHORT,
    HEAVY,
    _adjective("strong", "stark", GROWN_UP | F.LIVESTOCK, ("", "stärker")),
    _adjective("smart", "klug", PERSON | F.PET, ("", "klüger")),
    _adjective("friendly", "freundlich", PERSON | F.PET),
    TIRED,
    SICK,
    HAPPY,
    SAD,
    HUNGRY,
    CLEAN,
    DIRTY,
    INTERESTING,
    _adjective(
        "dark", "dunkel", F.ROOM | F.STREET | F.GREEN, ("", "dunkler"), stem="dunkl", excessive=True
    ),
)
