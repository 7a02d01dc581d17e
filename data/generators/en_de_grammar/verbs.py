"""The verbs, with the nouns and the places that go with them."""

from generators.en_de_grammar import english as en
from generators.en_de_grammar import german as de
from generators.en_de_grammar.categories import Case
from generators.en_de_grammar.entries import ANIMAL, GROWN_UP, PERSON, Aspect, Preposition, Verb
from generators.en_de_grammar.entries import Feature as F

_INDOORS = F.ROOM | F.HOUSE
_OUTDOORS = F.GREEN | F.STREET
_MEALS = F.ROOM | F.EATERY | F.GREEN
_THINGS = F.FURNITURE | F.DEVICE | F.VEHICLE | F.TABLEWARE
_BELONGINGS = F.PORTABLE | F.READABLE | F.WEARABLE

BE = Verb(en.BE, de.SEIN, aspect=Aspect.STATE)
HAVE = Verb(en.HAVE, de.HABEN, aspect=Aspect.STATE)
THERE_BE = Verb(
    en.BE, de.Verb("geben", changed_stem="gib", participle="gegeben"), aspect=Aspect.STATE
)

RAIN = Verb(en.Verb("rain"), de.Verb("regnen"))
SHINE = Verb(en.Verb("shine", "shone"), de.Verb("scheinen", participle="geschienen"))

KNOW_FACT = Verb(
    en.Verb("know", "knew", "known"),
    de.Verb("wissen", singular="weiß", preterite="wusste", participle="gewusst"),
    aspect=Aspect.STATE,
)
SAY = Verb(en.Verb("say", "said"), de.Verb("sagen"), aspect=Aspect.EVENT)
THINK = Verb(en.Verb("think", "thought"), de.Verb("glauben"), aspect=Aspect.STATE)
HOPE = Verb(en.Verb("hope"), de.Verb("hoffen"), aspect=Aspect.STATE)
TRY = Verb(en.Verb("try"), de.Verb("versuchen", participle="versucht"))

