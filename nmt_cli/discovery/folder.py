"""A folder that nobody prepared -> its corpora: which files, which columns, which split, which way.

Names are gone by first (`train.ko.gz`, `en.txt`, `questions.txt`, a table's heading), the content
where they say nothing. `nmt init` writes down what is found here; nothing is changed or copied.
"""

import codecs
import gzip
import re
import shlex
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.config.tasks import CHAT, CLASSIFICATION, TRANSLATION, TaskFacts
from nmt_cli.discovery import names
from nmt_cli.discovery.pair_files import named_pairs, only_pair
from nmt_cli.discovery.sides import Corpus
from nmt_cli.discovery.tables import is_table, tables, text_dialogues
from nmt_cli.errors import DataError
from nmt_cli.text.corpus import SAVE_AS_CSV, SPREADSHEETS

_NO_CORPUS = re.compile(
    r"(readme|licen[cs]e|copying|changelog|notice|vocab|dict|requirements)", re.IGNORECASE
)
_NO_CORPUS_SUFFIX = re.compile(
    r"\.(md|rst|html|xml|pdf|ya?ml|json|toml|py|sh|zip|tar|tgz|xz|bz2|png|jpg|log|lock|sha256|md5)$",
    re.IGNORECASE,
)
_SPLITS = ("train", "dev", "test")
_WANTED = {
    None: "parallel text, table or dialogues",
    TRANSLATION: "parallel text or table of two texts",
    CHAT: "dialogues or questions with answers",
    CLASSIFICATION: "text with labels",
}
_HINTS = {
    CHAT: "a .txt has a turn a line and blank lines between dialogues; two files are named with "
    "nmt init --train QUESTIONS ANSWERS --task chat",
    CLASSIFICATION: "a table with the columns text and label, or nmt init --train TEXTS LABELS "
    "--task classification (line N of one is the label of line N of the other)",
}


class Found(NamedTuple):
    """The corpora of a folder.

    Attributes:
        task: What it is for.
        languages: Codes of source and target; "" where unknown.
        corpora: Split -> entries as `data` of the configuration has them.
        labels: Of classification, sorted.
        unused: What looks like text and is left out: files, and folders (they end in "/").
        reason: Why this side is the source.
        doubt: What was guessed and may be wrong; "" for nothing.
    """

    task: TaskFacts
    languages: tuple[str, str]
    corpora: dict[str, list[dict[str, Any]]]
    labels: tuple[str, ...]
    unused: list[str]
    reason: str
    doubt: str

    def reversed(self) -> "Found":
        """Return the same two texts with source and target swapped."""
        corpora = {split: list(map(_swapped, entries)) for split, entries in self.corpora.items()}
        return self._replace(languages=self.languages[::-1], corpora=corpora, reason="as asked")


def discover(folder: Path, task: TaskFacts | None = None, file: str | None = None) -> Found:
    """Return the corpora that lie in a folder (not in the folders in it).

    Args:
        folder: The folder.
        task: What they shall be for; None finds out.
        file: The name of the only one to look at; None looks at all.

    Raises:
        DataError: There are none, or the names do not tell which files belong together.
    """
    every = sorted(path.name for path in folder.iterdir() if _is_text(path))
    files = [name for name in every if file in (None, name)]
    corpora = next(filter(None, _candidates(folder, files, task)), [])
    if not corpora:
        raise _nothing(folder, files, task)
    if all(corpus.split != "train" for corpus in corpora):
        corpora = [corpus._replace(split="train") for corpus in corpora]
    first = next(corpus for corpus in corpora if corpus.split == "train")
    has_labels = bool(first.labels)
    corpora = [corpus for corpus in corpora if bool(corpus.labels) is has_labels]
    used = {name for corpus in corpora for name in corpus.files}
    return Found(
        first.task,
        first.languages,
        {s: [c.entry for c in corpora if c.split == s] for s in _SPLITS},
        tuple(sorted({label for c in corpora if c.split == "train" for label in c.labels})),
        [] if file else [name for name in files if name not in used] + _folders_with_text(folder),
        first.reason,
        "" if task else _doubt(first),
    )


