"""Tests of nmt_cli/text/batches.py: what makes up a batch, and its padded arrays."""

from types import SimpleNamespace

import numpy as np
import pytest

from nmt_cli.errors import TrainingError
from nmt_cli.text.batches import (
    Batch,
    WindowPlan,
    assemble,
    batches_by_length,
    check_usable,
    plan_window,
    usable_examples,
)
from nmt_cli.text.shards import EncodedCorpus


def make_corpus(lengths: list[tuple[int, int]]) -> EncodedCorpus:
    """A corpus of examples with these source and target lengths; every id is different from 0."""

    def side(sizes: list[int]) -> tuple[np.ndarray, np.ndarray]:
        flat = np.arange(sum(sizes)) % 65_000 + 1
        return flat.astype(np.uint16), np.cumsum([0, *sizes])

    source, target = zip(*lengths, strict=True)
    return EncodedCorpus(*side(source), *side(target))


def realistic_corpus(count: int) -> EncodedCorpus:
    """Lengths like those of Multi30k: targets 15.8 +- 5.5 tokens, sources as long +- 2.7."""
    random = np.random.default_rng(7)
    targets = np.clip(random.gamma(8.4, 1.9, count).astype(int), 3, 60)
    sources = np.clip(targets + np.rint(random.normal(0, 2.7, count)).astype(int), 2, 60)
    return make_corpus(list(zip(sources.tolist(), targets.tolist(), strict=True)))


def plan(corpus: EncodedCorpus, **changes) -> WindowPlan:
    train = {"tokens_per_batch": 100, "accumulate_steps": 1, "length_width": 2}
    train |= {key: value for key, value in changes.items() if key in train}
    config = SimpleNamespace(
        train=SimpleNamespace(**train),
        model=SimpleNamespace(max_length=changes.get("max_length", 64)),
        seed=changes.get("seed", 1),
    )
    return plan_window(corpus, config, changes.get("epoch", 0), changes.get("window", 0))


def all_batches(plan: WindowPlan) -> list[np.ndarray]:
    return [indices for step in range(plan.num_steps) for indices in plan.micro_batches(step)]


class TestAssemble:
    corpus = make_corpus([(2, 1), (3, 2), (1, 4)])

    def test_rows_are_padded_with_zeros_at_the_end(self):
        batch = assemble(self.corpus, np.array([1, 0]))
        assert batch.source.tolist() == [[3, 4, 5], [1, 2, 0]]
        assert batch.target.tolist() == [[2, 3], [1, 0]]
        assert batch.source.dtype == batch.target.dtype == np.int32

    def test_one_example_needs_no_padding(self):
        batch = assemble(self.corpus, np.array([2]))
        assert batch.source.tolist() == [[6]]
        assert batch.target.tolist() == [[4, 5, 6, 7]]
        assert batch.num_padding == 0

    def test_an_example_may_come_twice(self):
        assert assemble(self.corpus, np.array([0, 0])).source.tolist() == [[1, 2], [1, 2]]

    def test_counts(self):
        batch = Batch(np.array([[5, 6, 0], [7, 0, 0]]), np.array([[8, 2], [2, 0]]))
        assert batch.num_tokens == 3
        assert batch.num_positions == 10
        assert batch.num_padding == 4


class TestUsableExamples:
    corpus = make_corpus([(5, 5), (9, 2), (2, 9), (8, 8), (3, 3)])

    def test_both_sides_must_fit(self):
        assert usable_examples(self.corpus, 5).tolist() == [0, 4]
        assert usable_examples(self.corpus, 8).tolist() == [0, 3, 4]
        assert usable_examples(self.corpus, 9).tolist() == [0, 1, 2, 3, 4]

    @pytest.mark.parametrize("block", [2, 5, 1000])
    def test_none_is_told_with_the_limit_and_what_to_do(self, block, monkeypatch):
        monkeypatch.setattr("nmt_cli.text.batches._BLOCK", block)
        check_usable(self.corpus, 3, "train")
        with pytest.raises(TrainingError) as caught:
            check_usable(self.corpus, 2, "train")
        assert caught.value.exit_code == 5
        assert str(caught.value) == (
            "every pair of train is longer than model.max_length (2 tokens); the shortest has 3"
        )
        assert caught.value.hint == (
            "raise model.max_length or split the lines, e.g. --set model.max_length=9"
        )

    def test_dev_tells_it_too(self):
        with pytest.raises(TrainingError, match=r"every pair of dev .*max_length \(2 tokens\)"):
            check_usable(self.corpus, 2, "dev")

    def test_a_window_without_any_has_no_step(self):
        assert plan(self.corpus, max_length=2).num_steps == 0


