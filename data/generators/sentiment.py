"""Write the sentiment corpus: short English reviews and remarks with their feeling.

    cd data && python -m generators.sentiment [OUT_DIR]

`train.tsv`, `dev.tsv` and `test.tsv` have a text and its label: positive, negative or neutral. The
text is written by hand in `sentiment_text`, in the form that `small_talk_script.py` describes; the
generator fills the slots of its templates and varies how texts are typed. Dev and test have
phrasings that training never sees, and share none. Every run writes the same bytes.
"""

import argparse
import random
from collections.abc import Iterable, Sequence
from pathlib import Path

from generators.small_talk_rows import DEV, TEST, TRAIN, first_phrasings, lines_of
from generators.small_talk_script import (
    Deck,
    Intent,
    Record,
    SlotDealer,
    fill,
    fold,
    read_intents,
    read_slots,
)
from generators.small_talk_style import casual, mistyped

SEED = 2025
TEXT_DIR = Path(__file__).parent / "sentiment_text"
DATA_DIR = Path(__file__).parent.parent / "sentiment-en"
ROWS = {TRAIN: 1500, DEV: 100, TEST: 150}  # of each label
AS_WRITTEN, CASUAL, MISTYPED = 10, 5, 1  # how often a text is typed so


def make_corpus(seed: int = SEED) -> dict[str, str]:
    """Return the content of every file of the corpus, by file name."""
    labels = read_intents(TEXT_DIR)
    tables = read_slots(TEXT_DIR / "slots.txt")
    files = {}
    for split, count in ROWS.items():
        rng = random.Random(f"{seed} {split}")
        rows = [
            (text, label.name)
            for label in labels.values()
            for text in make_texts(label, tables, split, count, rng)
        ]
        rng.shuffle(rows)
        files[f"{split}.tsv"] = format_rows(rows)
    return files


def make_texts(
    label: Intent, tables: Sequence[Sequence[Record]], split: str, count: int, rng: random.Random
) -> list[str]:
    """Return different texts of a label, its phrasings about equally often."""
    dealer = SlotDealer(tables, rng)
    deck = Deck(first_phrasings(lines_of(label, split), rng, most=None), rng)
    texts: dict[str, str] = {}
    while len(texts) < count:
        template = deck.draw()
        text = fill(template, dealer.deal([template]))
        texts.setdefault(fold(text), typed(text, rng))
    return list(texts.values())


def typed(text: str, rng: random.Random) -> str:
    """Return a text as somebody may have typed it."""
    care = rng.choices((AS_WRITTEN, CASUAL, MISTYPED), (AS_WRITTEN, CASUAL, MISTYPED))[0]
    if care == AS_WRITTEN:
        return text
    return mistyped(casual(text), rng) if care == MISTYPED else casual(text)


def format_rows(rows: Iterable[tuple[str, str]]) -> str:
    """Return rows as tab-separated lines under a header."""
    return "".join(f"{text}\t{label}\n" for text, label in [("text", "label"), *rows])


def main() -> None:
    """Write the corpus to the directory given on the command line."""
    parser = argparse.ArgumentParser(description="Write the sentiment corpus.")
    parser.add_argument("out_dir", nargs="?", type=Path, default=DATA_DIR)
    out_dir: Path = parser.parse_args().out_dir
    out_dir.mkdir(parents=True, exist_ok=True)
    for name, content in make_corpus().items():
        (out_dir / name).write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
