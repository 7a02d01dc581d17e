"""The TensorFlow engine with tiny models. Its numbers are judged in `tests/numerics`."""

import dataclasses
import itertools
import math
import random
import shutil

import numpy as np
import pytest

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.errors import ModelFileError
from nmt_cli.model.weights import assign_weights, read_weights
from nmt_cli.search import tensorflow_engine
from nmt_cli.search.options import SearchOptions
from nmt_cli.search.tensorflow_engine import TensorFlowEngine, load_engine
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID
from nmt_cli.text.vocabulary import Vocabularies

GREEDY = SearchOptions(beam_size=1)
BEAM = SearchOptions(beam_size=4, n_best=4)
SAMPLE = SearchOptions(beam_size=1, sample=True, seed=5)
# Sums of float32 log-probabilities; another batch shape adds up in another order.
SCORE = 1e-4


@pytest.fixture(scope="module")
def engine(make_pair) -> TensorFlowEngine:
    """Shared, so that each kind of graph is traced once for this file."""
    model, _ = make_pair(target_vocab_size=20, source_vocab_size=20, max_length=80)
    return TensorFlowEngine(model)


def sources(count: int, longest: int = 12, seed: int = 0) -> list[list[int]]:
    generator = random.Random(seed)
    return [
        [*(generator.randint(6, 19) for _ in range(generator.randint(1, longest))), EOS_ID]
        for _ in range(count)
    ]


def ids(results) -> list[list[list[int]]]:
    return [[hypothesis.ids for hypothesis in found] for found in results]


def scores(results) -> list[float]:
    return [hypothesis.score for found in results for hypothesis in found]


@pytest.mark.parametrize("options", [GREEDY, BEAM, SAMPLE], ids=["greedy", "beam", "sample"])
def test_a_result_does_not_depend_on_its_batch(engine, options):
    options = dataclasses.replace(options, max_length=20)
    batch = sources(7)
    together = engine.search(batch, options, first_index=3)
    alone = [
        found
        for i, source in enumerate(batch)
        for found in engine.search([source], options, first_index=3 + i)
    ]
    assert ids(alone) == ids(together)
    np.testing.assert_allclose(scores(alone), scores(together), atol=SCORE)


@pytest.mark.parametrize("options", [GREEDY, BEAM, SAMPLE], ids=["greedy", "beam", "sample"])
def test_room_that_grows_gives_what_large_room_gives(engine, options, monkeypatch):
    """Past 32 positions, and many times over when the first room is tiny."""
    options = dataclasses.replace(options, max_length=70, min_length=40)
    batch = sources(3, seed=1)
    results = []
    for capacity in (32, 3, 100):
        monkeypatch.setattr(tensorflow_engine, "FIRST_CAPACITY", capacity)
        results.append(engine.search(batch, options))
    assert max(len(hypothesis.ids) for found in results[0] for hypothesis in found) > 40
    assert ids(results[0]) == ids(results[1]) == ids(results[2])
    np.testing.assert_allclose(scores(results[0]), scores(results[2]), atol=SCORE)
    np.testing.assert_allclose(scores(results[1]), scores(results[2]), atol=SCORE)


def test_no_sentence_retraces(engine):
    """One trace for each kind of search, whatever the sizes and the option values."""
    for count, longest in ((1, 3), (2, 9), (5, 1), (9, 20), (3, 40)):
        for options in (GREEDY, BEAM, SAMPLE):
            for limit, penalty in ((5, 1.0), (40, 0.5)):
                changed = dataclasses.replace(options, max_length=limit, length_penalty=penalty)
                engine.search(sources(count, longest, seed=count), changed)
    engine.search(sources(2), dataclasses.replace(BEAM, beam_size=7, n_best=2))
    engine.search(sources(2), dataclasses.replace(SAMPLE, temperature=0.7, top_k=3, top_p=0.9))
    for longest in (2, 7, 30):
        engine.score(sources(longest, longest), sources(longest, longest, seed=1))

    plain = [graph for key, graph in engine._graphs.items() if not key.no_repeat_ngram_size]
    assert len(plain) == 3
    for graph in plain:
        for function in (graph.start, graph.advance, graph.grow):
            assert function.experimental_get_tracing_count() == 1
    assert engine._forced.experimental_get_tracing_count() == 1


COMPILED = {
    "greedy": GREEDY,
    "beam": BEAM,
    "coverage": dataclasses.replace(BEAM, coverage_penalty=0.3),
    "no repeated pair": dataclasses.replace(BEAM, no_repeat_ngram_size=2, min_length=12),
    "repetition penalty": dataclasses.replace(GREEDY, repetition_penalty=1.5, min_length=8),
    "prefix": dataclasses.replace(BEAM, prefix=(7, 9)),
    "suppressed": dataclasses.replace(BEAM, suppressed=((8,), (9, 10))),
}


