"""The nouns and the names, and the prepositions that places choose."""

from generators.en_de_grammar import english as en
from generators.en_de_grammar import german as de
from generators.en_de_grammar.categories import Case, Gender
from generators.en_de_grammar.entries import Feature as F
from generators.en_de_grammar.entries import Name, Noun, Preposition

_GENDERS = {"der": Gender.MASCULINE, "die": Gender.FEMININE, "das": Gender.NEUTER}

IN = Preposition("in", "in")
INTO = Preposition("into", "in", Case.ACCUSATIVE)
AT = Preposition("at", "an", Case.DATIVE)
AT_MARKET = Preposition("at", "auf", Case.DATIVE)
IN_STREET = Preposition("in", "auf", Case.DATIVE)
TO = Preposition("to", "zu", Case.DATIVE)
TO_INSIDE = Preposition("to", "in", Case.ACCUSATIVE)

_FOOD = F.EDIBLE | F.SALEABLE
_CLOTHES = F.WEARABLE | F.GARMENT | F.COLORED | F.PORTABLE | F.WASHABLE | F.SALEABLE
_FURNITURE = F.FURNITURE | F.SALEABLE
_DRINK = F.DRINKABLE | F.SALEABLE
_PRINTED = F.PRINTED | F.READABLE | F.PORTABLE | F.SALEABLE
_LETTER = F.READABLE | F.WRITABLE | F.SENT | F.LENGTHY | F.PORTABLE
_VEHICLE = F.VEHICLE | F.COLORED | F.WASHABLE | F.SALEABLE


def _noun(
    english: str,
    german: str,
    german_plural: str,
    features: F,
    locative: Preposition | None = None,
    directional: Preposition | None = None,
    *,
    english_plural: str = "",
    weak: bool = False,
    genitive: str = "",
    feminine: str = "",
) -> Noun:
    """Build an entry; the article before the German singular tells the gender."""
    article, singular = german.split()
    return Noun(
        en.Noun(english, english_plural),
        de.Noun(singular, _GENDERS[article], german_plural, weak, genitive),
        features,
        locative,
        directional,
        feminine,
    )


PARENTS = Noun(en.Noun("", "parents"), de.Noun("", Gender.MASCULINE, "Eltern"), F.KIN)

SUN = _noun("sun", "die Sonne", "Sonnen", F.WEATHER)

