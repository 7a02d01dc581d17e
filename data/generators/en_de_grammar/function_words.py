"""The function words: prepositions, modals, adverbs, numerals and conjunctions."""

from collections.abc import Mapping

from generators.en_de_grammar import english as en
from generators.en_de_grammar import german as de
from generators.en_de_grammar.categories import Case
from generators.en_de_grammar.entries import Adverb, Conjunction, Modal, ModalForm, Preposition

ON = Preposition("on", "auf")
UNDER = Preposition("under", "unter")
BEHIND = Preposition("behind", "hinter")
IN_FRONT_OF = Preposition("in front of", "vor")
NEXT_TO = Preposition("next to", "neben")
BETWEEN = Preposition("between", "zwischen")
WITH = Preposition("with", "mit", Case.DATIVE)
WITHOUT = Preposition("without", "ohne", Case.ACCUSATIVE)
FOR = Preposition("for", "für", Case.ACCUSATIVE)
FROM = Preposition("from", "von", Case.DATIVE)
THROUGH = Preposition("through", "durch", Case.ACCUSATIVE)
TO_CITY = Preposition("to", "nach", Case.DATIVE)
FROM_CITY = Preposition("from", "aus", Case.DATIVE)

CAN = Modal(
    de.Verb("können", singular="kann", preterite="konnte"), ModalForm("can"), ModalForm("could")
)
MUST = Modal(
    de.Verb("müssen", singular="muss", preterite="musste"),
    ModalForm("must"),
    ModalForm(verb=en.HAVE, infix=("to",)),
    ModalForm(verb=en.HAVE, infix=("to",)),
)
WANT = Modal(
    de.Verb("wollen", singular="will", preterite="wollte"),
    ModalForm(verb=en.WANT, infix=("to",)),
    ModalForm(verb=en.WANT, infix=("to",)),
)
SHOULD = Modal(de.Verb("sollten", singular="sollte"), ModalForm("should"))
WOULD_LIKE = Modal(de.Verb("möchten", singular="möchte"), ModalForm("would", infix=("like", "to")))
MODALS: tuple[Modal, ...] = (CAN, MUST, WANT, SHOULD, WOULD_LIKE)

ALREADY = Adverb("already", "schon", medial=True)
ALWAYS = Adverb("always", "immer", medial=True)
NEVER = Adverb("never", "nie", medial=True)
TODAY = Adverb("today", "heute")
NOW = Adverb("now", "jetzt")
YESTERDAY = Adverb("yesterday", "gestern")
TOMORROW = Adverb("tomorrow", "morgen")
NEXT_WEEK = Adverb("next week", "nächste Woche")
WHERE = Adverb("where", "wo")
WHITHER = Adverb("where", "wohin")
WHEN = Adverb("when", "wann")
WHY = Adverb("why", "warum")
HOME = Adverb("home", "nach Hause")
AT_HOME = Adverb("at home", "zu Hause")

HABITUAL_ADVERBS: tuple[Adverb, ...] = (
    ALWAYS,
    Adverb("often", "oft", medial=True),
    Adverb("sometimes", "manchmal", medial=True),
    NEVER,
    Adverb("every day", "jeden Tag"),
    Adverb("every morning", "jeden Morgen"),
    Adverb("in the evening", "am Abend"),
)
SEASONS: tuple[Adverb, ...] = (Adverb("in summer", "im Sommer"), Adverb("in winter", "im Winter"))
PAST_PERIODS: tuple[Adverb, ...] = (
    Adverb("last week", "letzte Woche"),
    Adverb("last year", "letztes Jahr"),
)
WEEKDAYS: tuple[Adverb, ...] = (
    Adverb("on Monday", "am Montag"),
    Adverb("on Tuesday", "am Dienstag"),
    Adverb("on Wednesday", "am Mittwoch"),
    Adverb("on Thursday", "am Donnerstag"),
    Adverb("on Friday", "am Freitag"),
    Adverb("on Saturday", "am Samstag"),
    Adverb("on Sunday", "am Sonntag"),
)

NUMERALS: Mapping[int, tuple[str, str]] = {
    2: ("two", "zwei"),
    3: ("three", "drei"),
    4: ("four", "vier"),
    5: ("five", "fünf"),
    6: ("six", "sechs"),
    7: ("seven", "sieben"),
    8: ("eight", "acht"),
    9: ("nine", "neun"),
    10: ("ten", "zehn"),
    11: ("eleven", "elf"),
    12: ("twelve", "zwölf"),
}

AND = Conjunction("and", "und")
BUT = Conjunction("but", "aber", comma=True)
BECAUSE = Conjunction("because", "weil")
ALTHOUGH = Conjunction("although", "obwohl")
IF = Conjunction("if", "wenn")
THAT = Conjunction("that", "dass")
WHETHER = Conjunction("whether", "ob")
