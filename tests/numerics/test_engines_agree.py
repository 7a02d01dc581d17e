"""The two engines are two implementations of one contract: same answers under every option.

The models have random weights: their distributions are flat, so a small difference in an engine
shows in what it finds. Forced scores are compared with the NumPy reference, too.
"""

import dataclasses
import itertools
import random
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy_transformer import START_ID

from nmt_cli.bundle.ctranslate2_form import NUMBER_FORMATS, Conversion
from nmt_cli.model.weights import assign_weights, read_weights
from nmt_cli.search import ctranslate2_engine
from nmt_cli.search.ctranslate2_engine import CTranslate2Engine
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.tensorflow_engine import TensorFlowEngine
from nmt_cli.text.special_tokens import BYTE_TOKENS, CONTROL_TOKENS, EOS_ID

FIRST = len(CONTROL_TOKENS)
TOKENS, MAX_LENGTH = 24, 24
SIZES = {
    "source_vocab_size": TOKENS,
    "target_vocab_size": TOKENS,
    "max_length": MAX_LENGTH,
}
SCORE = 1e-4
FORCED = 1e-4


class Tokens:
    """The part of `Subwords` that engines need: ids <-> names."""

    tags = ()

    def __init__(self, size: int) -> None:
        self.names = [*CONTROL_TOKENS, *BYTE_TOKENS][:size]
        self.vocab_size = size

    def tokens(self, ids):
        return [self.names[i] for i in ids]

    def ids(self, tokens):
        return [self.names.index(token) for token in tokens]


@dataclasses.dataclass(frozen=True)
class Sides:
    """The part of `Vocabularies` that engines need."""

    source: Tokens
    target: Tokens


ARCHITECTURES = [
    pytest.param({}, id="pre-relu-sinusoidal"),
    pytest.param({"norm": "post", "activation": "gelu"}, id="post-gelu"),
    pytest.param({"activation": "swiglu", "positions": "learned"}, id="swiglu-learned"),
    pytest.param({"turn_embeddings": True}, id="turns"),
    pytest.param(
        {
            "norm": "post",
            "activation": "silu",
            "norm_epsilon": 0.05,
            "attention_bias": True,
            "output_bias": True,
            "positions": "table",
        },
        id="as-marian",
    ),
    pytest.param(
        {"norm": "post", "activation": "gelu", "embedding_norm": "encoder", "positions": "learned"},
        id="as-blenderbot-small",
    ),
    pytest.param({"embedding_norm": "both", "turn_embeddings": True}, id="embedding-norm"),
    pytest.param({"tie_embeddings": False, "encoder_layers": 3, "decoder_layers": 1}, id="untied"),
]


def make_engines(model, folder: Path, number_format: str = "float32"):
    """Return both engines over one model."""
    sides = Sides(Tokens(TOKENS), Tokens(TOKENS))
    Conversion(
        model=model.config.model_dump(mode="json"),
        weights=read_weights(model),
        source_tokens=sides.source.names,
        target_tokens=sides.target.names,
    ).write(folder / "ct2", number_format)
    fast = CTranslate2Engine(folder / "ct2", sides, max_length=MAX_LENGTH, threads=1)
    return fast, TensorFlowEngine(model)


@pytest.fixture(scope="module")
def engines(make_pair, tmp_path_factory):
    """Engines with a model whose output layer would like control tokens best."""
    model, _ = make_pair(**SIZES, tie_embeddings=False)
    weights = read_weights(model)
    weights["decoder.norm.bias"][0] = 10.0
    weights["decoder.norm.scale"][0] = 0.0
    weights["output_embedding"][:, 0] = 0.0
    weights["output_embedding"][[i for i in range(FIRST) if i != EOS_ID], 0] = 5.0
    assign_weights(model, weights)
    return make_engines(model, tmp_path_factory.mktemp("engines"))


def sources(count: int = 40, seed: int = 1) -> list[list[int]]:
    generator = random.Random(seed)
    return [
        [
            *(generator.randint(FIRST, TOKENS - 1) for _ in range(generator.randint(1, 11))),
            EOS_ID,
        ]
        for _ in range(count)
    ]


def conversations() -> list[list[int]]:
    """Return three sources of one, two and six turns."""
    user, bot = (CONTROL_TOKENS.index(name) for name in ("<user>", "<bot>"))
    long = [user, 7, 9, bot, 8, user, 7, 7, bot, user, 9, bot, 7, EOS_ID]
    return [[user, 7, 9, EOS_ID], [user, 7, bot, 7, 9, 12, EOS_ID], long]


