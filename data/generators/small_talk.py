"""Write the small-talk corpus: short English chats with Nemo, a small bot.

    cd data && python -m generators.small_talk [OUT_DIR]

The corpus has single questions with answers (`train.tsv.gz`, `dev.tsv`, `test.tsv`), dialogues
whose answers depend on earlier turns (`dialogues.train.jsonl.gz`, `dialogues.dev.jsonl`) and
follow-ups (`follow-ups.train.jsonl.gz`): an answer that depends on the exchange before it, in which
Nemo's turn is in words that the model shall read but not write. Its text is written by hand in
`small_talk_text`; the generator fills the slots of the templates, varies how questions are typed,
and puts dialogues together. Every run writes the same text; the large files are packed, as most
of their bytes are answers that come again and again.
"""

import argparse
import gzip
import json
import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from generators.small_talk_dialogues import Dialogue, DialogueMaker, follow_up_conversations
from generators.small_talk_follow_ups import FollowUp, FollowUpMaker
from generators.small_talk_rows import (
    DEV,
    TEST,
    TRAIN,
    Row,
    RowMaker,
    Wording,
    spread_phrasings,
)
from generators.small_talk_script import (
    TEXT_DIR,
    fold,
    read_conversations,
    read_intents,
    read_slots,
)
from generators.small_talk_style import typed

SEED = 2024
# Intents whose rows lie together in a packed file.
GROUP = 10
DATA_DIR = Path(__file__).parent.parent

AnyRow = TypeVar("AnyRow", Row, FollowUp)


@dataclass(frozen=True)
class Sample:
    """The written text of one language, and what is made of it.

    Attributes:
        name: The folder of the corpus.
        text_dir: The folder of the text.
        wording: How users say it.
        rows_per_intent: The number of questions of an intent, at least.
        dialogues: The number of dialogues of each split that has some.
        follow_ups: The number of follow-ups of each split that has some.
        follow_up_weights: How often a dialogue has follow-ups of some kinds, if not as the others.
        packed: The splits whose files are packed.
    """

    name: str
    text_dir: Path
    wording: Wording
    rows_per_intent: int
    dialogues: Mapping[str, int]
    follow_ups: Mapping[str, int] = field(default_factory=dict)
    follow_up_weights: Mapping[str, int] = field(default_factory=dict)
    packed: Collection[str] = ()

    def file_name(self, kind: str, split: str) -> str:
        """Return the name of a file, given its name with a gap for the split."""
        return kind.format(split) + (".gz" if split in self.packed else "")


ENGLISH = Sample(
    name="small-talk-en",
    text_dir=TEXT_DIR,
    wording=Wording(
        spread_phrasings, first_turn=typed, later_turn=typed, max_exchanges=3, filled_gaps=0.6
    ),
    rows_per_intent=400,
    dialogues={TRAIN: 7000, DEV: 100},
    follow_ups={TRAIN: 15000},
    # All intents answer it alike: if it came as often as the others, a model would say "Yes,
    # really!" to whatever it does not understand.
    follow_up_weights={"really": 1},
    packed={TRAIN},
)


def make_corpus(seed: int = SEED, sample: Sample = ENGLISH) -> dict[str, str]:
    """Return the text of every file of the corpus, by file name."""
    intents = read_intents(sample.text_dir)
    tables = read_slots(sample.text_dir / "slots.txt")
    written = read_conversations(sample.text_dir / "dialogues.txt")
    conversations = [*written, *follow_up_conversations(intents, sample.follow_up_weights)]
    files = {}
    held_out: set[str] = set()
    for split in (DEV, TEST, TRAIN):  # what is held out is known before what is trained on
        rng = random.Random(f"{seed} rows {split}")
        taken = held_out if split == TRAIN else ()
        maker = RowMaker(tables, split, rng, sample.wording, taken)
        rows = maker.make(intents.values(), sample.rows_per_intent)
        if split in sample.packed:
            rows = near_their_like(rows, rng)
        files[sample.file_name("{}.tsv", split)] = format_rows(rows)
        if split != TRAIN:
            held_out |= {fold(row.question) for row in rows}
    for split, number in sample.dialogues.items():
        rng = random.Random(f"{seed} dialogues {split}")
        taken = held_out if split == TRAIN else ()
        dialogues = DialogueMaker(
            intents, conversations, tables, split, rng, sample.wording, taken
        ).make(number)
        files[sample.file_name("dialogues.{}.jsonl", split)] = format_dialogues(dialogues)
    for split, number in sample.follow_ups.items():
        rng = random.Random(f"{seed} follow-ups {split}")
        more = read_conversations(sample.text_dir / "follow_ups.txt")
        follow_ups = FollowUpMaker(
            intents, [*conversations, *more], tables, split, rng, sample.wording, held_out
        ).make_follow_ups(number)
        name = sample.file_name("follow-ups.{}.jsonl", split)
        files[name] = format_follow_ups(near_their_like(follow_ups, rng))
    return files


def near_their_like(rows: Sequence[AnyRow], rng: random.Random) -> list[AnyRow]:
    """Return shuffled rows in another order: those of a few intents, then those of a few others.

    Packing finds a text again when it is not far back: so the file is a third smaller.
    """
    intents = sorted({row.intent for row in rows})
    groups = {
        name: number // GROUP for number, name in enumerate(rng.sample(intents, len(intents)))
    }
    return sorted(rows, key=lambda row: groups[row.intent])


def format_rows(rows: Iterable[Row]) -> str:
    """Return rows as tab-separated lines under a header."""
    lines = ["question\tanswer\tintent"]
    lines += [f"{row.question}\t{row.answer}\t{row.intent}" for row in rows]
    return "\n".join(lines) + "\n"


def format_follow_ups(rows: Iterable[FollowUp]) -> str:
    """Return follow-ups as lines of JSON: dialogues of which only the last turn is learnt."""
    turns = ([row.asked, row.said, row.question, row.answer] for row in rows)
    lines = (json.dumps({"turns": t, "learn": "last"}, ensure_ascii=False) for t in turns)
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
        data = content.encode()
        packed = gzip.compress(data, mtime=0) if name.endswith(".gz") else data
        (out_dir / name).write_bytes(packed)


if __name__ == "__main__":
    main()