EAT = Verb(
    en.Verb("eat", "ate", "eaten"),
    de.Verb("essen", changed_stem="iss", participle="gegessen"),
    F.EDIBLE,
    _MEALS,
)
FEED_ON = Verb(
    en.Verb("eat", "ate", "eaten"),
    de.Verb("fressen", changed_stem="friss", participle="gefressen"),
    F.ANIMAL_FOOD,
    F.ROOM | _OUTDOORS,
    F.PET,
)
DRINK = Verb(
    en.Verb("drink", "drank", "drunk"),
    de.Verb("trinken", participle="getrunken"),
    F.DRINKABLE,
    _MEALS,
)
COOK = Verb(en.Verb("cook"), de.Verb("kochen"), F.COOKABLE, F.KITCHEN, GROWN_UP)
BAKE = Verb(
    en.Verb("bake"), de.Verb("backen", participle="gebacken"), F.BAKABLE, F.KITCHEN, GROWN_UP
)
READ = Verb(
    en.Verb("read", "read"),
    de.Verb("lesen", changed_stem="lies", participle="gelesen"),
    F.READABLE,
    F.ROOM | F.GREEN,
)
WRITE = Verb(
    en.Verb("write", "wrote", "written"),
    de.Verb("schreiben", participle="geschrieben"),
    F.WRITABLE,
    F.ROOM | F.WORKPLACE,
    notable=True,
)
BUY = Verb(en.Verb("buy", "bought"), de.Verb("kaufen"), F.SALEABLE, F.STORE, GROWN_UP, notable=True)
SELL = Verb(
    en.Verb("sell", "sold"),
    de.Verb("verkaufen", participle="verkauft"),
    F.FURNITURE | F.DEVICE | F.VEHICLE | F.WEARABLE | F.ORNAMENT,
    F.STORE | F.STREET,
    GROWN_UP,
    notable=True,
)
NEED = Verb(en.Verb("need"), de.Verb("brauchen"), F.SALEABLE | F.PORTABLE, aspect=Aspect.STATE)
SEE = Verb(
    en.Verb("see", "saw", "seen", "seeing"),
    de.Verb("sehen", changed_stem="sieh", participle="gesehen"),
    PERSON | ANIMAL | F.VEHICLE,
    _OUTDOORS | F.STATION | F.SETTLEMENT,
    aspect=Aspect.EVENT,
    notable=True,
)
FIND = Verb(
    en.Verb("find", "found"),
    de.Verb("finden", participle="gefunden"),
    _BELONGINGS,
    _INDOORS | _OUTDOORS,
    aspect=Aspect.EVENT,
)
LOSE = Verb(
    en.Verb("lose", "lost"),
    de.Verb("verlieren", participle="verloren"),
    _BELONGINGS,
    _OUTDOORS | F.STATION | F.STORE,
    aspect=Aspect.EVENT,
    notable=True,
)
FORGET = Verb(
    en.Verb("forget", "forgot", "forgotten", "forgetting"),
    de.Verb("vergessen", changed_stem="vergiss", participle="vergessen"),
    _BELONGINGS,
    F.ROOM | F.EATERY | F.STORE,
    aspect=Aspect.EVENT,
)
LOOK_FOR = Verb(
    en.Verb("look", preposition="for"),
    de.Verb("suchen"),
    _BELONGINGS | F.YOUTH | F.PET,
    _INDOORS | _OUTDOORS,
)
WEAR = Verb(
    en.Verb("wear", "wore", "worn"),
    de.Verb("tragen", changed_stem="träg", participle="getragen"),
    F.WEARABLE,
)
PUT_ON = Verb(
    en.Verb("put", "put", particle="on"),
    de.Verb("ziehen", prefix="an", participle="gezogen"),
    F.GARMENT,
)
WASH = Verb(
    en.Verb("wash"),
    de.Verb("waschen", changed_stem="wäsch", participle="gewaschen"),
    F.WASHABLE,
    subjects=GROWN_UP,
)
CLEAN = Verb(en.Verb("clean"), de.Verb("putzen"), F.CLEANABLE, subjects=GROWN_UP)
REPAIR = Verb(
    en.Verb("repair"),
    de.Verb("reparieren", participle="repariert"),
    F.DEVICE | F.VEHICLE,
    subjects=GROWN_UP,
    notable=True,
)
OPEN = Verb(en.Verb("open"), de.Verb("öffnen"), F.OPENABLE)
CLOSE = Verb(en.Verb("close"), de.Verb("machen", prefix="zu"), F.OPENABLE)
TAKE = Verb(
    en.Verb("take", "took", "taken"),
    de.Verb("nehmen", changed_stem="nimm", participle="genommen"),
    F.TRANSIT,
)
FEED = Verb(en.Verb("feed", "fed"), de.Verb("füttern"), ANIMAL, F.GREEN)