@pytest.mark.parametrize("name", [name for name in NUMBER_FORMATS if name != "float32"])
def test_each_number_format_is_smaller_and_keeps_forced_scores_near(make_pair, tmp_path, name):
    model, reference = make_pair(**SIZES)
    rounded, _ = make_engines(model, tmp_path / name, name)
    make_engines(model, tmp_path)
    target = [7, 9, 12, 9, EOS_ID]
    # Eight significant bits lose a hundredth; eight bits a row of a matrix this small lose more.
    tolerance = 0.05 if name in ("float16", "bfloat16") else 0.5
    for row in sources(3):
        log_probs = reference.log_probs([START_ID, *target[:-1]], reference.encode(row), row)
        (found,) = rounded.score([row], [target])
        error = np.abs(np.array(found) - log_probs[range(len(target)), target]).max()
        assert 1e-5 < error < tolerance
    sizes = [
        (folder / "ct2" / "model.bin").stat().st_size for folder in (tmp_path / name, tmp_path)
    ]
    assert sizes[0] < sizes[1]


def test_an_output_cut_at_the_limit_has_its_scores(engines):
    """It fills the model, so there is no position left for `</s>`."""
    fast, slow = engines
    rows, letters = sources(3), range(FIRST, TOKENS)
    targets = [[letters[i * k % len(letters)] for i in range(MAX_LENGTH)] for k in (1, 3)]
    targets.insert(1, [FIRST, FIRST + 2, EOS_ID])
    for found, wanted in zip(fast.score(rows, targets), slow.score(rows, targets), strict=True):
        np.testing.assert_allclose(found, wanted, atol=FORCED)


@pytest.mark.parametrize("arguments", ARCHITECTURES)
def test_forced_scores_are_those_of_the_numpy_reference(make_pair, tmp_path, arguments):
    model, reference = make_pair(**SIZES, **arguments)
    fast, native = make_engines(model, tmp_path)
    targets = [[7, 9, 12, 9, EOS_ID], [EOS_ID], [6, 6, 6]]
    rows = conversations()
    expected = [
        [
            reference.log_probs([START_ID, *target[:-1]], reference.encode(source), source)[t, i]
            for t, i in enumerate(target)
        ]
        for source, target in zip(rows, targets, strict=True)
    ]
    for engine in (fast, native):
        for found, wanted in zip(engine.score(rows, targets), expected, strict=True):
            np.testing.assert_allclose(found, wanted, atol=FORCED)


@pytest.mark.parametrize("arguments", ARCHITECTURES)
def test_attention_is_the_mean_over_the_heads_of_the_last_layer(make_pair, tmp_path, arguments):
    model, reference = make_pair(**SIZES, **arguments)
    fast, native = make_engines(model, tmp_path)
    rows, targets = conversations(), [[7, 9, 12, 9, EOS_ID], [EOS_ID], [6, 6, 6]]
    layer = arguments.get("decoder_layers", reference.architecture.decoder_layers)
    for engine in (fast, native):
        found = engine.attention(rows, targets)
        for matrix, source, target in zip(found, rows, targets, strict=True):
            maps = reference.attention_maps(source, [START_ID, *target[:-1]])
            expected = maps[f"decoder_layer{layer}_block2_decenc_att"].mean(axis=0)
            np.testing.assert_allclose(matrix, expected, atol=1e-5)


OPTIONS = {
    "beam": {},
    "greedy": {"beam_size": 1},
    "n-best without length penalty": {"length_penalty": 0.0, "n_best": 3},
    "length penalty 0.6": {"length_penalty": 0.6, "n_best": 2},
    "coverage": {"coverage_penalty": 0.3},
    "minimum": {"min_length": 7},
    "minimum by source": {"min_length_ratio": 1.5},
    "maximum": {"max_length": 4},
    "minimum above the maximum": {"min_length": 9, "max_length": 4},
    "minimum by source above the maximum": {"min_length_ratio": 9.0},
    "maximum by source": {"max_length_ratio": 0.1},
    "no repeated pair": {"no_repeat_ngram_size": 2, "min_length": 9},
    "repetition penalty": {"repetition_penalty": 1.4, "min_length": 9},
    # CTranslate2 drops an output that ends right after the prefix unless it is the likeliest.
    "prefix": {"prefix": (9, 8), "min_length": 3},
    "greedy prefix": {"prefix": (9, 8), "beam_size": 1},
    "prefix beyond the limit": {"prefix": (9, 8, 7), "max_length": 2},
    "suppressed": {"suppressed": ((10,), (11, 12), (13, 14, 15)), "min_length": 9},
}


@pytest.mark.parametrize("changes", OPTIONS.values(), ids=OPTIONS)
def test_both_engines_find_the_same(engines, changes):
    """Of 40 sources one may differ: equal scores may be told apart by the last bit."""
    fast, native = engines
    options = SearchOptions(max_length=MAX_LENGTH).override(**changes)
    rows = sources()
    pairs = list(zip(fast.search(rows, options), native.search(rows, options), strict=True))
    same = [pair for pair in pairs if [h.ids for h in pair[0]] == [h.ids for h in pair[1]]]
    assert len(same) >= len(pairs) - 1
    for first, second in same:
        np.testing.assert_allclose([h.score for h in first], [h.score for h in second], atol=SCORE)