@pytest.mark.parametrize("options", COMPILED.values(), ids=COMPILED.keys())
def test_a_compiled_search_finds_the_same(engine, options):
    """More sources than one batch holds, of several lengths."""
    compiled = TensorFlowEngine(engine.model, compile_after=0, workers=2)
    options = dataclasses.replace(options, max_length=15)
    batch = sources(70, longest=15)
    expected, found = engine.search(batch, options), compiled.search(batch, options)
    assert ids(found) == ids(expected)
    np.testing.assert_allclose(scores(found), scores(expected), atol=SCORE)


def test_only_shapes_that_come_up_often_are_compiled(engine):
    """Never a sample, nor a batch that would be mostly padding."""
    options = dataclasses.replace(GREEDY, max_length=10)
    late = TensorFlowEngine(engine.model, compile_after=engine._num_weights * 64 * 10 * 2)
    for _ in range(2):
        late.search(sources(64), options)
    late.search(sources(20), options)
    late.search(sources(40), dataclasses.replace(SAMPLE, max_length=9))
    (graph, _) = late._graphs.values()
    assert graph.compiled_advance.experimental_get_tracing_count() == 0
    late.search(sources(64), options)
    late.search(sources(40), options)  # a batch is padded to one size
    assert graph.compiled_advance.experimental_get_tracing_count() == 1

    never = TensorFlowEngine(engine.model, compile_after=math.inf)
    never.search(sources(200), options)
    (graph,) = never._graphs.values()
    assert graph.compiled_advance.experimental_get_tracing_count() == 0


def test_each_sentence_keeps_its_own_limit(engine):
    """`max_length_ratio` counts the source's tokens; the shortest limit holds."""
    options = SearchOptions(beam_size=1, max_length=60, max_length_ratio=2.0, min_length=60)
    batch = [[7, EOS_ID], [7] * 20 + [EOS_ID], [7] * 40 + [EOS_ID]]
    found = [len(result[0].ids) for result in engine.search(batch, options)]
    assert found == [2 * 2 + 10, 2 * 21 + 10, 60]


@pytest.mark.parametrize("options", [GREEDY, BEAM], ids=["greedy", "beam"])
def test_no_output_is_longer_than_allowed(engine, options):
    options = dataclasses.replace(options, max_length=6)
    results = engine.search(sources(6), options)
    assert max(len(h.ids) for found in results for h in found) <= 6


def test_outputs_are_tokens_with_one_end_at_the_end(engine):
    for options in (GREEDY, BEAM, SAMPLE):
        for found in ids(engine.search(sources(6), options)):
            for output in found:
                assert EOS_ID not in output[:-1]
                assert all(i >= len(CONTROL_TOKENS) for i in output[:-1])
                assert len(output) >= 2  # min_length 1: a token and its end, at least


def test_hypotheses_come_best_first(engine):
    for found in engine.search(sources(6), dataclasses.replace(BEAM, max_length=20)):
        values = [hypothesis.score for hypothesis in found]
        assert len(found) == 4
        assert values == sorted(values, reverse=True)
        assert len({tuple(hypothesis.ids) for hypothesis in found}) == 4


def test_only_n_best_come_back(engine):
    options = dataclasses.replace(BEAM, n_best=1)
    best = engine.search(sources(4), options)
    assert [len(found) for found in best] == [1] * 4
    assert ids(best) == [found[:1] for found in ids(engine.search(sources(4), BEAM))]


def test_no_ngram_is_written_twice(engine):
    options = SearchOptions(beam_size=1, max_length=30, min_length=20)
    batch = sources(4, seed=2)

    def repeats(results) -> int:
        pairs = [list(itertools.pairwise(out)) for ((out),) in ids(results)]
        return sum(len(p) - len(set(p)) for p in pairs)

    assert repeats(engine.search(batch, options)) > 0
    blocked = dataclasses.replace(options, no_repeat_ngram_size=2)
    assert repeats(engine.search(batch, blocked)) == 0


def test_repetition_penalty_acts(engine):
    options = SearchOptions(beam_size=1, max_length=30, min_length=20)
    batch = sources(4, seed=2)
    plain = ids(engine.search(batch, options))
    strong = ids(engine.search(batch, dataclasses.replace(options, repetition_penalty=5.0)))
    assert sum(len(set(o[0])) for o in strong) > sum(len(set(o[0])) for o in plain)


# --- sampling -------------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_text(engine):
    batch = sources(5)
    assert ids(engine.search(batch, SAMPLE)) == ids(engine.search(batch, SAMPLE))
    other = engine.search(batch, dataclasses.replace(SAMPLE, seed=6))
    assert ids(other) != ids(engine.search(batch, SAMPLE))