NOUNS: tuple[Noun, ...] = (
    _noun("man", "der Mann", "Männer", F.ADULT, english_plural="men"),
    _noun("woman", "die Frau", "Frauen", F.ADULT, english_plural="women"),
    _noun("neighbor", "der Nachbar", "Nachbarn", F.ADULT | F.ACQUAINTANCE, weak=True),
    _noun("friend", "der Freund", "Freunde", F.KIN | F.SIBLING),
    _noun("guest", "der Gast", "Gäste", F.ADULT | F.ACQUAINTANCE),
    _noun("child", "das Kind", "Kinder", F.YOUTH, english_plural="children"),
    _noun("boy", "der Junge", "Jungen", F.YOUTH, weak=True),
    _noun("girl", "das Mädchen", "Mädchen", F.YOUTH),
    _noun("mother", "die Mutter", "Mütter", F.KIN),
    _noun("father", "der Vater", "Väter", F.KIN),
    _noun("brother", "der Bruder", "Brüder", F.KIN | F.SIBLING),
    _noun("sister", "die Schwester", "Schwestern", F.KIN | F.SIBLING),
    _noun("son", "der Sohn", "Söhne", F.KIN | F.SIBLING),
    _noun("daughter", "die Tochter", "Töchter", F.KIN | F.SIBLING),
    _noun("grandmother", "die Großmutter", "Großmütter", F.KIN),
    _noun("grandfather", "der Großvater", "Großväter", F.KIN),
    _noun("uncle", "der Onkel", "Onkel", F.KIN),
    _noun("aunt", "die Tante", "Tanten", F.KIN),
    PARENTS,
    SUN,
    _noun("teacher", "der Lehrer", "Lehrer", F.PROFESSION | F.ACQUAINTANCE, feminine="Lehrerin"),
    _noun("doctor", "der Arzt", "Ärzte", F.PROFESSION | F.ACQUAINTANCE, feminine="Ärztin"),
    _noun("student", "der Student", "Studenten", F.PROFESSION, weak=True, feminine="Studentin"),
    _noun("farmer", "der Bauer", "Bauern", F.PROFESSION, weak=True, feminine="Bäuerin"),
    _noun("waiter", "der Kellner", "Kellner", F.PROFESSION, feminine="Kellnerin"),
    _noun("dog", "der Hund", "Hunde", F.PET | F.WASHABLE),
    _noun("cat", "die Katze", "Katzen", F.PET),
    _noun("bird", "der Vogel", "Vögel", F.PET),
    _noun("horse", "das Pferd", "Pferde", F.LIVESTOCK | F.WASHABLE),
    _noun("cow", "die Kuh", "Kühe", F.LIVESTOCK),
    _noun("apple", "der Apfel", "Äpfel", _FOOD | F.FRUIT | F.ANIMAL_FOOD),
    _noun("tomato", "die Tomate", "Tomaten", _FOOD | F.FRUIT),
    _noun("potato", "die Kartoffel", "Kartoffeln", _FOOD | F.COOKABLE),
    _noun("egg", "das Ei", "Eier", _FOOD | F.COOKABLE),
    _noun("cake", "der Kuchen", "Kuchen", _FOOD | F.BAKABLE),
    _noun("soup", "die Suppe", "", F.EDIBLE | F.COOKABLE | F.HOT),
    _noun("bread", "das Brot", "", _FOOD | F.BAKABLE | F.ANIMAL_FOOD),
    _noun("cheese", "der Käse", "", _FOOD),
    _noun("meat", "das Fleisch", "", _FOOD | F.COOKABLE | F.ANIMAL_FOOD),
    _noun("coffee", "der Kaffee", "", _DRINK | F.HOT),
    _noun("tea", "der Tee", "", _DRINK | F.HOT),
    _noun("water", "das Wasser", "", _DRINK | F.ANIMAL_DRINK),
    _noun("milk", "die Milch", "", _DRINK | F.ANIMAL_DRINK | F.HOT),
    _noun("juice", "der Saft", "", _DRINK),
    _noun("book", "das Buch", "Bücher", _PRINTED | F.LENGTHY | F.WRITABLE),
    _noun("letter", "der Brief", "Briefe", _LETTER),
    _noun("newspaper", "die Zeitung", "Zeitungen", _PRINTED),
    _noun("coat", "der Mantel", "Mäntel", _CLOTHES | F.LENGTHY),
    _noun("sweater", "der Pullover", "Pullover", _CLOTHES),
    _noun("shirt", "das Hemd", "Hemden", _CLOTHES),
    _noun("hat", "der Hut", "Hüte", _CLOTHES & ~F.GARMENT),
    _noun("jacket", "die Jacke", "Jacken", _CLOTHES),
    _noun("table", "der Tisch", "Tische", _FURNITURE | F.SURFACE | F.CLEANABLE | F.COLORED),
    _noun("chair", "der Stuhl", "Stühle", _FURNITURE | F.SURFACE | F.COLORED),
    _noun("bed", "das Bett", "Betten", _FURNITURE | F.SURFACE),
    _noun("lamp", "die Lampe", "Lampen", _FURNITURE | F.DEVICE | F.COLORED),
    _noun("cupboard", "der Schrank", "Schränke", _FURNITURE | F.CONTAINER | F.OPENABLE),
    _noun("cup", "die Tasse", "Tassen", F.TABLEWARE | F.COLORED | F.SALEABLE),
    _noun("glass", "das Glas", "Gläser", F.TABLEWARE | F.SALEABLE),
    _noun("bottle", "die Flasche", "Flaschen", F.TABLEWARE | F.OPENABLE),
    _noun("key", "der Schlüssel", "Schlüssel", F.PORTABLE),
    _noun("bag", "die Tasche", "Taschen", F.PORTABLE | F.CONTAINER | F.OPENABLE | F.COLORED),
    _noun("picture", "das Bild", "Bilder", F.PORTABLE | F.ORNAMENT | F.SALEABLE),
    _noun("flower", "die Blume", "Blumen", F.ORNAMENT | F.COLORED | F.SALEABLE),
    _noun("present", "das Geschenk", "Geschenke", F.PORTABLE | F.SENT),
    _noun("computer", "der Computer", "Computer", F.DEVICE | F.SALEABLE),
    _noun("clock", "die Uhr", "Uhren", F.DEVICE | F.SALEABLE),
    _noun("car", "das Auto", "Autos", _VEHICLE),
    _noun("bicycle", "das Fahrrad", "Fahrräder", _VEHICLE),
    _noun("bus", "der Bus", "Busse", F.TRANSIT, genitive="Busses"),
    _noun("train", "der Zug", "Züge", F.TRANSIT | F.LENGTHY),
    _noun("door", "die Tür", "Türen", F.OPENABLE | F.COLORED),
    _noun("window", "das Fenster", "Fenster", F.OPENABLE | F.CLEANABLE),
    _noun("kitchen", "die Küche", "Küchen", F.KITCHEN | F.ROOM | F.CLEANABLE, IN, INTO),
    _noun("room", "das Zimmer", "Zimmer", F.ROOM | F.CLEANABLE, IN, INTO),
    _noun("office", "das Büro", "Büros", F.WORKPLACE, IN, TO_INSIDE),
    _noun("house", "das Haus", "Häuser", F.HOUSE | F.BUILDING | F.COLORED, IN, INTO),
    _noun("school", "die Schule", "Schulen", F.WORKPLACE | F.BUILDING, IN, TO),
    _noun("hotel", "das Hotel", "Hotels", F.EATERY | F.LODGING | F.BUILDING, IN, TO),
    _noun("restaurant", "das Restaurant", "Restaurants", F.EATERY | F.BUILDING, IN, TO_INSIDE),
    _noun("museum", "das Museum", "Museen", F.SIGHT | F.BUILDING | F.WORKPLACE, IN, TO_INSIDE),
    _noun("shop", "der Laden", "Läden", F.STORE | F.WORKPLACE, IN, INTO),
    _noun("market", "der Markt", "Märkte", F.STORE, AT_MARKET, TO),
    _noun("station", "der Bahnhof", "Bahnhöfe", F.STATION | F.BUILDING, AT, TO),
    _noun("garden", "der Garten", "Gärten", F.GREEN, IN, INTO),
    _noun("park", "der Park", "Parks", F.GREEN, IN, TO_INSIDE),
    _noun("forest", "der Wald", "Wälder", F.GREEN, IN, INTO),
    _noun("lake", "der See", "Seen", F.WATER, AT, TO),
    _noun("street", "die Straße", "Straßen", F.STREET | F.LENGTHY, IN_STREET),
    _noun("city", "die Stadt", "Städte", F.SETTLEMENT | F.SIGHT, IN, TO_INSIDE),
    _noun("village", "das Dorf", "Dörfer", F.SETTLEMENT, IN, TO_INSIDE),
)

PEOPLE: tuple[Name, ...] = (
    Name("Anna", "Anna", Gender.FEMININE),
    Name("Maria", "Maria", Gender.FEMININE),
    Name("Julia", "Julia", Gender.FEMININE),
    Name("Lena", "Lena", Gender.FEMININE),
    Name("Clara", "Clara", Gender.FEMININE),
    Name("Peter", "Peter", Gender.MASCULINE),
    Name("Paul", "Paul", Gender.MASCULINE),
    Name("Tom", "Tom", Gender.MASCULINE),
    Name("David", "David", Gender.MASCULINE),
    Name("Simon", "Simon", Gender.MASCULINE),
)

CITIES: tuple[Name, ...] = (
    Name("Berlin", "Berlin"),
    Name("Hamburg", "Hamburg"),
    Name("Munich", "München"),
    Name("Cologne", "Köln"),
    Name("Vienna", "Wien"),
)