SAMPLE = SearchOptions(max_length=MAX_LENGTH, beam_size=1, sample=True, seed=7)


def fresh(engine: CTranslate2Engine) -> CTranslate2Engine:
    """Return another engine over the same files."""
    return CTranslate2Engine(engine.folder, engine.vocabularies, max_length=MAX_LENGTH, threads=1)


def test_a_seed_repeats_the_samples_of_ctranslate2(engines):
    """In a new engine; in one that goes on, the next samples are others."""
    fast, _ = engines
    rows = sources(12)
    engine = fresh(fast)
    first, second = engine.search(rows, SAMPLE), engine.search(rows, SAMPLE)
    assert fresh(fast).search(rows, SAMPLE) == first != second
    other = dataclasses.replace(SAMPLE, seed=8)
    assert engine.search(rows, other) != first
    assert engine.search(rows, SAMPLE) == first  # a seed begins anew


def test_samples_of_ctranslate2_come_in_input_order(engines):
    """So a sample does not depend on what comes after it."""
    fast, _ = engines
    rows = sources(9)
    together = fresh(fast).search(rows, SAMPLE)
    assert fresh(fast).search(rows[:4], SAMPLE) == together[:4]


def test_sampling_among_more_tokens_than_there_are(engines):
    fast, _ = engines
    options = dataclasses.replace(SAMPLE, top_k=10**6)
    assert fresh(fast).search(sources(3), options) == fresh(fast).search(sources(3), SAMPLE)


def test_a_prefix_that_says_all_leaves_nothing_to_search(engines):
    for engine in engines:
        ((found,),) = engine.search(
            sources(1), SearchOptions(max_length=2, prefix=(9, 8), beam_size=2)
        )
        assert found.ids == [9, 8]
        assert found.score == pytest.approx(0.0, abs=1e-6)


STREAMED = OPTIONS | {
    "sample": {"sample": True, "seed": 7, "max_length": 20},
    "sample of few": {"sample": True, "top_k": 5, "top_p": 0.8, "temperature": 0.7, "seed": 3},
    "sample with a prefix": {"sample": True, "prefix": (9, 8), "seed": 3},
}


@pytest.mark.parametrize("changes", STREAMED.values(), ids=STREAMED)
def test_a_stream_is_what_search_finds_without_a_beam(engines, changes):
    options = SearchOptions(max_length=MAX_LENGTH).override(**changes)
    rows = sources(6)
    fast, native = engines
    for streaming, searching in ((fresh(fast), fresh(fast)), (native, native)):
        found = searching.search(rows, options.without_beam(), first_index=2)
        for index, (row, (wanted,)) in enumerate(zip(rows, found, strict=True), start=2):
            assert list(streaming.stream(row, options, index=index)) == wanted.ids


class SlowJob:
    """A job of CTranslate2 that is asked in vain, twice for each token, for two seconds."""

    def __init__(self, on_step) -> None:
        self._on_step, self._end = on_step, time.monotonic() + 2
        self._turn = itertools.count()

    def done(self) -> bool:
        if next(self._turn) % 2:
            self._on_step(SimpleNamespace(token=BYTE_TOKENS[0]))
        return time.monotonic() > self._end

    def result(self) -> None:
        pass


def test_a_stream_ends_where_threads_wait_for_each_other(engines, monkeypatch):
    """`queue.SimpleQueue` of CPython 3.11 waits for ever when it gets to wait too late."""
    fast, _ = engines
    monkeypatch.setattr(ctranslate2_engine, "_POLL_SECONDS", 1e-5)
    monkeypatch.setattr(fast, "_start", lambda *_, callback: [SlowJob(callback)])
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def stream() -> None:
        list(fast.stream(sources(1)[0], SearchOptions()))

    threads = [threading.Thread(target=stream, daemon=True) for _ in range(8)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(10)
        assert not any(thread.is_alive() for thread in threads)
    finally:
        sys.setswitchinterval(interval)


@pytest.mark.parametrize("which", ["ctranslate2", "tensorflow"])
def test_a_stream_that_is_closed_ends_the_search(make_pair, tmp_path, which):
    """What is searched next is not kept waiting, and is right."""
    model, _ = make_pair(**{**SIZES, "max_length": 20_000})
    fast, native = make_engines(model, tmp_path)
    engine = fast if which == "ctranslate2" else native
    engine.max_length = 20_000
    endless = SearchOptions(min_length=20_000, max_length=20_000)
    (row,) = sources(1)
    expected = list(engine.stream(row, SearchOptions(max_length=9)))
    started = time.perf_counter()
    stream = engine.stream(row, endless)
    assert len([next(stream) for _ in range(5)]) == 5
    stream.close()
    assert list(engine.stream(row, SearchOptions(max_length=9))) == expected
    assert time.perf_counter() - started < 5.0