def test_equal_sources_get_different_samples(engine):
    found = ids(engine.search([[7, 8, EOS_ID]] * 10, SAMPLE))
    assert len({tuple(o[0]) for o in found}) > 5


@pytest.mark.parametrize("changes", [{"top_k": 1}, {"top_p": 1e-6}])
def test_sampling_without_choice_is_greedy(engine, changes):
    batch = sources(5)
    sampled = engine.search(batch, dataclasses.replace(SAMPLE, **changes))
    assert ids(sampled) == ids(engine.search(batch, GREEDY))


def test_a_longer_limit_does_not_change_a_sample(engine):
    """The random numbers of a sentence are a stream of its own, however long."""
    short, long = (
        ids(engine.search(sources(4), dataclasses.replace(SAMPLE, max_length=limit)))
        for limit in (4, 30)
    )
    assert [o[0][:4] for o in long] == [o[0] for o in short]


# --- scores and weights ---------------------------------------------------------------------------


def test_scores_of_given_targets_come_back_without_padding(engine):
    batch, targets = sources(3), [[7, EOS_ID], [9, 8, 7, EOS_ID], [6]]
    found = engine.score(batch, targets)
    assert [len(row) for row in found] == [2, 4, 1]
    alone = [engine.score([s], [t])[0] for s, t in zip(batch, targets, strict=True)]
    for row, row_alone in zip(found, alone, strict=True):
        np.testing.assert_allclose(row, row_alone, atol=SCORE)
    assert all(value < 0 for row in found for value in row)


def test_the_weights_of_the_moment_are_used(make_pair):
    """The training loop evaluates with one engine while the weights change."""
    model, _ = make_pair(weights_seed=1)
    other, _ = make_pair(weights_seed=2)
    batch = [[7, 8, EOS_ID], [9, EOS_ID]]
    engine = TensorFlowEngine(model)
    before = engine.search(batch, BEAM)
    expected = TensorFlowEngine(other).search(batch, BEAM)
    assert ids(before) != ids(expected)

    assign_weights(model, read_weights(other))

    assert ids(engine.search(batch, BEAM)) == ids(expected)


def test_the_bundles_engine_translates(toy_bundle, translate_toy_line):
    bundle = open_bundle(toy_bundle)
    vocabularies = Vocabularies.load(toy_bundle)
    engine = load_engine(bundle)
    line = "red dog eats old bird"
    source = [*vocabularies.source.encode(line), EOS_ID]

    ((best, *_),) = engine.search([source], SearchOptions.from_mapping(bundle.manifest.decode))

    assert best.ids[-1] == EOS_ID
    assert BOS_ID not in best.ids
    assert vocabularies.target.decode(best.ids) == translate_toy_line(line)
    assert engine.max_length == 24


def test_a_bundle_whose_weights_do_not_fit_is_refused(toy_bundle):
    bundle = open_bundle(toy_bundle)
    wrong = dataclasses.replace(bundle.manifest, model={**bundle.manifest.model, "d_ff": 64})
    with pytest.raises(ModelFileError, match=r"has shape \(32, 128\), expected \(32, 64\)"):
        load_engine(dataclasses.replace(bundle, manifest=wrong))


def test_a_bundle_with_damaged_weights_is_refused(toy_bundle, tmp_path):
    copy = tmp_path / "model"
    shutil.copytree(toy_bundle, copy)
    weights = copy / "model.safetensors"
    weights.write_bytes(b"\xff" * weights.stat().st_size)  # of the right size
    with pytest.raises(ModelFileError, match=r"model\.safetensors: damaged"):
        load_engine(open_bundle(copy))


def test_batches_hold_similar_lengths_within_the_budget(engine):
    lengths = [5, 1000, 3, 900, 4, 3000, 2] + [2] * 300
    rows = [[7] * length for length in lengths]

    batches = list(engine._batches(rows))

    assert sorted(i for batch in batches for i in batch) == list(range(len(rows)))
    for batch in batches:
        longest = max(lengths[i] for i in batch)
        assert len(batch) <= tensorflow_engine._MAX_BATCH
        assert len(batch) == 1 or len(batch) * longest <= tensorflow_engine.BATCH_TOKENS
    longest_of_batch = [max(lengths[i] for i in batch) for batch in batches]
    assert longest_of_batch == sorted(longest_of_batch, reverse=True)


def test_samples_are_drawn_in_input_order_with_running_numbers(engine):
    """Sorting would give a source another random stream when its neighbours change."""
    options = dataclasses.replace(SAMPLE, max_length=12)
    batch = sources(5, seed=3)
    together = engine.search(batch, options, first_index=10)
    last_alone = engine.search(batch[4:], options, first_index=14)
    assert ids(together)[4:] == ids(last_alone)


def test_no_source_asks_nothing(engine):
    assert engine.search([], GREEDY) == []
