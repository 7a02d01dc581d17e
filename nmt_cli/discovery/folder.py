"""A folder that nobody prepared -> its corpora: which files, which columns, which split, which way.

Names are gone by first (`train.ko.gz`, `en.txt`, `questions.txt`, a table's heading), the content
where they say nothing. `nmt init` writes down what is found here; nothing is changed or copied.
"""

import collections
import gzip
import re
import shlex
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from nmt_cli.config.tasks import TRANSLATION, TaskFacts
from nmt_cli.discovery import names
from nmt_cli.discovery.pair_files import named_pairs, only_pair
from nmt_cli.discovery.sides import Corpus, read_leniently
from nmt_cli.discovery.tables import is_table, tables, text_dialogues
from nmt_cli.encoding import WIDE, encoding_of
from nmt_cli.errors import DataError, LineError
from nmt_cli.files import refuse_spreadsheet
from nmt_cli.text.records import JSON_LINES, json_records, suffix_of, table_rows

_NO_CORPUS = re.compile(
    r"(readme|licen[cs]e|copying|changelog|notice|vocab|dict|requirements)", re.IGNORECASE
)
_NO_CORPUS_SUFFIX = re.compile(
    r"\.(md|rst|html|xml|pdf|ya?ml|toml|py|sh|zip|tar|tgz|xz|bz2|png|jpg|log|lock|sha256|md5)$",
    re.IGNORECASE,
)
_SPLITS = ("train", "dev", "test")
_ANY_TEXT = "parallel text, table or dialogues"
_OTHER_SIDE = ("source", "source_lang", "target_lang", "target")


class Found(NamedTuple):
    """The corpora of a folder."""

    task: TaskFacts  # what it is for
    languages: tuple[str, str]  # codes of source and target; "" where unknown
    # split -> entries as `data` of the configuration has them
    corpora: dict[str, list[dict[str, Any]]]
    labels: tuple[str, ...]  # of classification, sorted
    unused: list[str]  # what looks like text and is left out: files, and folders (they end in "/")
    reason: str  # why this side is the source
    doubt: str  # what was guessed and may be wrong; "" for nothing

    def reversed(self) -> "Found":
        """Return the same two texts with source and target swapped."""
        corpora = {split: list(map(_swapped, entries)) for split, entries in self.corpora.items()}
        return self._replace(languages=self.languages[::-1], corpora=corpora, reason="as asked")


def discover(folder: Path, task: TaskFacts | None = None, file: str | None = None) -> Found:
    """Return the corpora that lie in a folder (not in the folders in it).

    None finds out the task that they are for, and looks at all files, not at one of that name.
    DataError: there are none, or the names do not tell which files belong together.
    """
    if file is None:
        files = sorted(path.name for path in folder.iterdir() if _is_text(path))
    else:
        files = [file] if _has_text(folder / file) else []
    corpora = next(filter(None, _candidates(folder, files, task)), [])
    if not corpora and file is None:
        corpora = _of_folders(folder, task)
    if not corpora:
        raise _nothing(folder, files, task) if file is None else _not_in(folder / file, task)
    if all(corpus.split != "train" for corpus in corpora):
        corpora = [corpus._replace(split="train") for corpus in corpora]
    first = next(corpus for corpus in corpora if corpus.split == "train")
    has_labels = bool(first.labels)
    corpora = [corpus for corpus in corpora if bool(corpus.labels) is has_labels]
    used = {name for corpus in corpora for name in corpus.files}
    corpora, has_several = _with_languages(corpora)
    unused = [] if file else [name for name in files if name not in used]
    for inner in [] if file else _folders_with_text(folder):
        unused += [] if any(name.startswith(inner) for name in used) else [inner]
    return Found(
        first.task,
        ("", "") if has_several else first.languages,
        {s: [c.entry for c in corpora if c.split == s] for s in _SPLITS},
        tuple(sorted({label for c in corpora if c.split == "train" for label in c.labels})),
        unused,
        first.reason,
        "" if task else _doubt(first),
    )


def _swapped(entry: dict[str, Any]) -> dict[str, Any]:
    other = dict(zip(_OTHER_SIDE, reversed(_OTHER_SIDE), strict=True))
    swapped = {key: entry[other.get(key, key)] for key in entry}
    return swapped | ({"columns": entry["columns"][::-1]} if "file" in entry else {})


def _with_languages(corpora: list[Corpus]) -> tuple[list[Corpus], bool]:
    """Return the corpora, each with its languages where names tell that these differ."""
    ways = [tuple(names.language(side.marker) for side in corpus.sides) for corpus in corpora]
    if len(set(ways)) < 2 or not all(map(all, ways)) or not corpora[0].task.is_parallel:
        return corpora, False
    keys = ("source_lang", "target_lang")
    told = (dict(zip(keys, way, strict=True)) for way in ways)
    return [c._replace(entry=c.entry | of) for c, of in zip(corpora, told, strict=True)], True


