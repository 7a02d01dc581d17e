"""Lines in, lines out: what the commands that work on every line of an input share.

An output line is plain text, the n best with scores, labels with probabilities, or JSON.
"""

import contextlib
import functools
import itertools
import os
import stat
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import typer

from nmt_cli.encoding import check_encoding
from nmt_cli.errors import ConfigError, DataError, did_you_mean
from nmt_cli.terminal import console

if TYPE_CHECKING:
    from nmt_cli.api.model import Model
    from nmt_cli.distributed.parts import Part
    from nmt_cli.search.labeller import Labelled
    from nmt_cli.search.translator import PairScore, TextHypothesis, Translation
    from nmt_cli.text.labels import Labels


_WINDOW_LINES = 512  # of a file, translated together
_MENDS: dict[str, Callable[[bytes], str] | None] = {
    "stop": None,
    "replace": lambda raw: raw.decode("utf-8", errors="replace"),
    "skip-as-blank": lambda raw: "",
}


def mend_of(on_error: str) -> Callable[[bytes], str] | None:
    """Return what makes text of a line that is not UTF-8; None stops there."""
    if on_error not in _MENDS:
        hint = did_you_mean(on_error, _MENDS)
        raise ConfigError(f"--on-error must be {', '.join(_MENDS)} (it is {on_error}).{hint}")
    return _MENDS[on_error]


def checked_encoding(name: str) -> str:
    """Return the value of `--encoding`; ConfigError when it is none."""
    try:
        check_encoding(name)
    except ValueError as error:
        raise ConfigError(f"--encoding: {error}") from error
    return name


def check_attention(text: list[str] | None, output: str) -> None:
    """Raise ConfigError unless `--attention` has a text to draw, and a file to draw it to."""
    console.check_output(output)
    if text is None or len(text) != 1 or not text[0].strip():
        raise ConfigError("--attention draws one text: give it as the argument")


def show_attention(model: "Model", ids: tuple[list[int], list[int]], output: str) -> None:
    """Draw what every head looked at when a model made target ids of source ids."""
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.attended import attended_ids

    attended = attended_ids(model.bundle, model.vocabularies, ids, model.engine)
    console.show(attention_of(attended), output)


def show_label_attention(model: "Model", labelled: "Labelled", output: str) -> None:
    """Draw what every head of a classifier looked at."""
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.attended import attended_labels

    attended = attended_labels(model.bundle, model.labeller, labelled)
    console.show(attention_of(attended), output)


def input_windows(
    text: list[str] | None,
    input_file: str | None,
    mend: Callable[[bytes], str] | None,
    encoding: str,
    column: str | None = None,
    part: "Part | None" = None,
) -> Iterable[list[str]]:
    """Return the input lines, in windows: of a file as full as may be, of a pipe as they come.

    They are the texts that were given as arguments, else those of a file, of the files that match a
    pattern, or `-` or None for standard input, with `mend` as `mend_of` returns it; of a table, one
    column. A `part` has only some of them.
    """
    from nmt_cli.search.translator import arriving_windows, full_windows

    if part is not None:
        return full_windows(part.begin(), _WINDOW_LINES)
    if text and column is None:
        return full_windows(map(_one_line, text))
    lines = input_lines(input_file, mend, encoding, column)
    is_whole = input_file not in (None, "-") or stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode)
    return full_windows(lines, _WINDOW_LINES) if is_whole else arriving_windows(lines)


def input_lines(
    input_file: str | None,
    mend: Callable[[bytes], str] | None,
    encoding: str,
    column: str | None = None,
) -> Iterator[str]:
    """Return the lines of the input; see `input_windows`."""
    from nmt_cli.distributed.parts import input_files
    from nmt_cli.files import read_lines

    checked_encoding(encoding)
    files = input_files(input_file or "-")
    if column is not None:
        read_one = functools.partial(_column_lines, column=column, encoding=encoding)
    else:
        read_one = functools.partial(read_lines, mend=mend, encoding=encoding)
    return itertools.chain.from_iterable(map(read_one, files))


