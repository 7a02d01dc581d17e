"""Write the small-talk corpus: short English chats with Nemo, a small bot.

    cd data && python -m generators.small_talk [OUT_DIR]

The corpus has single questions with answers (`train.tsv`, `dev.tsv`, `test.tsv`) and dialogues
whose answers depend on earlier turns (`dialogues.train.jsonl`, `dialogues.dev.jsonl`). Its text
is written by hand in `small_talk_text`; the generator fills the slots of the templates, varies
how questions are typed, and puts dialogues together. Every run writes the same bytes.
"""

import argparse
import json
import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from generators.small_talk_dialogues import Dialogue, DialogueMaker, follow_up_conversations
from generators.small_talk_rows import DEV, TEST, TRAIN, Row, make_rows
from generators.small_talk_script import TEXT_DIR, read_conversations, read_intents, read_slots
from generators.small_talk_style import FIRST_TURN, LATER_TURN, Style

SEED = 2024
DATA_DIR = Path(__file__).parent.parent


@dataclass(frozen=True)
class Sample:
    """The written text of one language, and what is made of it.

    Attributes:
        name: The folder of the corpus.
        text_dir: The folder of the text.
        dialogues: The number of dialogues of each split that has some.
        first_turn: How users type the first turn of a chat.
        later_turn: How they type the others.
    """

    name: str
    text_dir: Path
    dialogues: Mapping[str, int]
    first_turn: Mapping[Style, int]
    later_turn: Mapping[Style, int]


ENGLISH = Sample("small-talk-en", TEXT_DIR, {TRAIN: 2000, DEV: 100}, FIRST_TURN, LATER_TURN)


def make_corpus(seed: int = SEED, sample: Sample = ENGLISH) -> dict[str, str]:
    """Return the content of every file of the corpus, by file name."""
    intents = read_intents(sample.text_dir)
    tables = read_slots(sample.text_dir / "slots.txt")
    written = read_conversations(sample.text_dir / "dialogues.txt")
    conversations = [*written, *follow_up_conversations(intents)]
    files = {}
    for split in (TRAIN, DEV, TEST):
        rows = make_rows(
            intents, tables, split, random.Random(f"{seed} rows {split}"), sample.first_turn
        )
        files[f"{split}.tsv"] = format_rows(rows)
    for split, number in sample.dialogues.items():
        rng = random.Random(f"{seed} dialogues {split}")
        maker = DialogueMaker(intents, conversations, tables, split, rng, sample.later_turn)
        files[f"dialogues.{split}.jsonl"] = format_dialogues(maker.make(number))
    return files


def format_rows(rows: Iterable[Row]) -> str:
    """Return rows as tab-separated lines under a header."""
    lines = ["question\tanswer\tintent"]
    lines += [f"{row.question}\t{row.answer}\t{row.intent}" for row in rows]
    return "\n".join(lines) + "\n"


def format_dialogues(dialogues: Iterable[Dialogue]) -> str:
    """Return dialogues as lines of JSON."""
    lines = (json.dumps({"turns": turns}, ensure_ascii=False) for turns in dialogues)
    return "\n".join(lines) + "\n"


def main(sample: Sample = ENGLISH) -> None:
    """Write the corpus to the directory given on the command line."""
    parser = argparse.ArgumentParser(description="Write a small-talk corpus.")
    parser.add_argument("out_dir", nargs="?", type=Path, default=DATA_DIR / sample.name)
    out_dir: Path = parser.parse_args().out_dir
    out_dir.mkdir(parents=True, exist_ok=True)
    for name, content in make_corpus(sample=sample).items():
        (out_dir / name).write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
