"""The CTranslate2 engine: batches of source ids -> hypotheses, without TensorFlow.

CTranslate2 sorts the sources of one call by length, cuts them into batches and shares these out
among its workers, so a call should hold as many sources as there are.
"""

import collections
import contextlib
import functools
import itertools
import logging
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ctranslate2

from nmt_cli.errors import ModelFileError
from nmt_cli.resources import available_cores
from nmt_cli.search.engine import Found, Hypothesis, Rows, TokenStream
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.special_tokens import CONTROL_TOKENS, EOS_ID, never_written
from nmt_cli.text.template import turns_ago
from nmt_cli.text.vocabulary import Vocabularies

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_FEATURE_MARK = "\uffe8"
_TURNS = "source_2_vocabulary.json"  # a model with turn embeddings has it
BATCH_TOKENS = 1024
_POLL_SECONDS = 0.001


@dataclass(kw_only=True, eq=False)
class CTranslate2Engine:
    """Searches with CTranslate2.

    Raises:
        ModelFileError: The folder is damaged, or this machine cannot run its number format.
    """

    folder: Path = field(kw_only=False)  # what `ctranslate2_form.py` wrote
    vocabularies: Vocabularies = field(kw_only=False)
    max_length: int  # longest source and output in tokens, with `</s>`
    device: str = "cpu"  # or "cuda"
    threads: int = 0  # processor cores to use; 0 is all
    # Source tokens, padding counted, in one of CTranslate2's batches; None is what measured best
    # on processors: `BATCH_TOKENS`, and half of it with a beam.
    batch_tokens: int | None = None

    def __post_init__(self) -> None:
        self.threads = self.threads or available_cores()
        workers = f"{self.threads} worker{'s' if self.threads > 1 else ''} of one thread"
        self.description = f"CTranslate2 {self.folder.name}, {workers} on {self.device}"
        self._reads_turns = (self.folder / _TURNS).exists()
        self._sampler: tuple[int, Any] | None = None

    @functools.cached_property
    def _never_written(self) -> list[list[str]]:
        target = self.vocabularies.target
        return [[token] for token in target.tokens(never_written(len(target.tags)))]

    @functools.cached_property
    def _translator(self) -> Any:
        return self._load(workers=self.threads)

    def search(
        self,
        sources: Rows,
        options: SearchOptions,
        *,
        first_index: int = 0,
        prefixes: Rows | None = None,
    ) -> Found:
        """See `Searcher.search`. Samples come from one stream of random numbers, in input order.

        So a sample depends on the seed and on how many were drawn since this engine got it.
        """
        return self.begin(sources, options, first_index=first_index, prefixes=prefixes)()

    def begin(
        self,
        sources: Rows,
        options: SearchOptions,
        *,
        first_index: int = 0,
        prefixes: Rows | None = None,
    ) -> Callable[[], Found]:
        """See `Engine.begin`."""
        del first_index
        jobs: list[Any] = [None] * len(sources)
        for *limits, indices in self._groups(sources, options):
            own = prefixes and [prefixes[i] for i in indices]
            begun = self._start([sources[i] for i in indices], options, *limits, prefixes=own)
            for i, job in zip(indices, begun, strict=True):
                jobs[i] = job
        return lambda: [self._hypotheses(job) for job in jobs]

    def _hypotheses(self, job: Any) -> list[Hypothesis]:
        if threading.current_thread() is threading.main_thread():
            while not job.done():  # `result()` would keep Ctrl-C waiting
                time.sleep(_POLL_SECONDS)
        result = job.result()
        return [
            Hypothesis(self.vocabularies.target.ids(tokens), score)
            for tokens, score in zip(result.hypotheses, result.scores, strict=True)
        ]

    def stream(
        self, source: Sequence[int], options: SearchOptions, *, index: int = 0
    ) -> TokenStream:
        """See `Engine.stream`. CTranslate2 searches on a thread of its own meanwhile."""
        del index
        options = options.without_beam()
        # No queue: Ctrl-C may leave the lock of a `Queue` taken, and `get` of a `SimpleQueue` may
        # wait for ever on a busy machine, whatever its timeout.
        written = collections.deque[str]()
        closed = threading.Event()

        def on_step(step: Any) -> bool:
            written.append(step.token)
            return closed.is_set()

        ((*limits, _),) = self._groups([source], options)
        (job,) = self._start([source], options, *limits, callback=on_step)
        try:
            while not job.done() or written:
                if written:
                    yield from self.vocabularies.target.ids([written.popleft()])
                else:
                    time.sleep(_POLL_SECONDS)
            job.result()  # raises what the search did
        finally:
            closed.set()
            while not job.done():
                time.sleep(_POLL_SECONDS)

    def score(self, sources: Rows, targets: Rows) -> list[list[float]]:
        """See `Engine.score`."""
        # CTranslate2 appends `</s>` and scores it. An output cut at the model's limit has no
        # position for it: its last token is scored by itself.
        is_cut = [len(t) == self.max_length and t[-1] != EOS_ID for t in targets]
        endless = [
            t[:-1] if cut or t[-1:] == [EOS_ID] else t
            for t, cut in zip(map(list, targets), is_cut, strict=True)
        ]
        found = self._translator.score_batch(
            self._source_tokens(sources),
            list(map(self.vocabularies.target.tokens, endless)),
            max_batch_size=self.batch_tokens or BATCH_TOKENS,
            batch_type="tokens",
            max_input_length=0,
        )
        rows = [result.log_probs for result in found]
        for i in itertools.compress(range(len(targets)), is_cut):
            rows[i] = [*rows[i][:-1], self._last_log_prob(sources[i], targets[i])]
        first = len(CONTROL_TOKENS)
        tags = range(first, first + len(self.vocabularies.target.tags))
        return [
            [0.0 if i in tags else p for i, p in zip(target, row, strict=False)]
            for row, target in zip(rows, targets, strict=True)
        ]

    def _last_log_prob(self, source: Sequence[int], target: Sequence[int]) -> float:
        (found,) = self._forced([source], [target], return_logits_vocab=True)
        logits = as_numpy(found.logits[0][-1]).tolist()
        top = max(logits)
        return float(
            logits[target[-1]] - top - math.log(sum(math.exp(logit - top) for logit in logits))
        )

    def attention(self, sources: Rows, targets: Rows) -> list[list[list[float]]]:
        """See `Engine.attention`."""
        found = self._forced(sources, targets, return_attention=True)
        return [result.attention[0] for result in found]

    def _forced(self, sources: Rows, targets: Rows, **wanted: bool) -> list[Any]:
        """Return what CTranslate2 tells of targets, as prefixes of outputs that are just as long.

        One call has one length.
        """
        jobs: list[Any] = [None] * len(targets)
        by_length: dict[int, list[int]] = {}
        for i, target in enumerate(targets):
            by_length.setdefault(len(target), []).append(i)
        for length, indices in by_length.items():
            begun = self._translator.translate_batch(
                self._source_tokens(sources[i] for i in indices),
                target_prefix=[self.vocabularies.target.tokens(targets[i]) for i in indices],
                asynchronous=True,
                beam_size=1,
                max_decoding_length=length,
                max_batch_size=self.batch_tokens or BATCH_TOKENS,
                batch_type="tokens",
                max_input_length=0,
                return_end_token=True,
                **wanted,
            )
            for i, job in zip(indices, begun, strict=True):
                jobs[i] = job
        return [job.result() for job in jobs]

    def _source_tokens(self, sources: Iterable[Sequence[int]]) -> list[list[str]]:
        if not self._reads_turns:
            return [self.vocabularies.source.tokens(source) for source in sources]
        return [
            [
                f"{i}{_FEATURE_MARK}{turns}"
                for i, turns in zip(source, turns_ago(source), strict=True)
            ]
            for source in sources
        ]

    def _groups(
        self, sources: Rows, options: SearchOptions
    ) -> Iterator[tuple[int, int, list[int]]]:
        """Yield shortest output, longest output, and the sources that one call can serve.

        One call has one pair of limits; and it takes the longest source first, whose sample would
        then come first, too.
        """
        groups: dict[tuple[int, ...], list[int]] = {}
        for i, source in enumerate(sources):
            longest = options.output_limit(len(source), self.max_length)
            shortest = min(options.output_floor(len(source)), longest)
            key = (shortest, longest, i) if options.sample else (shortest, longest)
            groups.setdefault(key, []).append(i)
        for (shortest, longest, *_), indices in groups.items():
            yield shortest, longest, indices

    def _start(
        self,
        sources: Rows,
        options: SearchOptions,
        shortest: int,
        longest: int,
        *,
        prefixes: Rows | None = None,
        **more: Any,
    ) -> Any:
        """Let CTranslate2 search on threads of its own; return a job for each source."""
        target = self.vocabularies.target
        arguments: dict[str, Any] = {
            "asynchronous": True,
            "min_decoding_length": shortest,
            "max_decoding_length": longest,
            "beam_size": options.beam_size,
            "num_hypotheses": options.n_best,
            "length_penalty": options.length_penalty,
            "coverage_penalty": options.coverage_penalty,
            "repetition_penalty": options.repetition_penalty,
            "no_repeat_ngram_size": options.no_repeat_ngram_size,
            "suppress_sequences": [*self._never_written, *map(target.tokens, options.suppressed)],
            "return_scores": True,
            "return_end_token": True,
            "max_input_length": 0,
            "max_batch_size": self.batch_tokens or BATCH_TOKENS // (1 + (options.beam_size > 1)),
            "batch_type": "tokens",
        }
        if prefixes or options.prefix:
            rows = prefixes or [options.prefix] * len(sources)
            arguments["target_prefix"] = [*map(target.tokens, rows)]
        if options.sample:
            arguments |= {
                "beam_size": 1,
                "sampling_topk": min(options.top_k, target.vocab_size),
                "sampling_topp": options.top_p,
                "sampling_temperature": options.temperature,
            }
        if options.coverage_penalty:
            # It counts the padding of shorter sources and mixes up rows once one of them has ended.
            arguments |= {"max_batch_size": 1, "batch_type": "examples"}
        translator = self._translator_for(options)
        return translator.translate_batch(self._source_tokens(sources), **arguments, **more)

    def restart(self) -> None:
        """See `Searcher.restart`."""
        self._sampler = None

    def _translator_for(self, options: SearchOptions) -> Any:
        """Return the translator, or for a seed one whose random numbers began with it.

        A live translator keeps its generators, whatever `set_random_seed` says later; so each seed
        gets a translator of its own, with one worker, since two would race for the numbers.
        """
        if not options.sample or options.seed is None:
            return self._translator
        sampler = self._sampler
        if sampler is None or sampler[0] != options.seed:
            ctranslate2.set_random_seed(options.seed)
            sampler = self._sampler = (options.seed, self._load(workers=1))
        return sampler[1]

    def _load(self, workers: int) -> Any:
        with cannot_load(self.folder, "; --engine tensorflow does not need it"):
            return ctranslate2.Translator(
                str(self.folder), device=self.device, inter_threads=workers, intra_threads=1
            )


@contextlib.contextmanager
def cannot_load(folder: Path, way_out: str = "") -> Iterator[None]:
    """Turn what CTranslate2 raises when it loads a folder into a ModelFileError."""
    ctranslate2.set_log_level(logging.ERROR)
    try:
        yield
    except (RuntimeError, ValueError, LookupError, MemoryError) as error:
        raise ModelFileError(
            f"{folder}: CTranslate2 cannot load it: {error}",
            hint=f"nmt export --format {folder.name} writes it again{way_out}",
        ) from error


def has_gpu() -> bool:
    """Return whether CTranslate2 can use a GPU."""
    return int(ctranslate2.get_cuda_device_count()) > 0


def as_numpy(view: Any) -> "npt.NDArray[np.float32]":
    """Return CTranslate2's array, wherever it is, as float32."""
    import numpy as np  # noqa: PLC0415 - 0.1 s, and not needed to translate

    if view.device != "cpu":
        view = view.to_device(ctranslate2.Device.cpu)
    return np.array(view.to(ctranslate2.DataType.float32))