LIKE = Verb(
    en.LIKE,
    de.Verb("mögen", singular="mag", preterite="mochte", participle="gemocht"),
    F.EDIBLE | F.DRINKABLE | F.READABLE | F.WEARABLE | ANIMAL | F.ADULT | F.PROFESSION,
    aspect=Aspect.STATE,
)
LOVE = Verb(en.Verb("love"), de.Verb("lieben"), F.KIN | F.PET | F.SETTLEMENT, aspect=Aspect.STATE)
KNOW = Verb(
    en.Verb("know", "knew", "known"),
    de.Verb("kennen", preterite="kannte", participle="gekannt"),
    PERSON | F.SETTLEMENT | F.EATERY,
    aspect=Aspect.STATE,
)
VISIT = Verb(
    en.Verb("visit"),
    de.Verb("besuchen", participle="besucht"),
    F.KIN | F.ADULT | F.SIGHT,
    notable=True,
)
MEET = Verb(
    en.Verb("meet", "met"),
    de.Verb("treffen", changed_stem="triff", participle="getroffen"),
    GROWN_UP,
    F.EATERY | F.STATION | F.GREEN | F.STORE | F.SETTLEMENT,
    notable=True,
)
INVITE = Verb(
    en.Verb("invite"),
    de.Verb("laden", prefix="ein", changed_stem="läd", participle="geladen"),
    GROWN_UP,
    notable=True,
)
CALL = Verb(en.Verb("call"), de.Verb("rufen", prefix="an", participle="gerufen"), GROWN_UP)
PICK_UP = Verb(
    en.Verb("pick", particle="up"),
    de.Verb("holen", prefix="ab"),
    PERSON,
    F.STATION | F.WORKPLACE | F.EATERY,
    GROWN_UP,
)
HELP = Verb(
    en.Verb("help"),
    de.Verb("helfen", changed_stem="hilf", participle="geholfen"),
    PERSON,
    F.ROOM | F.GREEN,
    case=Case.DATIVE,
)
THANK = Verb(en.Verb("thank"), de.Verb("danken"), PERSON, case=Case.DATIVE)
BELONG_TO = Verb(
    en.Verb("belong", preposition="to"),
    de.Verb("gehören", participle="gehört"),
    PERSON,
    subjects=_THINGS | F.PORTABLE | ANIMAL,
    case=Case.DATIVE,
    aspect=Aspect.STATE,
)

GIVE = Verb(
    en.Verb("give", "gave", "given"),
    de.Verb("geben", changed_stem="gib", participle="gegeben"),
    _BELONGINGS | F.FRUIT | F.ORNAMENT | F.TABLEWARE,
)
SHOW = Verb(
    en.Verb("show", participle="shown"),
    de.Verb("zeigen"),
    _BELONGINGS | F.ORNAMENT | F.ROOM | F.SIGHT | F.PET,
)
SEND = Verb(
    en.Verb("send", "sent"), de.Verb("schicken"), F.SENT | F.READABLE | F.ORNAMENT, notable=True
)
BRING = Verb(
    en.Verb("bring", "brought"),
    de.Verb("bringen", participle="gebracht"),
    _BELONGINGS | F.FRUIT | F.ORNAMENT | F.DRINKABLE | F.TABLEWARE,
)

WAIT = Verb(en.Verb("wait"), de.Verb("warten"), PERSON | F.TRANSIT, F.STATION | F.EATERY | F.STREET)
TALK = Verb(
    en.Verb("talk"),
    de.Verb("sprechen", changed_stem="sprich", participle="gesprochen"),
    PERSON,
    F.ROOM | F.GREEN | F.STORE,
)
DREAM = Verb(
    en.Verb("dream"),
    de.Verb("träumen"),
    F.KIN | F.SETTLEMENT | F.VEHICLE | ANIMAL,
    aspect=Aspect.EVENT,
)

SLEEP = Verb(
    en.Verb("sleep", "slept"),
    de.Verb("schlafen", changed_stem="schläf", participle="geschlafen"),
    places=_INDOORS | F.LODGING,
    subjects=PERSON | ANIMAL,
)
WORK = Verb(
    en.Verb("work"),
    de.Verb("arbeiten"),
    places=F.WORKPLACE | F.EATERY | F.STORE | F.GREEN | F.STATION,
    subjects=GROWN_UP,
    notable=True,
)
PLAY = Verb(en.Verb("play"), de.Verb("spielen"), places=F.ROOM | _OUTDOORS, subjects=PERSON | F.PET)
LAUGH = Verb(en.Verb("laugh"), de.Verb("lachen"), places=F.ROOM | F.GREEN)
SING = Verb(
    en.Verb("sing", "sang", "sung"),
    de.Verb("singen", participle="gesungen"),
    places=F.ROOM | F.GREEN,
)
DANCE = Verb(en.Verb("dance"), de.Verb("tanzen"), places=F.ROOM | _OUTDOORS | F.EATERY)
SWIM = Verb(
    en.Verb("swim", "swam", "swum"),
    de.Verb("schwimmen", participle="geschwommen", perfect_with_sein=True),
    places=F.WATER,
)
SIT = Verb(
    en.Verb("sit", "sat"),
    de.Verb("sitzen", participle="gesessen"),
    places=F.ROOM | F.GREEN | F.EATERY | F.WATER,
)
STAY = Verb(
    en.Verb("stay"),
    de.Verb("bleiben", participle="geblieben", perfect_with_sein=True),
    places=_INDOORS | F.LODGING,
)
LIVE = Verb(en.Verb("live"), de.Verb("wohnen"), places=F.SETTLEMENT | F.HOUSE, aspect=Aspect.STATE)