class TestPlanWindow:
    corpus = realistic_corpus(3000)

    def test_every_usable_example_comes_once(self):
        found = np.concatenate(all_batches(plan(self.corpus, max_length=25)))
        usable = usable_examples(self.corpus, 25)
        assert 0 < len(usable) < 3000
        assert sorted(found) == usable.tolist()

    @pytest.mark.parametrize("tokens", [1, 20, 100, 1000, 10**6])
    @pytest.mark.parametrize("accumulate", [1, 3])
    def test_the_token_budget_is_kept(self, tokens, accumulate):
        made = plan(self.corpus, tokens_per_batch=tokens, accumulate_steps=accumulate)
        lengths = self.corpus.target_lengths
        budget = max(1, tokens // accumulate)
        sums = [lengths[indices].sum() for indices in all_batches(made)]
        assert max(sums) < budget + lengths.max()
        assert np.mean(sums) > 0.5 * min(budget, lengths.sum())  # and it is used

    def test_an_effective_batch_has_the_whole_budget(self):
        made = plan(self.corpus, tokens_per_batch=1200, accumulate_steps=4)
        sums = [
            sum(self.corpus.target_lengths[indices].sum() for indices in made.micro_batches(step))
            for step in range(made.num_steps - 1)
        ]
        assert np.mean(sums) == pytest.approx(1200, rel=0.02)
        assert [len(made.micro_batches(step)) for step in range(made.num_steps - 1)] == [4] * (
            made.num_steps - 1
        )

    def test_the_last_step_has_what_is_left(self):
        made = plan(make_corpus([(3, 10)] * 7), tokens_per_batch=20, accumulate_steps=2)
        assert made.num_steps == 4
        assert [len(made.micro_batches(step)) for step in range(4)] == [2, 2, 2, 1]

    def test_the_same_arguments_give_the_same_plan(self):
        one, other = plan(self.corpus, seed=5, epoch=2), plan(self.corpus, seed=5, epoch=2)
        assert np.array_equal(one.order, other.order)
        assert np.array_equal(one.starts, other.starts)

    @pytest.mark.parametrize("change", [{"epoch": 1}, {"seed": 2}, {"window": 1}])
    def test_another_epoch_or_seed_gives_another(self, change):
        one, other = plan(self.corpus), plan(self.corpus, **change)
        assert not np.array_equal(one.order, other.order)
        together = [{tuple(sorted(b)) for b in all_batches(made)} for made in (one, other)]
        assert len(together[0] & together[1]) < len(together[0]) / 10  # not only their order

    def test_seed_and_epoch_are_not_added_up(self):
        one, other = plan(self.corpus, seed=1, epoch=2), plan(self.corpus, seed=2, epoch=1)
        assert not np.array_equal(one.order, other.order)

    def test_it_does_not_depend_on_what_ran_before(self):
        np.random.default_rng(3).random()
        plan(self.corpus, epoch=0)
        later = plan(self.corpus, epoch=7)
        assert np.array_equal(later.order, plan(self.corpus, epoch=7).order)

    def test_little_is_padding(self):
        corpus = realistic_corpus(29_000)  # the size matters too: the more, the less padding
        made = plan(corpus, tokens_per_batch=4096)
        batches = [assemble(corpus, indices) for indices in all_batches(made)]
        padding = sum(batch.num_padding for batch in batches)
        assert padding / sum(batch.num_positions for batch in batches) < 0.08

    def test_long_and_short_batches_are_mixed(self):
        made = plan(self.corpus)
        means = [self.corpus.target_lengths[indices].mean() for indices in all_batches(made)]
        assert abs(np.corrcoef(np.arange(len(means)), means)[0, 1]) < 0.2

    def test_a_wide_group_makes_batches_fair_samples(self):
        spreads = []
        for width in (2, 64):
            made = plan(self.corpus, length_width=width)
            spreads.append(
                np.mean([np.ptp(self.corpus.target_lengths[i]) for i in all_batches(made)])
            )
        assert spreads[0] <= 1
        assert spreads[1] > 5

    def test_sources_are_grouped_by_half_the_width(self):
        made = plan(self.corpus, length_width=64)
        groups = [set(self.corpus.source_lengths[i] // 32) for i in all_batches(made)]
        assert set.union(*groups) == {0, 1}
        assert sum(len(found) > 1 for found in groups) <= 2  # where one group of targets ends

    def test_an_example_longer_than_the_budget_is_a_batch_of_its_own(self):
        made = plan(make_corpus([(5, 5), (50, 50), (5, 5)]), tokens_per_batch=10)
        assert {tuple(sorted(indices)) for indices in all_batches(made)} == {(0, 2), (1,)}


class TestBatchesByLength:
    def test_every_usable_example_comes_once_in_order_of_length(self):
        corpus = realistic_corpus(500)
        batches = batches_by_length(corpus, 20, 200)
        order = np.concatenate(batches)
        assert sorted(order) == usable_examples(corpus, 20).tolist()
        assert (np.diff(corpus.target_lengths[order]) >= 0).all()
        assert all(corpus.target_lengths[indices].sum() < 200 + 20 for indices in batches)
        assert len(batches) > 3

    def test_is_always_the_same(self):
        corpus = realistic_corpus(100)
        one, other = (batches_by_length(corpus, 20, 50) for _ in range(2))
        assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))