def _of_folders(folder: Path, task: TaskFacts | None) -> list[Corpus]:
    """Return the pairs of files in the folders of a folder, if they are of several directions."""
    found: list[Corpus] = []
    for inner in _folders_with_text(folder):
        files = sorted(path.name for path in (folder / inner).iterdir() if _is_text(path))
        for corpus in named_pairs(folder / inner, files, task):
            entry = {side: f"{inner}{name}" for side, name in corpus.entry.items()}
            found.append(corpus._replace(entry=entry))
    return found if found and _with_languages(found)[1] else []


def _candidates(folder: Path, files: list[str], task: TaskFacts | None) -> Iterator[list[Corpus]]:
    """Yield what the files may be, the likeliest first."""
    plain = [name for name in files if not is_table(folder / name)]
    yield list(named_pairs(folder, plain, task))
    pair = only_pair(folder, plain, task)
    yield [pair] if pair else []
    found = tables(folder, [name for name in files if name not in plain], task)
    dialogues = [text_dialogues(folder / n) for n in plain if task is None or task.has_turns]
    yield found + [corpus for corpus in dialogues if corpus is not None]


def _is_text(path: Path) -> bool:
    """Return whether a file may be a corpus, from its name and its first bytes."""
    return _may_be_text(path) and _has_text(path)


def _has_text(path: Path) -> bool:
    head = _head(path)
    first_line = head.lstrip().partition(b"\n")[0].strip()
    if Path(path.name.removesuffix(".gz")).suffix.lower() == ".json":  # also of settings
        return first_line.startswith(b"[") or (first_line.startswith(b"{") and first_line != b"{")
    return bool(first_line) and not _is_binary(head)


def _is_binary(head: bytes) -> bool:
    """Return whether bytes have zeros, and are not UTF-16 or UTF-32 either."""
    found = encoding_of(head) if b"\0" in head else None
    return b"\0" in head and not (found and found.encoding.startswith(WIDE))


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
    sides = " and ".join(map(str, corpus.entry.get("columns", corpus.files)))
    stems = [token for name in corpus.files for token in names.tokens(name)]
    if any(map(names.is_label_value, stems)):
        mend = "if their names are labels, put them into one table: text<TAB>label"
    else:
        mend = "if not, say --task TASK or --train SOURCE TARGET"
    return (
        f"{sides}: taken as questions and answers, line by line, "
        f"as both are in {corpus.languages[0]!r}; {mend}"
    )


def _nothing(folder: Path, files: list[str], task: TaskFacts | None) -> DataError:
    """Return what to say of a folder without a corpus: what there is, and what to do."""
    heads = {path.name: _head(path) for path in sorted(folder.iterdir()) if _may_be_text(path)}
    folders = _folders_with_text(folder)
    for name in heads:
        refuse_spreadsheet(folder / name)
    seen = [
        *_told([name for name, head in heads.items() if not head.strip()], "empty"),
        *_told([name for name, head in heads.items() if _is_binary(head)], "no text"),
    ]
    wanted = f"no {task.text if task else _ANY_TEXT} found"
    if files and (task or not files[1:]):
        wanted += f" in {', '.join(files)}"
    elif files:
        seen.append(f"it is not clear which of {', '.join(files)} belong together")
    if len(files) == 1:
        seen = [*_fault(folder / files[0]), *seen]
    if folders:
        seen.append(f"there is text in {', '.join(folders)}, which nmt init does not search")
    hint = (task or TRANSLATION).text_hint
    if folders and not files:
        command = shlex.join(["nmt", "init", "--data-dir", str(folder / folders[0])])
        hint = f"search there: {command}"
    return DataError("; ".join([f"{folder}: {wanted}", *seen]), hint=hint)


def _not_in(path: Path, task: TaskFacts | None) -> DataError:
    """Return what to say of a file that was named, but has no corpus in it."""
    refuse_spreadsheet(path)
    told = [f"{path}: no {task.text if task else _ANY_TEXT} found", *_fault(path)]
    return DataError(": ".join(told), hint=(task or TRANSLATION).text_hint)


def _fault(path: Path) -> list[str]:
    """Return what is wrong with the first line of a file that is no row, if there is one."""
    problems: list[LineError] = []
    read_rows = json_records if suffix_of(path) == JSON_LINES else table_rows
    rows = read_rows(path, problems.append, read_leniently)
    collections.deque(rows, maxlen=0)
    return [str(problem) for problem in problems[:1]]


def _told(files: list[str], what: str) -> list[str]:
    return [f"{', '.join(files)} {'are' if files[1:] else 'is'} {what}"] if files else []
