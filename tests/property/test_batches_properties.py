"""Properties of the data order: whatever the corpus, nothing is lost, doubled or too big."""

import itertools
from types import SimpleNamespace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.schema import Config
from nmt_cli.text.batches import assemble, batches_by_length, plan_window
from nmt_cli.text.shards import EncodedCorpus
from nmt_cli.training.dataset import Cursor, iter_steps

QUICK = settings(max_examples=80)


def make_corpus(lengths: list[tuple[int, int]]) -> EncodedCorpus:
    def side(sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
        flat = np.arange(sum(sizes)) % 60_000 + 1
        return flat.astype(np.uint16), np.cumsum([0, *sizes])

    source, target = zip(*lengths, strict=True)
    return EncodedCorpus(*side(source), *side(target))


corpora = st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60).map(
    make_corpus
)
plans = st.fixed_dictionaries(
    {
        "tokens_per_batch": st.integers(1, 200),
        "accumulate_steps": st.integers(1, 5),
        "length_width": st.integers(2, 40),
        "max_length": st.integers(1, 35),
        "seed": st.integers(0, 2**31 - 1),
        "epoch": st.integers(0, 1000),
    }
)


def fits(corpus: EncodedCorpus, max_length: int) -> np.ndarray:
    lengths = zip(corpus.source_lengths, corpus.target_lengths, strict=True)
    return np.array([i for i, pair in enumerate(lengths) if max(pair) <= max_length])


@QUICK
@given(corpus=corpora, arguments=plans)
def test_a_plan(corpus, arguments):
    usable = fits(corpus, arguments["max_length"])
    if not len(usable):
        return
    config = SimpleNamespace(
        train=SimpleNamespace(**arguments),
        model=SimpleNamespace(**arguments),
        seed=arguments["seed"],
    )
    plan = plan_window(corpus, config, arguments["epoch"])
    steps = [plan.micro_batches(step) for step in range(plan.num_steps)]
    batches = list(itertools.chain.from_iterable(steps))
    # every usable example exactly once
    assert sorted(np.concatenate(batches)) == usable.tolist()
    # no batch is empty; all steps but the last are full
    assert all(len(indices) for indices in batches)
    assert {len(step) for step in steps[:-1]} <= {arguments["accumulate_steps"]}
    assert 1 <= len(steps[-1]) <= arguments["accumulate_steps"]
    # the token budget
    budget = max(1, arguments["tokens_per_batch"] // arguments["accumulate_steps"])
    longest = corpus.target_lengths[usable].max()
    assert max(corpus.target_lengths[indices].sum() for indices in batches) <= budget + longest - 1
    # the same again
    again = plan_window(corpus, config, arguments["epoch"])
    assert np.array_equal(again.order, plan.order)
    assert np.array_equal(again.starts, plan.starts)


@QUICK
@given(corpus=corpora, data=st.data())
def test_padded_arrays_hold_the_examples_and_nothing_else(corpus, data):
    chosen = data.draw(st.lists(st.integers(0, len(corpus) - 1), min_size=1, max_size=8))
    batch = assemble(corpus, np.array(chosen))
    for padded, flat, offsets in (
        (batch.source, corpus.source, corpus.source_offsets),
        (batch.target, corpus.target, corpus.target_offsets),
    ):
        rows = [flat[offsets[i] : offsets[i + 1]].tolist() for i in chosen]
        width = max(map(len, rows))
        assert padded.tolist() == [row + [0] * (width - len(row)) for row in rows]
    assert batch.num_tokens == corpus.target_lengths[chosen].sum()
    tokens = batch.num_tokens + corpus.source_lengths[chosen].sum()
    assert batch.num_padding == batch.num_positions - tokens


@QUICK
@given(corpus=corpora, max_length=st.integers(1, 35), tokens=st.integers(1, 200))
def test_batches_for_evaluation(corpus, max_length, tokens):
    usable = fits(corpus, max_length)
    if not len(usable):
        return
    batches = batches_by_length(corpus, max_length, tokens)
    assert sorted(np.concatenate(batches)) == usable.tolist()
    assert all(len(indices) for indices in batches)
    longest = corpus.target_lengths[usable].max()
    assert max(corpus.target_lengths[i].sum() for i in batches) <= tokens + longest - 1


@QUICK
@given(
    corpus=corpora,
    tokens=st.integers(1, 200),
    accumulate=st.integers(1, 4),
    seed=st.integers(0, 99),
    done=st.integers(1, 12),
)
def test_going_on_from_a_cursor_equals_never_having_stopped(corpus, tokens, accumulate, seed, done):
    data = {"train": [{"file": "a.tsv"}], "dev": [{"rows": 1}]}
    train = {"tokens_per_batch": tokens, "accumulate_steps": accumulate}
    config = Config.model_validate({"name": "x", "seed": seed, "data": data, "train": train})
    whole = list(itertools.islice(iter_steps(corpus, config, Cursor()), done + 5))
    rest = list(itertools.islice(iter_steps(corpus, config, whole[done - 1].after), 5))
    for expected, found in zip(whole[done:], rest, strict=True):
        assert found.after == expected.after
        for one, other in zip(expected.micro_batches, found.micro_batches, strict=True):
            assert np.array_equal(one.source, other.source)
            assert np.array_equal(one.target, other.target)
