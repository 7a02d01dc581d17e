"""Ten million pairs: encoding, memory, start and batches.

    python tests/benchmarks/large_corpus.py FOLDER [PAIRS [KEY=VALUE]...]

Writes PAIRS (default 10,000,000) made-up pairs and their configuration into FOLDER, unless they are
there, and prepares a run in it. Prints JSON, a line for each stage:

- `vocabulary`: trained on a small sample, for the next stages only;
- `encoding`: pairs a second from text files to shards, by `nmt_cli.training.run.prepare`, beside a
  bare `encode_batch` of `tokenizers` over the first lines of the same files in memory, 10,000 at a
  time, the better of before and after; where others use the machine, processor seconds say more;
- `start`: from starting Python to the first batch of training when vocabulary and shards exist;
- `batches`: pairs a second that a process bound to one core makes into padded batches, and the
  share of padding.

`peak_mb` is the most memory that all processes of a stage held together, mapped pages included.
"""

import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

from nmt_cli.config.reading import LoadedConfig, load_config
from nmt_cli.files import read_lines

BLOCK = 100_000  # lines written at a time
CHUNK = 10_000  # lines in a call of the bare tokenizer
BARE_LINES = 100_000  # of each side
VOCABULARY_PAIRS = 100_000
WORDS = 200_000
SECONDS = 20.0  # how long batches are made
CONFIG = """\
name: large
data:
  source_lang: xx
  target_lang: yy
  train: [{source: train.xx, target: train.yy}]
  dev: [{source: dev.xx, target: dev.yy}]
tokenizer: {vocab_size: 32000}
train: {tokens_per_batch: 25000}
"""


class Words:
    """A made-up language: words with Zipf's frequencies, as bytes with what follows them."""

    def __init__(self, random: np.random.Generator, consonants: str) -> None:
        syllables = [a + b + c for a in consonants for b in "aeiou" for c in ("", "n", "r", "s")]
        lengths = (
            1 + (np.arange(WORDS) > 300) + (np.arange(WORDS) > 9000) * random.integers(1, 3, WORDS)
        )
        words = [
            "".join(syllables[i] for i in random.integers(len(syllables), size=n)) for n in lengths
        ]
        written = [w + end for end in (" ", ", ", ".\n") for w in words]
        self._bytes = np.frombuffer("".join(written).encode(), np.uint8)
        self._offsets = np.cumsum([0, *map(len, written)])
        self._cumulative = np.cumsum(1 / np.arange(1, WORDS + 1) ** 1.05)
        self._random = random

    def lines(self, lengths: np.ndarray) -> bytes:
        """Return lines of these numbers of words."""
        ends = np.cumsum(lengths) - 1
        draws = self._random.random(lengths.sum()) * self._cumulative[-1]
        words = np.minimum(np.searchsorted(self._cumulative, draws), WORDS - 1)
        words += WORDS * (self._random.random(len(words)) < 0.07)  # a comma
        words[ends] = words[ends] % WORDS + 2 * WORDS  # a full stop
        starts, sizes = self._offsets[words], np.diff(self._offsets)[words]
        before = np.cumsum(sizes) - sizes
        return self._bytes[np.arange(sizes.sum()) + np.repeat(starts - before, sizes)].tobytes()


def write_corpus(folder: Path, pairs: int) -> None:
    """Write train and dev: lines of 5 to 40 words, about 16, both sides of similar length."""
    random = np.random.default_rng(1)
    languages = {"xx": Words(random, "bdfgklmnprst"), "yy": Words(random, "bcdfghjlmrtvwz")}
    for split, count in (("dev", 500), ("train", pairs)):
        streams = {name: (folder / f"{split}.{name}").open("wb") for name in languages}
        for first in range(0, count, BLOCK):
            source = random.gamma(4.0, 4.0, min(BLOCK, count - first))
            for name, stream in streams.items():
                target = source * random.normal(1.0, 0.1, len(source))
                stream.write(languages[name].lines(np.clip(target, 5, 40).astype(int)))
        for stream in streams.values():
            stream.close()
    (folder / "large.yaml").write_text(CONFIG)


def vocabulary(loaded: LoadedConfig) -> dict[str, object]:
    """Train it on a small sample, as `prepare` would on a larger one."""
    from nmt_cli.text import vocabulary_cache
    from nmt_cli.text.corpus import Corpora
    from nmt_cli.training.run_folder import RunFolder

    vocabulary_cache._SAMPLE = VOCABULARY_PAIRS
    corpora = Corpora(loaded.config, loaded.data_dir)
    vocabulary_cache.load_or_train(loaded.config, corpora, RunFolder.of(loaded.config).path)
    return {}