GO = Verb(
    en.Verb("go", "went", "gone"),
    de.Verb("gehen", participle="gegangen", perfect_with_sein=True),
    places=F.ROOM | F.WORKPLACE | F.STORE | F.EATERY | F.GREEN | F.WATER | F.SIGHT | F.STATION,
)
DRIVE = Verb(
    en.Verb("drive", "drove", "driven"),
    de.Verb("fahren", changed_stem="fähr", participle="gefahren", perfect_with_sein=True),
    places=F.EATERY | F.SETTLEMENT | F.STATION | F.WATER,
    subjects=GROWN_UP,
    notable=True,
)
TRAVEL = Verb(
    en.Verb("travel"), de.Verb("reisen", perfect_with_sein=True), subjects=GROWN_UP, notable=True
)
RUN = Verb(
    en.Verb("run", "ran", "run"),
    de.Verb("laufen", changed_stem="läuf", participle="gelaufen", perfect_with_sein=True),
    places=_INDOORS | F.GREEN | F.STATION,
    subjects=PERSON | F.PET | F.LIVESTOCK,
)
COME = Verb(
    en.Verb("come", "came", "come"),
    de.Verb("kommen", participle="gekommen", perfect_with_sein=True),
    aspect=Aspect.STATE,
)
GET_UP = Verb(
    en.Verb("get", "got", particle="up"),
    de.Verb("stehen", prefix="auf", participle="gestanden", perfect_with_sein=True),
)
ARRIVE = Verb(
    en.Verb("arrive"),
    de.Verb("kommen", prefix="an", participle="gekommen", perfect_with_sein=True),
    subjects=GROWN_UP | F.TRANSIT,
)
COME_BACK = Verb(
    en.Verb("come", "came", "come", particle="back"),
    de.Verb("kommen", prefix="zurück", participle="gekommen", perfect_with_sein=True),
    subjects=GROWN_UP,
)
PUT = Verb(en.Verb("put", "put"), de.Verb("legen"), F.PORTABLE)

TRANSITIVE_VERBS: tuple[Verb, ...] = (
    EAT,
    DRINK,
    COOK,
    BAKE,
    READ,
    WRITE,
    BUY,
    SELL,
    NEED,
    SEE,
    FIND,
    LOSE,
    FORGET,
    LOOK_FOR,
    WEAR,
    PUT_ON,
    WASH,
    CLEAN,
    REPAIR,
    OPEN,
    CLOSE,
    TAKE,
    FEED,
    LOVE,
    KNOW,
    VISIT,
    MEET,
    INVITE,
    CALL,
    PICK_UP,
    HELP,
    THANK,
)
CREATION_VERBS: tuple[Verb, ...] = (WRITE, BAKE, COOK)
DITRANSITIVE_VERBS: tuple[Verb, ...] = (GIVE, SHOW, SEND, BRING)
INTRANSITIVE_VERBS: tuple[Verb, ...] = (SLEEP, WORK, PLAY, LAUGH, SING, DANCE, SWIM, SIT, STAY)
PREPOSITIONAL_VERBS: tuple[tuple[Verb, Preposition], ...] = (
    (WAIT, Preposition("for", "auf", Case.ACCUSATIVE)),
    (TALK, Preposition("to", "mit", Case.DATIVE)),
    (DREAM, Preposition("of", "von", Case.DATIVE)),
)
