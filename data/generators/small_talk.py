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
from collections.abc import Iterable
from pathlib import Path

from generators.small_talk_dialogues import Dialogue, DialogueMaker, follow_up_conversations
from generators.small_talk_rows import DEV, TEST, TRAIN, Row, make_rows
from generators.small_talk_script import read_conversations, read_intents, read_slots

SEED = 2024
DIALOGUES = {TRAIN: 2000, DEV: 100}
DEFAULT_OUT_DIR = Path(__file__).parent.parent / "small-talk-en"


def make_corpus(seed: int = SEED) -> dict[str, str]:
    """Return the content of every file of the corpus, by file name."""
    intents, tables = read_intents(), read_slots()
    conversations = [*read_conversations(), *follow_up_conversations(intents)]
    files = {}
    for split in (TRAIN, DEV, TEST):
        rows = make_rows(intents, tables, split, random.Random(f"{seed} rows {split}"))
        files[f"{split}.tsv"] = format_rows(rows)
    for split, number in DIALOGUES.items():
        rng = random.Random(f"{seed} dialogues {split}")
        dialogues = DialogueMaker(intents, conversations, tables, split, rng).make(number)
        files[f"dialogues.{split}.jsonl"] = format_dialogues(dialogues)
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


def main() -> None:
    """Write the corpus to the directory given on the command line."""
    parser = argparse.ArgumentParser(description="Write the English small-talk corpus.")
    parser.add_argument("out_dir", nargs="?", type=Path, default=DEFAULT_OUT_DIR)
    out_dir: Path = parser.parse_args().out_dir
    out_dir.mkdir(parents=True, exist_ok=True)
    for name, content in make_corpus().items():
        (out_dir / name).write_text(content, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
