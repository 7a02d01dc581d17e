"""Single questions and answers of the small-talk corpus."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from generators.small_talk_script import Deck, Intent, Record, SlotDealer, expand_all, fill
from generators.small_talk_style import FIRST_TURN, Style, any_style

MAX_PHRASINGS = 40
ROWS_PER_INTENT = 40
ROWS_PER_SLOT_RECORD = 3

# The parts of the corpus: what may be trained on, and two held-out parts.
TRAIN, DEV, TEST = "train", "dev", "test"


@dataclass(frozen=True)
class Row:
    """One question, one right answer to it, and the intent of the question."""

    question: str
    answer: str
    intent: str


def phrasings(intent: Intent, split: str, most: int | None = MAX_PHRASINGS) -> list[str]:
    """Return the phrasings of an intent that belong to a split, with slots still open.

    Dev and test share the held-out phrasings line by line, so that no two splits have phrasings
    that were written as variants of each other. Of many phrasings, the first of each line, and
    then the second of each line and so on, go before the others; `most` are enough, None takes all.
    """
    lines = {TRAIN: intent.phrasings, DEV: intent.held_out[::2], TEST: intent.held_out[1::2]}
    by_line = [expand_all([line]) for line in lines[split]]
    in_turn = [text for texts in zip_longest(*by_line) for text in texts if text]
    return expand_all(in_turn)[:most]


def make_rows(
    intents: Mapping[str, Intent],
    tables: Sequence[Sequence[Record]],
    split: str,
    rng: random.Random,
    styles: Mapping[Style, int] = FIRST_TURN,
) -> list[Row]:
    """Return the shuffled rows of one split, without any row twice."""
    dealer = SlotDealer(tables, rng)
    rows: list[Row] = []
    for intent in intents.values():
        if split == TRAIN:
            rows += _training_rows(intent, dealer, rng, styles)
        else:
            rows += _held_out_rows(intent, split, dealer, rng, styles)
    rng.shuffle(rows)
    return rows


def _training_rows(
    intent: Intent, dealer: SlotDealer, rng: random.Random, styles: Mapping[Style, int]
) -> Iterable[Row]:
    """Return rows of an intent, with all its phrasings and answers about equally often."""
    templates = phrasings(intent, TRAIN)
    answers = Deck(intent.answers, rng)
    wanted = max(ROWS_PER_INTENT, ROWS_PER_SLOT_RECORD * dealer.rows(templates))
    deck = Deck(templates, rng)
    rows: dict[Row, None] = {}
    while len(rows) < wanted:
        rows[_row(intent, deck.draw(), answers.draw(), dealer, rng, styles)] = None
    return rows


def _held_out_rows(
    intent: Intent,
    split: str,
    dealer: SlotDealer,
    rng: random.Random,
    styles: Mapping[Style, int],
) -> Iterable[Row]:
    """Return one row for each held-out phrasing of an intent."""
    answers = Deck(intent.answers, rng)
    return [
        _row(intent, template, answers.draw(), dealer, rng, styles)
        for template in phrasings(intent, split)
    ]


def _row(
    intent: Intent,
    question: str,
    answer: str,
    dealer: SlotDealer,
    rng: random.Random,
    styles: Mapping[Style, int],
) -> Row:
    """Return a row with the same words in the slots of question and answer."""
    values = dealer.deal((question, answer))
    typed = any_style(fill(question, values), rng, styles)
    return Row(typed, fill(answer, values), intent.name)