def part_of(
    shard: str,
    files: tuple[str | None, str | None],
    model: "Model",
    options: Mapping[str, Any],
    read: Callable[[], Iterable[Any]],
) -> "Part":
    """Return the part of the output that `--shard` asks for.

    Args:
        shard: See `share_of`.
        files: The input and the output.
        model: What makes the output.
        options: All that the output depends on beside model, engine and input, as JSON.
        read: See `Part`.

    Raises:
        typer.Exit: It is there already, and of the same input and options.
    """
    from nmt_cli.distributed.parts import Part, share_of

    if not {None, "-"}.isdisjoint(files):
        raise ConfigError("--shard needs --input and --output with files")
    own_format = model.bundle.manifest.ctranslate2.get("auto")  # may be another one tomorrow
    engine = [model.options.engine, model.options.number_format or own_format]
    made_with = {"model": model.bundle.identity, "engine": engine, "options": options}
    part = Part(share_of(shard), Path(str(files[1])), made_with, read)
    if part.is_made:
        console.note(f"{part.path} is there already")
        raise typer.Exit
    return part


def is_table(file: str) -> bool:
    """Return whether a file's name says that its lines have columns."""
    return file.removesuffix(".gz").endswith((".tsv", ".csv"))


def pair_columns(columns: str | None, file: str | None, reference: str | None) -> list[str]:
    """Return the columns of source and reference that `--column` names, or none.

    ConfigError: they are not those of a table, or the reference is given twice.
    """
    if columns is None:
        return []
    _check_table(file)
    if reference is not None:
        raise ConfigError("--column names the reference, too: leave --reference out")
    names = columns.split(",")
    if len(names) < 2:
        raise ConfigError(f"--column {columns}: name source and reference, as in --column en,de")
    return names


def _check_table(file: str | None) -> None:
    if file is None or not is_table(file):
        raise ConfigError("--column needs --input with a .tsv or .csv file")


def _column_lines(file: str, column: str, encoding: str) -> Iterator[str]:
    from nmt_cli.text.corpus import column_texts

    _check_table(file)
    texts = column_texts(Path(file), [column], encoding)
    return (" ".join(text.splitlines()) for (text,) in texts)


def _one_line(argument: str) -> str:
    try:
        argument.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ConfigError("TEXT is not valid UTF-8") from error
    return " ".join(argument.splitlines()) if "\n" in argument else argument


@contextlib.contextmanager
def output_stream(path: str | None) -> Iterator[IO[str]]:
    """Give a file that is there whole at the end, or stdout for None and -."""
    from nmt_cli.files import atomic_text, os_errors_as

    if path is None or path == "-":
        yield sys.stdout
        return
    with os_errors_as(DataError, f"{path}: cannot be written"), atomic_text(Path(path)) as stream:
        yield stream


@contextlib.contextmanager
def file_progress(
    what: str, input_file: str | None, output_file: str | None
) -> Iterator[Callable[[str], None]]:
    """Show lines, rate and time left while a file is written; results on a terminal show enough.

    The size of the input file is the whole. Yields what to call with each of its lines when it is
    done.
    """
    if output_file is None:
        yield lambda _: None
        return
    started, lines, facts = time.monotonic(), 0, "{task.fields[facts]}"
    with console.live_progress(what, facts, total=_size(input_file), facts="") as update:

        def advance(line: str) -> None:
            nonlocal lines
            lines += 1
            rate = lines / (time.monotonic() - started)
            num_bytes = len(line.encode()) + 1
            update(advance=num_bytes, facts=f"{lines:,} lines {rate:,.0f} lines/s")

        yield advance


@dataclass(frozen=True)
class ScoreLines:
    """Makes output lines of scores; with `json`, objects with the tokens' log-probabilities."""

    json: bool

    def of(self, found: "PairScore") -> str:
        """Return the line of a pair."""
        import json

        if not self.json:
            return f"{found.score:.4f}\n"
        record = {"score": found.score, "tokens": found.tokens, "log_probs": found.log_probs}
        return json.dumps(record, ensure_ascii=False) + "\n"


def _size(input_file: str | None) -> int | None:
    """Return the bytes to be read, or None where they cannot be known."""
    if input_file in (None, "-") or str(input_file).endswith(".gz"):
        return None
    path = Path(str(input_file))
    return path.stat().st_size if path.is_file() else None