def encoding(loaded: LoadedConfig) -> dict[str, object]:
    """Encode everything, and some of it with nothing but `tokenizers`."""
    from nmt_cli.training.run import prepare
    from nmt_cli.training.run_folder import RunFolder

    run = RunFolder.of(loaded.config)
    shutil.rmtree(run.shards, ignore_errors=True)
    bare = [_encode_bare(run.path / "tokenizer.json", loaded.data_dir)]
    started, before = time.perf_counter(), _processor_s()
    prepared = prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)
    ours = time.perf_counter() - started, _processor_s() - before
    bare.append(_encode_bare(run.path / "tokenizer.json", loaded.data_dir))
    rates = [round(len(prepared.train) / seconds) for seconds in ours]
    bare_rates = [round(BARE_LINES / min(seconds)) for seconds in zip(*bare, strict=True)]
    return {
        "pairs": len(prepared.train),
        "pairs_per_second": rates[0],
        "bare_pairs_per_second": bare_rates[0],
        "ratio": round(rates[0] / bare_rates[0], 2),
        "pairs_per_processor_second": rates[1],
        "bare_pairs_per_processor_second": bare_rates[1],
    }


def _encode_bare(path: Path, folder: Path) -> tuple[float, float]:
    """Return seconds and processor seconds."""
    tokenizer = Tokenizer.from_file(str(path))
    sides = [
        list(itertools.islice(read_lines(folder / f"train.{name}"), BARE_LINES))
        for name in ("xx", "yy")
    ]
    started, before = time.perf_counter(), _processor_s()
    for lines in sides:
        for first in range(0, len(lines), CHUNK):
            tokenizer.encode_batch(lines[first : first + CHUNK])
    return time.perf_counter() - started, _processor_s() - before


def _processor_s() -> float:
    """Return the processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def start(loaded: LoadedConfig) -> dict[str, object]:
    """Do what `nmt train` does until the first batch."""
    from nmt_cli.training.run import prepare

    prepared = prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow

    quiet_tensorflow()
    from nmt_cli.training import loop

    steps, first = loop.iter_steps, []

    def iter_steps(*arguments: Any) -> Iterator[Any]:
        for step in steps(*arguments):
            first.append(step)
            os._exit(0)  # the time until here is what counts
            yield step

    loop.iter_steps = iter_steps
    for _ in loop.train(prepared):
        pass
    raise AssertionError(first)


def batches(loaded: LoadedConfig) -> dict[str, object]:
    """Make batches for some time, from warm shards."""
    from nmt_cli.training.dataset import Cursor, iter_steps
    from nmt_cli.training.run import prepare

    prepared = prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)
    steps = iter_steps(prepared.train, loaded.config, Cursor())
    next(steps)
    pairs = padding = positions = 0
    started, before = time.perf_counter(), time.process_time()
    while time.perf_counter() < started + SECONDS:
        for batch in next(steps).micro_batches:
            pairs += len(batch.target)
            padding += batch.num_padding
            positions += batch.num_positions
    seconds, busy = time.perf_counter() - started, time.process_time() - before
    return {
        "pairs": pairs,
        "pairs_per_second": round(pairs / seconds),
        "pairs_per_processor_second": round(pairs / busy),
        "padding": round(padding / positions, 4),
    }


STAGES = {function.__name__: function for function in (vocabulary, encoding, start, batches)}


def main() -> None:
    """Measure each stage in a process of its own."""
    if sys.argv[1] in STAGES:
        print(json.dumps(STAGES[sys.argv[1]](load_config("large.yaml", sys.argv[2:]))))
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    pairs = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000_000
    if not (folder / "large.yaml").exists():
        write_corpus(folder, pairs)
    for name in STAGES:
        seconds, peak, result = _run(name, folder, sys.argv[3:])
        result = {"stage": name, "seconds": round(seconds, 1), "peak_mb": peak, **result}
        print(json.dumps(result), flush=True)


def _run(stage: str, folder: Path, overrides: list[str]) -> tuple[float, int, dict[str, object]]:
    """Run a stage of this script; return seconds, peak memory in MB, and what it printed."""
    command = [sys.executable, str(Path(__file__).resolve()), stage, *overrides]
    if stage == "batches":
        command = ["taskset", "-c", "0", *command]
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _resident_mb(process.pid))
        time.sleep(0.02)
    assert process.returncode == 0
    assert process.stdout is not None
    return time.perf_counter() - started, peak, json.loads(process.stdout.read() or "{}")


def _resident_mb(root: int) -> int:
    """Return the resident memory of a process and all its descendants."""
    total, waiting = 0, [root]
    while waiting:
        number = waiting.pop()
        try:
            pages = Path(f"/proc/{number}/statm").read_text().split()[1]
            for task in Path(f"/proc/{number}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
        except (FileNotFoundError, ProcessLookupError):
            continue
        total += int(pages) * os.sysconf("SC_PAGE_SIZE")
    return total >> 20


if __name__ == "__main__":
    main()