def _swapped(entry: dict[str, Any]) -> dict[str, Any]:
    if "file" in entry:
        return entry | {"columns": entry["columns"][::-1]}
    return {"source": entry["target"], "target": entry["source"]}


def _candidates(folder: Path, files: list[str], task: TaskFacts | None) -> Iterator[list[Corpus]]:
    """Yield what the files may be, the likeliest first."""
    plain = [name for name in files if not is_table(folder / name)]
    yield list(named_pairs(folder, plain, task))
    pair = only_pair(folder, plain, task)
    yield [pair] if pair else []
    found = tables(folder, [name for name in files if name not in plain], task)
    dialogues = [text_dialogues(folder, name) for name in plain if task is None or task.has_turns]
    yield found + [corpus for corpus in dialogues if corpus is not None]


def _is_text(path: Path) -> bool:
    """Return whether a file may be a corpus, from its name and its first bytes."""
    if not _may_be_text(path):
        return False
    head = _head(path)
    is_wide = head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return (is_wide or b"\0" not in head) and bool(head.strip())


def _may_be_text(path: Path) -> bool:
    if path.name.startswith(".") or _NO_CORPUS.match(path.name) or not path.is_file():
        return False
    return not _NO_CORPUS_SUFFIX.search(path.name.removesuffix(".gz"))


def _head(path: Path) -> bytes:
    """Return the first bytes of a file; as one zero, which no text has, when it is damaged."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as stream:
            return stream.read(4096)
    except (OSError, EOFError, zlib.error):
        return b"\0"


def _folders_with_text(folder: Path) -> list[str]:
    """Return the folders in a folder that text lies in, hidden ones left out."""
    return sorted(
        f"{path.name}/"
        for path in folder.iterdir()
        if path.is_dir() and not path.name.startswith(".") and any(map(_is_text, path.iterdir()))
    )


def _doubt(corpus: Corpus) -> str:
    """Return what to tell of two texts that are a chat for no better reason than their language."""
    has_roles = all(names.is_talk(side.marker) for side in corpus.sides)
    if not corpus.task.has_turns or has_roles:
        return ""
    sides = " and ".join(
        corpus.files if len(corpus.files) > 1 else map(str, corpus.entry["columns"])
    )
    stems = [token for name in corpus.files for token in names.tokens(name)]
    if any(map(names.is_label_value, stems)):
        mend = "if their names are labels, put them into one table: text<TAB>label"
    else:
        mend = "if not, say --task TASK or --train SOURCE TARGET"
    return (
        f"{sides}: a guess that one answers the other line by line, "
        f"as both are in {corpus.languages[0]!r}; {mend}"
    )


def _nothing(folder: Path, files: list[str], task: TaskFacts | None) -> DataError:
    """Return what to say of a folder without a corpus: what there is, and what to do."""
    heads = {path.name: _head(path) for path in sorted(folder.iterdir()) if _may_be_text(path)}
    folders = _folders_with_text(folder)
    if sheets := [name for name in heads if Path(name).suffix in SPREADSHEETS]:
        return DataError(f"{folder / sheets[0]}: a spreadsheet is no text", hint=SAVE_AS_CSV)
    seen = [
        *_told([name for name, head in heads.items() if not head.strip()], "empty"),
        *_told([name for name, head in heads.items() if b"\0" in head], "no UTF-8 text"),
    ]
    wanted = f"no {_WANTED[task]} found"
    if files and task:
        wanted += f" in {', '.join(files)}"
    elif files:
        seen.append(f"of {', '.join(files)} it is not clear which belong together")
    if folders:
        seen.append(f"there is text in {', '.join(folders)}, which is not looked into")
    hint = (
        "name the files: nmt init --train SOURCE TARGET (line N of one is the translation of "
        "line N of the other)"
    )
    if folders and not files:
        hint = (
            f"look in there: {shlex.join(['nmt', 'init', '--data-dir', str(folder / folders[0])])}"
        )
    else:
        hint = _HINTS.get(task or TRANSLATION, hint)
    return DataError("; ".join([f"{folder}: {wanted}", *seen]), hint=hint)


def _told(files: list[str], what: str) -> list[str]:
    return [f"{', '.join(files)} {'are' if files[1:] else 'is'} {what}"] if files else []