@dataclass(frozen=True)
class LabelLines:
    """Makes output lines of labels."""

    labels: "Labels"  # of the model
    top: int | None = None  # so many of the likeliest; None is those that the text got
    proba: bool = False  # each has its probability beside it
    json: bool = False  # one JSON object a line

    def of(self, found: "Labelled") -> str:
        """Return the line for a text, with its line feed."""
        if self.json:
            return self._json(found)
        names = found.labels if self.top is None else list(found.probabilities)[: self.top]
        if self.proba:
            return "\t".join(f"{name}\t{found.probabilities[name]:.4f}" for name in names) + "\n"
        if self.top is not None:
            return "\t".join(names) + "\n"
        return (self.labels.separator or "").join(names) + "\n"

    def _json(self, found: "Labelled") -> str:
        import json

        likeliest = dict(list(found.probabilities.items())[: self.top])
        record = {"source": found.source, "labels": found.labels, "probabilities": likeliest}
        return json.dumps(record, ensure_ascii=False) + "\n"


@dataclass(frozen=True)
class TranslationLines:
    """Makes output lines of translations."""

    model: "Model"  # gives attention and the tokens' scores when these are wanted
    json: bool  # one JSON object a line
    n_best: bool  # all hypotheses with rank and score
    align: bool  # word pairs, and with `json` the attention between tokens
    scores: bool  # each token's log-probability, with `json`

    def of(self, translation: "Translation") -> str:
        """Return the output of one input line."""
        import json

        if self.json:
            found = [self._record(hypothesis) for hypothesis in translation.hypotheses]
            record = {"source": translation.source, "hypotheses": found}
            return json.dumps(record, ensure_ascii=False) + "\n"
        if self.n_best:
            rows = enumerate(translation.hypotheses, start=1)
            return "".join(f"{i}\t{h.score:.4f}\t{self._plain(h)}\n" for i, h in rows)
        return self._plain(translation.hypotheses[0]) + "\n"

    def _plain(self, hypothesis: "TextHypothesis") -> str:
        if not self.align:
            return hypothesis.text
        pairs, _ = self._alignment(hypothesis)
        return f"{hypothesis.text}\t{' '.join(f'{s}-{t}' for s, t in pairs)}"

    def _record(self, hypothesis: "TextHypothesis") -> dict[str, Any]:
        record: dict[str, Any] = {
            "text": hypothesis.text,
            "score": hypothesis.score,
            "tokens": hypothesis.tokens,
        }
        sides = list(zip(*((p.source, p.target) for p in hypothesis.parts), strict=True))
        if self.scores:
            found = self.model.engine.score(*sides) if sides else []
            record["token_scores"] = [score for row in found for score in row]
        if self.align:
            pairs, maps = self._alignment(hypothesis)
            record["alignment"] = pairs
            record["attention"] = maps
        return record

    def _alignment(
        self, hypothesis: "TextHypothesis"
    ) -> tuple[list[tuple[int, int]], list[dict[str, Any]]]:
        """Return word pairs over the whole line, and for each part its tokens and attention."""
        from nmt_cli.search.alignment import word_attention, word_pairs, words_of

        pairs, maps = [], []
        words_before = [0, 0]
        for part in hypothesis.parts:
            (attention,) = self.model.engine.attention([part.source], [part.target])
            source = self.model.vocabularies.source.tokens(part.source)
            target = self.model.vocabularies.target.tokens(part.target)
            tags = self.model.vocabularies.languages.tokens
            words = words_of(source, tags), words_of(target, tags)
            for s, t in word_pairs(word_attention(attention, *words)):
                pairs.append((s + words_before[0], t + words_before[1]))
            words_before[0] += len(words[0])
            words_before[1] += len(words[1])
            maps.append({"source": source, "target": target, "weights": attention})
        return pairs, maps


def write(
    what: str,
    found: Iterable[Any],
    lines: "LabelLines | TranslationLines | ScoreLines",
    input_file: str | None,
    output_file: str | None,
    part: "Part | None" = None,
) -> Any:
    """Write the line of each output as it comes; return the last output, None if there is none.

    With a part, that is what is written.
    """
    last = None
    output_file = output_file if part is None else str(part.path)
    progress = file_progress(what, input_file, output_file)
    with output_stream(output_file) as stream, progress as advance:
        for last in found:
            stream.write(lines.of(last))
            if stream is sys.stdout:
                stream.flush()
            advance(last.source)
    if part is not None:
        part.finish()
    return last
