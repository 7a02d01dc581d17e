"""The written text of the small-talk corpus: how it is read and how its templates are filled.

The text lies in plain files beside this module, in `small_talk_text`:

* `slots.txt` has the tables of words that fill a `{slot}`: a header `[column | column]`, then a
  row a line.
* `dialogues.txt` has the conversations; it explains its format itself.
* `follow_ups.txt`, if there is one, has more of them, in which only Nemo's last turn is learnt.
* Each other file has intents. An intent starts with `[name]`, or `[name] place` (see `Place`),
  and every following line starts with a mark:

      ? a phrasing for training
      ~ a phrasing that training never sees (for dev and test)
      ! an answer
      = what Nemo may have said in place of an answer: read before a follow-up and never learnt
      > intent: the answer when the user goes on with that intent ("> why: Because ...")

In phrasings and user turns `(one|two|)` is a choice; a text that ends without a mark gets a "?" or
a "." as its first word demands. A slot may be written `{name}`, `{Name}`
(with a capital letter), `{a_name}` and `{A_name}` (after "a" or "an"), and with a final 2,
`{name2}`, for another row of the same table. Lines that start with `#` are comments.
"""

import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Generic, TypeVar

from generators.korean_particles import choose_particles

T = TypeVar("T")

TEXT_DIR = Path(__file__).parent / "small_talk_text"

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
LARGEST_SUM = 10

Record = Mapping[str, str]

QUESTION_WORDS = frozenset(
    (
        *("am", "are", "aren", "can", "could", "did", "do", "does", "has", "have", "how", "is"),
        *("isn", "may", "shall", "should", "was", "were", "what", "when", "where", "which", "who"),
        *("whose", "why", "will", "would"),
    )
)

_CHOICE = re.compile(r"\(([^()]*)\)")
_SLOT = re.compile(r"\{(a_)?(\w+?)(2?)\}", re.IGNORECASE)
_HEADER = re.compile(r"\[(.+)\]\s*(\w*)")


class Place(StrEnum):
    """Where in a conversation an intent may stand."""

    ANYWHERE = ""
    OPENING = "opening"  # best in the first turn
    CLOSING = "closing"  # only in the last turn
    CONTEXT = "context"  # only where the conversation calls for it
    FOLLOW_UP = "follow_up"  # means nothing without the turn before ("Why?")


@dataclass
class Intent:
    """Something a user may want to say, and how Nemo answers."""

    name: str
    place: Place
    phrasings: list[str] = field(default_factory=list)
    held_out: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    follow_ups: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Exchange:
    """A user turn and Nemo's answer, each with alternatives.

    Attributes:
        questions: The alternatives of the user turn.
        answers: The alternatives of Nemo's turn.
        after_gap: Whether an exchange about something else may come just before.
    """

    questions: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    after_gap: bool = False


@dataclass
class Conversation:
    """Exchanges that belong together."""

    name: str
    weight: int
    exchanges: list[Exchange] = field(default_factory=list)


class Deck(Generic[T]):
    """Deals items in random order, each of them once before any comes again."""

    def __init__(self, items: Iterable[T], rng: random.Random) -> None:
        """Make a deck of `items`, shuffled by `rng`."""
        self._items = list(items)
        self._rng = rng
        self._left: list[T] = []

    def draw(self) -> T:
        """Return the next item."""
        if not self._left:
            self._left = self._rng.sample(self._items, len(self._items))
        return self._left.pop()


class SlotDealer:
    """Deals rows of the slot tables, every row of a table equally often."""

    def __init__(self, tables: Sequence[Sequence[Record]], rng: random.Random) -> None:
        """Make a deck of each of the `tables`."""
        self._table_of = {column: i for i, table in enumerate(tables) for column in table[0]}
        self._sizes = [len(table) for table in tables]
        self._decks = [Deck(table, rng) for table in tables]

    def deal(self, texts: Iterable[str]) -> dict[str, str]:
        """Return values for all the slots of `texts`, which belong together."""
        slots = set(self._slots(texts))
        values: dict[str, str] = {}
        for table in sorted({table for table, _ in slots}):
            first = self._decks[table].draw()
            values |= first
            if (table, "2") in slots:
                second = self._decks[table].draw()
                while second is first:
                    second = self._decks[table].draw()
                values |= {f"{column}2": value for column, value in second.items()}
        return values

    def rows(self, texts: Iterable[str]) -> int:
        """Return the number of rows of the largest table that `texts` use, or 0."""
        return max((self._sizes[table] for table, _ in self._slots(texts)), default=0)

    def _slots(self, texts: Iterable[str]) -> Iterator[tuple[int, str]]:
        """Yield the table and the number, "" or "2", of every slot in `texts`."""
        for text in texts:
            for slot in _SLOT.finditer(text):
                yield self._table_of[slot[2].lower()], slot[3]


def expand(template: str) -> list[str]:
    """Return all the texts that the choices in a template allow.

    Example:
        >>> expand("(Hi|Hello) there(|, Nemo)!")
        ['Hi there!', 'Hi there, Nemo!', 'Hello there!', 'Hello there, Nemo!']
    """
    choice = _CHOICE.search(template)
    if choice is None:
        return [_end(" ".join(template.split()))]
    before, after = template[: choice.start()], template[choice.end() :]
    return [text for part in choice[1].split("|") for text in expand(before + part + after)]


