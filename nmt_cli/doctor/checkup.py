"""A check-up from beginning to end: sample, profile, tests of all rows, repeats, vocabulary."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path

import numpy as np

from nmt_cli.config.auto import Situation, choose, vocab_size
from nmt_cli.config.reading import LoadedConfig, with_values
from nmt_cli.config.schema import Config
from nmt_cli.config.tasks import TaskFacts
from nmt_cli.doctor import repeats
from nmt_cli.doctor.chunk import Chunk
from nmt_cli.doctor.findings import Finding
from nmt_cli.doctor.label_balance import Counts, counted, label_findings
from nmt_cli.doctor.languages import language_findings
from nmt_cli.doctor.lengths import LengthModel, shift_of
from nmt_cli.doctor.lines import Profile, Rows, build_profile, build_tests
from nmt_cli.doctor.result import CorpusRows, Report, in_order, size_findings
from nmt_cli.doctor.token_counts import TokenCounter, study_tokens
from nmt_cli.encoding import AUTO, UTF8, find_encoding
from nmt_cli.errors import DataError, LineError, in_one_line
from nmt_cli.files import conversion
from nmt_cli.text.corpus import Corpora, Example, LineCountError, Row, sample_evenly, texts
from nmt_cli.text.held_out import held_out_rows
from nmt_cli.text.labels import find_labels
from nmt_cli.text.languages import Way
from nmt_cli.text.parallel import map_in_order
from nmt_cli.text.records import has_broken_bytes
from nmt_cli.text.statistics import count_tokens, describe_text
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

SPLITS = ("train", "dev", "test")
_CHUNK = 10_000
_VOCAB_SIZE, _LABELS = "tokenizer.vocab_size", "classification.labels"
_NEEDED = ("model.max_length", "train.tokens_per_batch")  # to tell what is too long, and padding

Progress = Callable[[str, int], None]


def check_up(
    loaded: LoadedConfig, vocabularies: Vocabularies | None, *, on_progress: Progress
) -> Report:
    """Return all that is wrong with the text of a configuration.

    Where its run has no vocabularies yet, a sample stands in. `on_progress` is called with what is
    being done and the rows that it is done for.
    """
    corpora = Corpora(loaded.config, loaded.data_dir)
    found, findings = _open(loaded.config, corpora)
    sample, pairs = _sample(corpora, [c for c in found if c.split == "train"], on_progress)
    if sample:
        profiles, of_languages = _profiles(corpora, found, sample, on_progress)
        findings += of_languages
        config, vocabularies, learned = _vocabulary(loaded, vocabularies, sample, pairs)
        infos, counter = study_tokens(sample, vocabularies, config, learned=learned)
        findings += infos
        labels: Counts = {}
        _test(corpora, found, profiles, counter, on_progress, labels)
        if config.facts.has_labels:
            in_train = sum(len(c) for c in found if c.split == "train")
            findings += label_findings(labels, in_train, loaded.config.classification)
        findings += _repeat_findings(found, config.facts)
    else:
        for rows in _chunks(corpora, found):  # which also notes what is no row
            findings += _undecoded(rows)
    findings += (finding for corpus in found for finding in corpus.findings())
    findings += size_findings(found, held_out_rows(loaded.config))
    if corpora.encoding not in (UTF8, AUTO):
        why = f"not valid {corpora.encoding.upper()}"
        findings = [f._replace(message=why) if f.check == "encoding" else f for f in findings]
    broken = {f.file for f in findings if f.check in ("encoding", "files")}
    strange = _other_encodings(corpora, found, broken)
    # Rows, columns and numbers of lines are not what they seem in a wrong encoding, and lines that
    # do not decode are most of them.
    told = [f for f in findings if f.file not in strange]
    return Report(found, in_order([*strange.values(), *told]))


def _open(config: Config, corpora: Corpora) -> tuple[list[CorpusRows], list[Finding]]:
    """Return the corpora whose files are there, and an error for each file that is not."""
    found: list[CorpusRows] = []
    absent = [file for file in (corpora.glossary,) if file and not file.is_file()]
    for split in SPLITS:
        for corpus in getattr(config.data, split):
            files = corpora.files_of(corpus)
            lacking = [file for file in files if not file.is_file()]
            absent += lacking
            if files and not lacking:
                is_dialogue = corpora.is_dialogue(corpus)
                found.append(CorpusRows(split, corpus, files, is_dialogue))
    missing = (Finding("files", "error", "no such file", file) for file in dict.fromkeys(absent))
    return found, list(missing)


def _sample(
    corpora: Corpora, read: list[CorpusRows], on_progress: Progress
) -> tuple[list[Example], int]:
    """Return pairs that lie evenly over all of some corpora, and how many there are."""
    may_lack_target = corpora.may_lack_target

    def readable(corpus: CorpusRows) -> Iterator[Example]:
        try:
            for row in corpora.iter_rows(corpus.config, lambda _: None):
                example = row.example
                if example.is_whole(may_lack_target=may_lack_target):
                    yield example
        except DataError:
            return  # told when all rows are read

    def counted() -> Iterator[Example]:
        examples = (example for corpus in read for example in readable(corpus))
        for number, example in enumerate(examples):
            if number % _CHUNK == 0:
                on_progress("reading", number)
            yield example

    sample, pairs = sample_evenly(counted())
    return [e for e in sample if not has_broken_bytes("".join((*e.source, e.target)))], pairs


def _profiles(
    corpora: Corpora, found: list[CorpusRows], sample: list[Example], on_progress: Progress
) -> tuple[list[Profile], list[Finding]]:
    """Return the profile that each corpus is tested by, and what is wrong with the named languages.

    Corpora of the same languages have one, learned from a sample of their training text, or of
    their dev or test text where they have no other. `sample` is one of all training text.
    """
    config = corpora.config
    ways = [config.data.way_of(corpus.config) for corpus in found]
    profiles: dict[Way, Profile] = {}
    findings: list[Finding] = []
    for way in dict.fromkeys(ways):
        examples = sample
        if len(set(ways)) > 1:
            own = [corpus for corpus, other in zip(found, ways, strict=True) if other == way]
            read = [corpus for corpus in own if corpus.split == "train"] or own
            examples = _sample(corpora, read, on_progress)[0] or sample
        chunk = Chunk([e.source[-1] for e in examples], [e.target for e in examples])
        languages = (way[0], "") if config.facts.has_labels else way
        profiles[way] = build_profile(chunk, languages, config)
        findings += language_findings(chunk, languages)
    return [profiles[way] for way in ways], findings


def _vocabulary(
    loaded: LoadedConfig, known: Vocabularies | None, sample: list[Example], pairs: int
) -> tuple[Config, Vocabularies, bool]:
    """Return the configuration without `auto`, vocabularies, and whether these were learned now."""
    config, text = _with_labels(loaded.config, sample), describe_text(sample, pairs)
    if _VOCAB_SIZE in loaded.auto:
        size = vocab_size(text, joint=config.tokenizer.joint).value
        config = with_values(config, {_VOCAB_SIZE: size}, _VOCAB_SIZE)
    if auto := loaded.auto & set(_NEEDED):
        tokens = count_tokens(sample, config, [])
        config, _ = choose(config, auto, Situation(text, tokens, "cpu"))
    if known is not None:
        return config, known, False
    sides = ("joint",) if config.tokenizer.joint else ("source", "target")
    found = [Subwords.train(list(texts(sample, side)), config.tokenizer) for side in sides]
    return config, Vocabularies(found[0], found[-1]), True


def _with_labels(config: Config, sample: list[Example]) -> Config:
    """Return the configuration with the labels in its text, if it has none of its own."""
    if not config.facts.has_labels or config.classification.labels is not None:
        return config
    with suppress(DataError):  # told with the counts of all labels
        names = find_labels((example.target for example in sample), config)
        return with_values(config, {_LABELS: names}, _LABELS)
    return config


def _test(
    corpora: Corpora,
    found: list[CorpusRows],
    profiles: list[Profile],
    counter: TokenCounter,
    on_progress: Progress,
    labels: Counts,
) -> None:
    """Run the tests of rows on all corpora; count the labels of a classifier."""
    done, config = 0, corpora.config
    chunks = _chunks(corpora, found)
    if config.facts.has_labels:
        chunks = counted(chunks, labels, found, config.classification.label_separator)
    for tested in map_in_order(build_tests, (profiles, counter), chunks):
        found[tested.corpus].add(tested)
        done += len(tested.rows)
        on_progress("checking", done)
    for corpus, profile in zip(found, profiles, strict=True):
        corpus.close()
        _find_shift(corpora, corpus, profile.lengths)


def _other_encodings(
    corpora: Corpora, found: list[CorpusRows], broken: set[Path | None]
) -> dict[Path, Finding]:
    """Return what to say of each file that is in another encoding than it is read in.

    `broken` are the files that do not decode, or have lines that do not.
    """
    strange: dict[Path, Finding] = {}
    read_as = UTF8 if corpora.encoding == AUTO else corpora.encoding
    files = dict.fromkeys(file for corpus in found for file in corpus.files)
    encodings = {file: encoding for file in files if (encoding := find_encoding(file))}
    differ = len({encoding.encoding for encoding in encodings.values()}) > 1
    for file, encoding in encodings.items():
        is_read = corpora.encoding == AUTO and encoding.is_certain
        is_other = encoding.encoding != read_as and (read_as == UTF8 or file in broken)
        if is_other and not is_read:
            name = AUTO if differ and encoding.is_certain else encoding.encoding
            command = conversion(encoding, file) if encoding.encoding != UTF8 else ""
            mend = f"set data.encoding: {name}{', or ' if command else ''}{command}"
            message = f"{encoding}, not {read_as.upper()}: {mend}"
            strange[file] = Finding("files", "error", message, file, command=command)
    return strange


def _chunks(corpora: Corpora, found: list[CorpusRows]) -> Iterator[Rows]:
    """Yield the rows of all corpora; note the lines that are none."""
    # The last turn of a conversation; both texts of a pair to classify.
    first = 0 if corpora.config.facts.has_labels else -1
    for number, corpus in enumerate(found):
        rows = _until_error(corpora.iter_rows(corpus.config, corpus.note_broken), corpus)
        while chunk := list(islice(rows, _CHUNK)):
            yield Rows(
                number,
                (corpus.files[0], corpus.files[-1]),
                [row.line for row in chunk],
                [" ".join(row.example.source[first:]) for row in chunk],
                [row.example.target for row in chunk],
            )


def _undecoded(rows: Rows) -> Iterator[Finding]:
    """Yield an error for each line that is not in the encoding of its file."""
    for line, *sides in zip(rows.lines, rows.sources, rows.targets, strict=True):
        for file, text in zip(rows.files, sides, strict=True):
            if has_broken_bytes(text):
                yield Finding("encoding", "error", "not valid UTF-8", file, line)
                break


def _until_error(rows: Iterable[Row], corpus: CorpusRows) -> Iterator[Row]:
    try:
        yield from rows
    except LineCountError as error:
        corpus.broken.append(Finding("line-counts", "error", str(error), error.files[0]))
    except LineError as error:
        message = in_one_line(error.problem, error.hint)
        corpus.broken.append(Finding("files", "error", message, error.file, error.line))
    except DataError as error:
        message = in_one_line(str(error), error.hint)
        message = message.removeprefix(f"{corpus.files[0]}: ")
        corpus.broken.append(Finding("files", "error", message, corpus.files[0]))


def _find_shift(corpora: Corpora, corpus: CorpusRows, model: LengthModel | None) -> None:
    """Say where two files of different length get out of step, and which one lacks lines."""
    counts = [f for f in corpus.broken if f.check == "line-counts"]
    if not counts or model is None:
        return
    source, target = (
        np.array([len("".join(line.split())) for line in corpora.read_with_bytes(file)])
        for file in corpus.files
    )
    corpus.shift = shift_of(source, target, model)
    corpus.broken.remove(counts[0])
    if corpus.shift is None:
        where = "where they get out of step is not known: all lines fit alike by their lengths"
        message = f"{counts[0].message}; {where}"
        corpus.broken.append(counts[0]._replace(message=message))
        return
    lacking = corpus.files[int(len(target) < len(source))].name
    gap = abs(len(source) - len(target))
    if corpus.shift == 1:
        where = "its beginning: the ends fit together"
    elif corpus.shift > min(len(source), len(target)):
        where = "its end: the beginnings fit together"
    else:
        where = f"about line {corpus.shift}, where they get out of step"
    missing = f"{gap:,} {'line is' if gap == 1 else 'lines are'} missing from {lacking}"
    message = f"{counts[0].message}; probably {missing} at {where}"
    corpus.broken.append(counts[0]._replace(message=message, line=corpus.shift))


def _repeat_findings(found: list[CorpusRows], facts: TaskFacts) -> Iterator[Finding]:
    splits = {
        name: repeats.SplitRows(name, [c for c in found if c.split == name]) for name in SPLITS
    }
    for split in splits.values():
        repeats.note_duplicates(split)
    for name, held_out in (("train", "dev"), ("train", "test"), ("dev", "test")):
        yield from repeats.note_leakage(splits[name], splits[held_out], pairs=not facts.is_parallel)
    if facts.has_labels:
        yield from repeats.contradiction_findings(splits["train"])
    else:
        yield from repeats.stock_findings(splits["train"])
