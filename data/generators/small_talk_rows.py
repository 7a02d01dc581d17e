"""Single questions and answers of a small-talk corpus."""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from generators.small_talk_script import (
    Deck,
    Intent,
    Place,
    Record,
    SlotDealer,
    expand_all,
    fill,
    fold,
    spread,
)

MAX_PHRASINGS = 40
# The words in slots are to be copied, or known one by one: that needs more examples.
ROWS_PER_SLOT_RECORD = 3
MAX_ROWS_FOR_SLOTS = 1500
# What only makes sense after something else: the dialogues have most of it.
ROWS_PER_FOLLOW_UP = 40

# The parts of the corpus: what may be trained on, and two held-out parts.
TRAIN, DEV, TEST = "train", "dev", "test"

# From templates: phrasings with slots still open.
Phrasing = Callable[[Sequence[str], random.Random], list[str]]
# From a phrasing and the words for its slots: what somebody typed.
Typing = Callable[[str, Record, random.Random], str]


@dataclass(frozen=True)
class Wording:
    """How users say what is written, and how long they chat.

    Attributes:
        phrasings: What the templates of an intent allow.
        first_turn: How users type the first turn of a chat.
        later_turn: How they type the others.
        max_exchanges: The longest dialogue with talk about other things in it.
        filled_gaps: The share of the gaps of conversations that surely have such talk in them.
    """

    phrasings: Phrasing
    first_turn: Typing
    later_turn: Typing
    max_exchanges: int
    filled_gaps: float = 0.0


@dataclass(frozen=True)
class Row:
    """One question, one right answer to it, and the intent of the question."""

    question: str
    answer: str
    intent: str


def lines_of(intent: Intent, split: str) -> list[str]:
    """Return the templates of an intent that belong to a split.

    Dev and test share the held-out templates line by line, so that no two splits have phrasings
    that were written as variants of each other.
    """
    return {TRAIN: intent.phrasings, DEV: intent.held_out[::2], TEST: intent.held_out[1::2]}[split]


def first_phrasings(
    lines: Sequence[str], _rng: random.Random, most: int | None = MAX_PHRASINGS
) -> list[str]:
    """Return the phrasings of templates with few choices.

    Of many phrasings, the first of each line, and then the second of each line and so on, go
    before the others; `most` are enough, None takes all.
    """
    by_line = [expand_all([line]) for line in lines]
    in_turn = [text for texts in zip_longest(*by_line) for text in texts if text]
    return expand_all(in_turn)[:most]


def spread_phrasings(lines: Sequence[str], rng: random.Random) -> list[str]:
    """Return phrasings that have each part of each choice of the templates, mixed anew."""
    return [text for line in lines for text in spread(line, rng)]


class RowMaker:
    """Puts questions and answers together to rows."""

    def __init__(
        self,
        tables: Sequence[Sequence[Record]],
        split: str,
        rng: random.Random,
        wording: Wording,
        taken: Iterable[str] = (),
    ) -> None:
        """Prepare to make rows with the phrasings of a split.

        Args:
            tables: What fills the slots.
            split: The part of the corpus.
            rng: Source of randomness.
            wording: How users say it.
            taken: Folded questions that no row may have.
        """
        self._split = split
        self._rng = rng
        self._wording = wording
        self._dealer = SlotDealer(tables, rng)
        self._owners = dict.fromkeys(taken, "")  # folded question -> its intent; each has one

    def make(self, intents: Iterable[Intent], rows_per_intent: int) -> list[Row]:
        """Return shuffled rows for `intents`, without any row twice.

        Only training has as many rows as that, or more where an intent has slots; the held-out
        splits have one row for each phrasing.
        """
        rows: list[Row] = []
        for intent in intents:
            if self._split == TRAIN:
                rows += self._training_rows(intent, rows_per_intent)
            else:
                rows += self._held_out_rows(intent)
        self._rng.shuffle(rows)
        return rows

    def _training_rows(self, intent: Intent, rows_per_intent: int) -> Iterable[Row]:
        """Return rows of an intent, with all its phrasings and answers about equally often."""
        for_slots = ROWS_PER_SLOT_RECORD * self._dealer.rows(intent.phrasings)
        wanted = max(rows_per_intent, min(for_slots, MAX_ROWS_FOR_SLOTS))
        if intent.place is Place.FOLLOW_UP:
            wanted = ROWS_PER_FOLLOW_UP
        phrasings = self._phrasings(intent)
        answers = Deck(intent.answers, self._rng)
        rows: dict[Row, None] = {}
        while len(rows) < wanted:
            row = self._row(intent, next(phrasings), answers.draw())
            if self._owners.setdefault(fold(row.question), intent.name) == intent.name:
                rows[row] = None
        return rows

    def _phrasings(self, intent: Intent) -> Iterator[str]:
        """Yield phrasings without end, each once before the wording is asked for new ones."""
        while True:
            texts = self._wording.phrasings(lines_of(intent, self._split), self._rng)
            deck = Deck(texts, self._rng)
            yield from (deck.draw() for _ in texts)

    def _held_out_rows(self, intent: Intent) -> Iterable[Row]:
        """Return one row for each held-out phrasing of an intent."""
        answers = Deck(intent.answers, self._rng)
        texts = first_phrasings(lines_of(intent, self._split), self._rng)
        return [self._row(intent, text, answers.draw()) for text in texts]

    def _row(self, intent: Intent, question: str, answer: str) -> Row:
        """Return a row with the same words in the slots of question and answer."""
        values = self._dealer.deal((question, answer))
        typed = self._wording.first_turn(question, values, self._rng)
        return Row(typed, fill(answer, values), intent.name)