def spread(template: str, rng: random.Random) -> list[str]:
    """Return as few of the texts that a template allows as have all parts of all its choices.

    A template with many choices allows thousands of texts; what tells them apart is in these.
    """
    parts = _CHOICE.split(template)  # text and choice in turn
    options = [[part] if number % 2 == 0 else part.split("|") for number, part in enumerate(parts)]
    columns = [rng.sample(column, len(column)) for column in options]
    rows = range(max(map(len, columns)))
    texts = ("".join(column[row % len(column)] for column in columns) for row in rows)
    return [_end(" ".join(text.split())) for text in texts]


def one_choice(template: str, rng: random.Random) -> str:
    """Return one of the texts that a template allows, without a mark at its end if it has none."""
    while choice := _CHOICE.search(template):
        part = rng.choice(choice[1].split("|"))
        template = template[: choice.start()] + part + template[choice.end() :]
    return " ".join(template.split())


def _end(text: str) -> str:
    """Return `text` with a question mark or a full stop if it has no mark at the end.

    A lone Hangul letter is a mark, too: it stands for laughing (ㅋㅋ) or crying (ㅠㅠ).
    """
    if text[-1] in ".!?" or "ㄱ" <= text[-1] <= "ㅣ":
        return text
    return text + ("?" if asks(text) else ".")


def asks(text: str) -> bool:
    """Return whether `text` starts as a question does."""
    return re.split(r"\W", text.lower(), maxsplit=1)[0] in QUESTION_WORDS


def expand_all(templates: Iterable[str]) -> list[str]:
    """Return the expansions of all `templates`, without those that read alike."""
    unique: dict[str, str] = {}
    for template in templates:
        for text in expand(template):
            unique.setdefault(fold(text), text)
    return list(unique.values())


def fill(template: str, values: Record) -> str:
    """Return a template with its slots filled and its first letter capitalised.

    Examples:
        >>> fill("{a_animal} says {sound}!", {"animal": "owl", "sound": "hoot"})
        'An owl says hoot!'
        >>> fill("{food}을/를 좋아해요.", {"food": "피자"})
        '피자를 좋아해요.'
    """

    def value(slot: re.Match[str]) -> str:
        text = values[slot[2].lower() + slot[3]]
        if slot[1]:
            text = f"{'an' if text[0].lower() in 'aeiou' else 'a'} {text}"
        return capitalise(text) if slot[0][1].isupper() else text

    return choose_particles(capitalise(_SLOT.sub(value, template)))


def capitalise(text: str) -> str:
    """Return `text` with its first letter in upper case and the rest as it is."""
    return text[:1].upper() + text[1:]


def fold(text: str) -> str:
    """Return `text` without case, punctuation and spare spaces; signs of sums stay."""
    return " ".join(re.sub(r"[^\w\s+=-]", "", text.lower()).split())


def read_intents(directory: Path = TEXT_DIR) -> dict[str, Intent]:
    """Read all the intents, by name."""
    intents: dict[str, Intent] = {}
    for path in sorted(directory.glob("*.txt")):
        if path.name in {"slots.txt", "dialogues.txt", "follow_ups.txt"}:
            continue
        for name, place, lines in _sections(path):
            if name in intents:
                raise ValueError(f"{path}: a second intent {name!r}")
            intents[name] = _parse_intent(Intent(name, Place(place)), lines)
    return intents


def read_conversations(path: Path = TEXT_DIR / "dialogues.txt") -> list[Conversation]:
    """Read the conversations of the dialogue file."""
    return [
        Conversation(name, int(weight or 1), _parse_exchanges(lines))
        for name, weight, lines in _sections(path)
    ]


def read_slots(path: Path = TEXT_DIR / "slots.txt") -> list[list[Record]]:
    """Read the slot tables and add the table of small sums."""
    tables: list[list[Record]] = [_small_sums()]
    for header, _, lines in _sections(path):
        columns = header.split(" | ")
        rows = lines if len(columns) > 1 else [row for line in lines for row in line.split(", ")]
        tables.append([dict(zip(columns, row.split(" | "), strict=True)) for row in rows])
    return tables


def _small_sums() -> list[Record]:
    pairs = ((x, total - x) for total in range(2, LARGEST_SUM + 1) for x in range(1, total))
    records: list[Record] = []
    for x, y in pairs:
        numbers = {"x": x, "y": y, "total": x + y}
        words = {f"{name}_word": NUMBERS[number] for name, number in numbers.items()}
        records.append({name: str(number) for name, number in numbers.items()} | words)
    return records


def _sections(path: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the sections of a text file: the header's name and last word, and the lines."""
    name, extra, lines = "", "", list[str]()
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        if header := _HEADER.fullmatch(line):
            if name:
                yield name, extra, lines
            name, extra, lines = header[1], header[2], []
        else:
            lines.append(line)
    yield name, extra, lines


def _parse_intent(intent: Intent, lines: Iterable[str]) -> Intent:
    parts = {"?": intent.phrasings, "~": intent.held_out, "!": intent.answers, "=": intent.heard}
    for line in lines:
        mark, text = line.split(" ", 1)
        if mark == ">":
            kind, answer = text.split(": ", 1)
            intent.follow_ups.setdefault(kind, []).append(answer)
        else:
            parts[mark].append(text)
    return intent


def _parse_exchanges(lines: Iterable[str]) -> list[Exchange]:
    exchanges: list[Exchange] = []
    last = "b"
    after_gap = False
    for line in lines:
        if line == "...":
            after_gap = True
            continue
        mark, text = line.split(" ", 1)
        if mark == "u" and last == "b":
            exchanges.append(Exchange(after_gap=after_gap))
            after_gap = False
        {"u": exchanges[-1].questions, "b": exchanges[-1].answers}[mark].append(text)
        last = mark
    return exchanges
