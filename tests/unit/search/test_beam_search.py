"""The searches over a fake step function and a small alphabet; no model.

The fake scores the next token by everything a row has written, which it keeps in its cache, so a
search that mixes up rows or forgets to reorder the cache gives other answers.
"""

import itertools
import math

import numpy as np
import pytest
import tensorflow as tf
from exhaustive_search import best_sequences
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.search.beam_search import (
    Features,
    Parameters,
    advance,
    grow,
    start,
)
from nmt_cli.search.scoring import IMPOSSIBLE
from nmt_cli.text.special_tokens import BOS_ID, CONTROL_TOKENS, EOS_ID

FIRST_LETTER = len(CONTROL_TOKENS)  # ids below are control tokens
VOCAB_SIZE = FIRST_LETTER + 3
_PRIME, _FACTOR = 251, 37
PLAIN = Features(
    sample=False,
    penalise_repetition=False,
    no_repeat_ngram_size=0,
    suppressed=(),
    force_prefix=False,
    cover=False,
)
SAMPLE = PLAIN._replace(sample=True)
FORCE = PLAIN._replace(force_prefix=True)
SCORE = 1e-5  # sums of a few float32 log-probabilities


class FakeModel:
    """Logits that are a pseudo-random function of all tokens written before."""

    def __init__(self, seed: int, spread: float = 2.0, vocab_size: int = VOCAB_SIZE) -> None:
        random = np.random.default_rng(seed)
        self.table = (spread * random.normal(size=(_PRIME, vocab_size))).astype(np.float32)

    @staticmethod
    def start(rows: int) -> tf.Tensor:
        return tf.zeros([rows], tf.int32)

    def step(self, ids, cache, position):
        cache = (cache * _FACTOR + ids + 1) % _PRIME
        return tf.gather(self.table, cache), cache

    @staticmethod
    def reorder(cache, rows):
        return tf.gather(cache, rows)

    def next_log_probs(self, prefix) -> np.ndarray:
        """The oracle's view: log-probabilities after a prefix, control tokens forbidden."""
        cache = 0
        for token in (BOS_ID, *prefix):
            cache = (cache * _FACTOR + token + 1) % _PRIME
        logits = self.table[cache].astype(np.float64)
        logits[[i for i in range(FIRST_LETTER) if i != EOS_ID]] = -np.inf
        return logits - np.log(np.sum(np.exp(logits)))

    def score(self, ids, length_penalty: float) -> float:
        total = sum(self.next_log_probs(ids[:t])[token] for t, token in enumerate(ids))
        return total / len(ids) ** length_penalty


class Chain(FakeModel):
    """Logits that depend on the last token only, given as {token: {next token: probability}}."""

    def __init__(self, chain: dict[int, dict[int, float]], vocab_size: int = VOCAB_SIZE) -> None:
        self.table = np.full((vocab_size, vocab_size), -30.0, np.float32)
        for token, following in chain.items():
            for other, probability in following.items():
                self.table[token, other] = math.log(probability)

    def step(self, ids, cache, position):
        return tf.gather(self.table, ids), cache


def parameters(**changes) -> Parameters:
    values = {
        "length_penalty": 1.0,
        "coverage_penalty": 0.0,
        "prefix": (),
        "n_best": 1,
        "repetition_penalty": 1.0,
        "temperature": 1.0,
        "top_k": 0,
        "top_p": 1.0,
    }
    values.update(changes)
    values["prefix"] = [values["prefix"]]
    integers = {"prefix", "n_best", "top_k"}
    return Parameters(
        **{
            name: tf.constant(value, tf.int32 if name in integers else tf.float32)
            for name, value in values.items()
        }
    )


def search_greedy(model, limits, *, features=PLAIN, **changes):
    """Return (ids, log-probability) of each sentence, written by one beam."""
    features = features._replace(one_beam=True)
    found, _ = search_beam(model, limits, 1, features=features, length_penalty=0.0, **changes)
    return [one for (one,) in found]


def search_beam(
    model,
    limits,
    beam_size,
    *,
    features=PLAIN,
    noise=None,
    min_length=0,
    bonus=None,
    **changes,
):
    """Return the ended (ids, score) of each sentence, best first, and the final state."""
    state = start(
        model.start(len(limits) * beam_size),
        tf.constant(limits),
        tf.fill([len(limits)], min_length),
        tf.constant(np.zeros((1, 1)) if noise is None else noise, tf.float32),
        tf.constant(beam_size),
        tf.constant(max(limits)),
    )
    state = advance(state, model.step, model.reorder, bonus, parameters(**changes), features)
    return ended(state), state


def ended(state):
    return [
        [
            (trimmed(ids), float(score))
            for ids, score in zip(row, scores, strict=True)
            if score > IMPOSSIBLE / 2
        ]
        for row, scores in zip(
            state.ended_sequences.numpy(), state.ended_scores.numpy(), strict=True
        )
    ]


def trimmed(ids) -> tuple[int, ...]:
    return tuple(int(i) for i in ids if i)


def greedy_by_hand(model, limit) -> tuple[int, ...]:
    ids: tuple[int, ...] = ()
    while len(ids) < limit and EOS_ID not in ids:
        ids = (*ids, int(np.argmax(model.next_log_probs(ids))))
    return ids


# --- greedy ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_greedy_takes_the_likeliest_token_each_time(seed):
    model = FakeModel(seed)
    ((ids, log_prob),) = search_greedy(model, [8])
    assert ids == greedy_by_hand(model, 8)
    assert log_prob == pytest.approx(model.score(ids, 0.0), abs=SCORE)


def test_greedy_stops_at_the_end_token():
    a, b = FIRST_LETTER, FIRST_LETTER + 1
    model = Chain({BOS_ID: {a: 0.9, b: 0.1}, a: {b: 1.0}, b: {EOS_ID: 1.0}})
    assert search_greedy(model, [9])[0][0] == (a, b, EOS_ID)


def test_each_sentence_keeps_its_own_limit():
    a = FIRST_LETTER
    model = Chain({BOS_ID: {a: 1.0}, a: {a: 0.9, EOS_ID: 0.1}})  # never ends by itself
    found = search_greedy(model, [3, 1, 5])
    assert [ids for ids, _ in found] == [(a,) * 3, (a,), (a,) * 5]
    expected = [2 * math.log(0.9), 0.0, 4 * math.log(0.9)]  # what follows a limit adds nothing
    np.testing.assert_allclose([log_prob for _, log_prob in found], expected, atol=SCORE)


def test_control_tokens_are_never_written_and_have_no_share():
    """A model that would rather write `<pad>`, `<s>` or `<user>` writes its best real token."""
    a = FIRST_LETTER
    model = Chain({BOS_ID: {0: 0.3, 1: 0.2, 3: 0.3, a: 0.2}, a: {EOS_ID: 1.0}})
    ((ids, log_prob),) = search_greedy(model, [4])
    assert ids == (a, EOS_ID)
    assert log_prob == pytest.approx(0.0, abs=SCORE)


def test_minimum_length_holds_back_the_end_token():
    a, b = FIRST_LETTER, FIRST_LETTER + 1
    model = Chain(
        {BOS_ID: {EOS_ID: 0.8, a: 0.2}, a: {EOS_ID: 0.9, b: 0.1}, b: {EOS_ID: 0.5, b: 0.5}}
    )
    assert search_greedy(model, [6], min_length=0)[0][0] == (EOS_ID,)
    assert search_greedy(model, [6], min_length=1)[0][0] == (a, EOS_ID)
    ((ids, log_prob),) = search_greedy(model, [6], min_length=2)
    assert ids == (a, b, EOS_ID)
    # The mask acts before the softmax: what is left sums to one again.
    assert log_prob == pytest.approx(math.log(1.0 * 1.0 * 0.5), abs=SCORE)


# --- beam -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(6))
def test_a_beam_of_one_is_greedy(seed, length_penalty):
    model = FakeModel(seed)
    ids = greedy_by_hand(model, 8)
    log_prob = model.score(ids, 0.0)
    ((found,),), _ = search_beam(model, [8], 1, length_penalty=length_penalty)
    assert found[0] == ids
    assert found[1] == pytest.approx(log_prob / len(ids) ** length_penalty, abs=SCORE)
    assert search_greedy(model, [8])[0][0] == ids


@pytest.mark.parametrize("length_penalty", [0.0, 0.6, 1.0, 2.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_wide_beam_finds_what_trying_everything_finds(seed, length_penalty):
    """4 tokens and 5 positions make 364 sequences; this beam drops none of them."""
    model = FakeModel(seed)
    n_best = 1 if length_penalty == 0 else 20  # without penalty the search ends with the best
    expected = best_sequences(model.next_log_probs, EOS_ID, VOCAB_SIZE, 5, length_penalty, n=n_best)

    (found,), _ = search_beam(model, [5], 364, length_penalty=length_penalty, n_best=n_best)

    np.testing.assert_allclose(
        [score for _, score in found[:n_best]], [score for _, score in expected], atol=SCORE
    )
    assert [ids for ids, _ in found[:n_best]] == [ids for ids, _ in expected]


@pytest.mark.parametrize("beam_size", [2, 3, 5])
@pytest.mark.parametrize("seed", range(4))
def test_hypotheses_are_ordered_different_and_rightly_scored(seed, beam_size):
    model = FakeModel(seed)
    (found,), _ = search_beam(model, [7], beam_size, n_best=beam_size)
    scores = [score for _, score in found]
    assert len(found) == beam_size
    assert scores == sorted(scores, reverse=True)
    assert len({ids for ids, _ in found}) == beam_size
    for ids, score in found:
        assert score == pytest.approx(model.score(ids, 1.0), abs=SCORE)
        assert ids[-1] == EOS_ID or len(ids) == 7
        assert EOS_ID not in ids[:-1]


def test_a_beam_finds_what_greedy_walks_past():
    a, b, c = range(FIRST_LETTER, FIRST_LETTER + 3)
    model = Chain(
        {
            BOS_ID: {a: 0.6, b: 0.4},
            a: {a: 0.34, b: 0.33, c: 0.33},
            b: {EOS_ID: 0.99, a: 0.01},
            c: {EOS_ID: 1.0},
        }
    )
    assert search_greedy(model, [4])[0][0][0] == a
    ((best, *_),), _ = search_beam(model, [4], 2, length_penalty=0.0)
    assert best[0] == (b, EOS_ID)
    assert best[1] == pytest.approx(math.log(0.4 * 0.99), abs=SCORE)


def test_a_hypothesis_that_ends_leaves_its_place_to_another():
    """Of three beginnings the likeliest ends at once; both others live on in a beam of two."""
    a, b, c = range(FIRST_LETTER, FIRST_LETTER + 3)
    model = Chain(
        {BOS_ID: {EOS_ID: 0.5, a: 0.3, b: 0.2}, a: {c: 0.9, EOS_ID: 0.1}, b: {EOS_ID: 1.0}}
    )
    (found,), _ = search_beam(model, [5], 2, n_best=2)
    assert [ids for ids, _ in found] == [(EOS_ID,), (b, EOS_ID)]


def test_a_sentence_does_not_depend_on_its_neighbours():
    """Different limits, so that some sentences are done long before others."""
    model, limits = FakeModel(3), [2, 7, 4, 1]
    together, _ = search_beam(model, limits, 3)
    for limit, found in zip(limits, together, strict=True):
        (alone,), _ = search_beam(model, [limit], 3)
        assert [ids for ids, _ in found] == [ids for ids, _ in alone]
        np.testing.assert_allclose([s for _, s in found], [s for _, s in alone], atol=SCORE)


def test_a_longer_limit_of_a_neighbour_adds_nothing_to_a_done_sentence():
    model = FakeModel(1)
    found, state = search_beam(model, [2, 9], 4)
    assert all(len(ids) <= 2 for ids, _ in found[0])
    assert state.position > 2


def test_the_search_ends_when_the_beam_has_ended():
    """With K hypotheses ended, nothing more is written although there is room."""
    a, b = FIRST_LETTER, FIRST_LETTER + 1
    model = Chain({BOS_ID: {a: 0.5, b: 0.5}, a: {EOS_ID: 0.9, a: 0.1}, b: {EOS_ID: 0.9, b: 0.1}})
    (found,), state = search_beam(model, [50], 2)
    assert {ids for ids, _ in found} == {(a, EOS_ID), (b, EOS_ID)}
    assert state.position == 2


def test_without_length_penalty_the_search_ends_with_the_likeliest():
    """Once the likeliest hypothesis has ended no other can overtake it."""
    a = FIRST_LETTER
    model = Chain({BOS_ID: {EOS_ID: 0.9, a: 0.1}, a: {a: 0.9, EOS_ID: 0.1}})
    _, state = search_beam(model, [40], 2, length_penalty=0.0)
    assert state.position == 1
    _, state = search_beam(model, [40], 2, length_penalty=1.0)
    assert state.position > 1


def test_without_length_penalty_the_search_goes_on_until_as_many_as_wanted_have_ended():
    a = FIRST_LETTER
    model = Chain({BOS_ID: {EOS_ID: 0.9, a: 0.1}, a: {a: 0.6, EOS_ID: 0.4}})
    for wanted in (1, 2):
        (found,), state = search_beam(model, [40], 4, length_penalty=0.0, n_best=wanted)
        assert [len(ids) for ids, _ in found[:wanted]] == list(range(1, wanted + 1))
        assert state.position == wanted


def test_what_is_cut_at_the_limit_competes_as_it_is():
    a = FIRST_LETTER
    model = Chain({BOS_ID: {a: 1.0}, a: {a: 0.9, EOS_ID: 0.1}})
    (found,), _ = search_beam(model, [3], 2, length_penalty=0.0, n_best=2, min_length=1)
    assert found[0][0] == (a, a, a)
    assert found[0][1] == pytest.approx(2 * math.log(0.9), abs=SCORE)


def test_a_beam_wider_than_the_alphabet_invents_nothing():
    """Only as many hypotheses come back as there are sequences."""
    a = FIRST_LETTER
    model = Chain({BOS_ID: {a: 1.0}, a: {EOS_ID: 1.0}})
    (found,), _ = search_beam(model, [1], 8, n_best=8)
    assert {len(ids) for ids, _ in found} == {1}
    assert len({ids for ids, _ in found}) == len(found) == 4  # three letters and the end token


@pytest.mark.parametrize("beam_size", [1, 3])
def test_growing_room_changes_nothing(beam_size):
    """Room for 2, then 5, then 9 positions gives what room for 9 gives at once."""
    model, limits = FakeModel(5, spread=0.7), [9, 6]

    def begin(capacity):
        between = (tf.constant(limits), tf.constant([4, 4]), tf.zeros([2, 1]))
        cache = model.start(2 * beam_size)
        return start(cache, *between, tf.constant(beam_size), tf.constant(capacity))

    def run(state):
        return advance(state, model.step, model.reorder, None, parameters(), PLAIN)

    whole, state = run(begin(9)), run(begin(2))
    for capacity in (5, 9):
        assert not np.all(state.done)
        state = run(grow(state, state.cache, tf.constant(capacity)))

    for name in whole._fields:
        np.testing.assert_array_equal(getattr(whole, name), getattr(state, name), err_msg=name)


# --- constraints ----------------------------------------------------------------------------------


def has_repeat(ids, size) -> bool:
    ngrams = [tuple(ids[i : i + size]) for i in range(len(ids) - size + 1)]
    return len(set(ngrams)) < len(ngrams)


@settings(max_examples=15)
@given(
    seed=st.integers(0, 10**6),
    size=st.integers(1, 4),
    kind=st.sampled_from(["greedy", "beam", "sample"]),
)
def test_no_ngram_is_written_twice(seed, size, kind):
    model = FakeModel(seed, spread=1.0)
    model.table[:, EOS_ID] -= 3  # long outputs
    features = PLAIN._replace(no_repeat_ngram_size=size, sample=kind == "sample")
    # An alphabet of three letters has 3**size n-grams; beyond, every letter is forbidden.
    limit = min(12, 3**size + size - 1)
    if kind == "beam":
        (found,), _ = search_beam(model, [limit], 3, features=features, n_best=3)
    else:
        noise = np.random.default_rng(seed).random((1, limit))
        found = search_greedy(model, [limit], features=features, noise=noise)
    for ids, score in found:
        assert score > IMPOSSIBLE / 2
        assert not has_repeat(ids, size), ids


def test_without_blocking_this_model_repeats_itself():
    """The property above is no accident of the fake."""
    a, b, c = range(FIRST_LETTER, FIRST_LETTER + 3)
    model = Chain({BOS_ID: {a: 1.0}, a: {b: 0.9, c: 0.1}, b: {a: 1.0}, c: {EOS_ID: 1.0}})
    assert search_greedy(model, [6])[0][0] == (a, b, a, b, a, b)
    blocked = PLAIN._replace(no_repeat_ngram_size=2)
    assert search_greedy(model, [6], features=blocked)[0][0] == (a, b, a, c, EOS_ID)


def test_repetition_penalty_makes_room_for_others():
    """By hand: after `a`, logits log .6 and log .4 become 2 log .6 = -1.02 and -.92."""
    a, b = FIRST_LETTER, FIRST_LETTER + 1
    model = Chain({BOS_ID: {a: 1.0}, a: {a: 0.6, b: 0.4}, b: {EOS_ID: 1.0}})
    assert search_greedy(model, [2])[0][0] == (a, a)
    penalised = PLAIN._replace(penalise_repetition=True)
    ((ids, log_prob),) = search_greedy(model, [2], features=penalised, repetition_penalty=2.0)
    assert ids == (a, b)
    assert log_prob == pytest.approx(math.log(0.4 / (0.4 + 0.36)), abs=SCORE)


# --- sampling -------------------------------------------------------------------------------------


def draw(model, noise, **changes):
    """Return the first token drawn for each uniform number."""
    noise = np.asarray(noise)[:, None]
    found = search_greedy(model, [1] * len(noise), features=SAMPLE, noise=noise, **changes)
    return np.array([ids[0] for ids, _ in found])


A, B, C = range(FIRST_LETTER, FIRST_LETTER + 3)
THREE = Chain({BOS_ID: {A: 0.5, B: 0.3, C: 0.2}})


def test_the_uniform_number_picks_the_token():
    """Likeliest first: [0, .5) is A, [.5, .8) is B, [.8, 1) is C."""
    assert draw(THREE, [0.0, 0.49, 0.51, 0.79, 0.81, 0.9999]).tolist() == [A, A, B, B, C, C]


def test_a_uniform_number_rounded_up_to_one_picks_the_last_token():
    """A double just below one becomes 1.0 as float32."""
    assert draw(THREE, [1.0], top_k=3).tolist() == [C]


def test_frequencies_are_the_probabilities():
    count = 20_000
    found = draw(THREE, np.random.default_rng(0).random(count))
    for token, probability in ((A, 0.5), (B, 0.3), (C, 0.2)):
        share = np.mean(found == token)
        # Five standard deviations of a binomial share: one false alarm in two million seeds.
        bound = 5 * math.sqrt(probability * (1 - probability) / count)
        assert abs(share - probability) < bound


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"temperature": 0.5}, [0.25, 0.09, 0.04]),
        ({"temperature": 2.0}, [0.5**0.5, 0.3**0.5, 0.2**0.5]),
        ({"top_k": 2}, [0.5, 0.3, 0]),
        ({"top_k": 1}, [1, 0, 0]),
        ({"top_k": 500}, [0.5, 0.3, 0.2]),  # more than there are
        ({"top_p": 0.6}, [0.5, 0.3, 0]),  # A alone holds less than .6
        ({"top_p": 0.45}, [1, 0, 0]),  # A alone is enough
        ({"top_p": 0.49}, [1, 0, 0]),
        ({"top_p": 0.51}, [0.5, 0.3, 0]),
        ({"top_p": 0.79}, [0.5, 0.3, 0]),
        ({"top_p": 0.81}, [0.5, 0.3, 0.2]),
        ({"top_p": 1e-6}, [1, 0, 0]),
        ({"top_k": 2, "top_p": 0.55}, [1, 0, 0]),  # among two, A holds .625
    ],
)
def test_shares_under_temperature_top_k_and_top_p(changes, expected):
    """A grid of 1,000 uniform numbers measures the shares to one in a thousand."""
    found = draw(THREE, (np.arange(1000) + 0.5) / 1000, **changes)
    shares = np.array([np.mean(found == token) for token in (A, B, C)])
    np.testing.assert_allclose(shares, np.array(expected) / sum(expected), atol=1.1e-3)


@pytest.mark.parametrize("changes", [{"top_k": 1}, {"top_p": 1e-6}, {"temperature": 1e-4}])
def test_sampling_without_choice_is_greedy(changes):
    model, noise = FakeModel(2), np.random.default_rng(2).random((1, 8))
    sampled = search_greedy(model, [8], features=SAMPLE, noise=noise, **changes)
    assert sampled[0][0] == greedy_by_hand(model, 8)


def test_a_sample_depends_on_its_own_numbers_only():
    model, noise = FakeModel(4), np.random.default_rng(4).random((5, 8))
    together = search_greedy(model, [8] * 5, features=SAMPLE, noise=noise)
    for row in range(5):
        alone = search_greedy(model, [8], features=SAMPLE, noise=noise[row : row + 1])
        assert alone[0][0] == together[row][0]


def test_different_numbers_give_different_samples():
    model, noise = FakeModel(4, spread=0.5), np.random.default_rng(5).random((20, 8))
    found = search_greedy(model, [8] * 20, features=SAMPLE, noise=noise)
    assert len({ids for ids, _ in found}) > 10


def test_all_possible_samples_are_scored_by_the_model_not_by_the_sampler():
    """The log-probability of a sample is the model's, whatever the temperature."""
    model, noise = FakeModel(6), np.random.default_rng(6).random((1, 8))
    ((ids, log_prob),) = search_greedy(model, [8], features=SAMPLE, noise=noise, temperature=3.0)
    assert log_prob == pytest.approx(model.score(ids, 0.0), abs=SCORE)


def test_the_fake_distinguishes_histories():
    """The oracle of this file is sharp: other prefixes give other scores."""
    model = FakeModel(0)
    prefixes = [p for n in range(3) for p in itertools.product((A, B, C), repeat=n)]
    rows = {tuple(np.round(model.next_log_probs(p), 6)) for p in prefixes}
    assert len(rows) == len(prefixes)


PREFIX = [FIRST_LETTER + 1, FIRST_LETTER]


@pytest.mark.parametrize("length_penalty", [0.0, 1.0])
def test_a_forced_prefix_is_an_exhaustive_search_among_what_begins_with_it(length_penalty):
    """The prefix counts in the length and not in the log-probability."""
    model, limit = FakeModel(11), 4

    def after_prefix(prefix):
        if len(prefix) < len(PREFIX):
            only = np.full(VOCAB_SIZE, -np.inf)
            only[PREFIX[len(prefix)]] = 0.0
            return only
        return model.next_log_probs(prefix)

    expected = [
        (list(ids), score)
        for ids, score in best_sequences(
            after_prefix, EOS_ID, VOCAB_SIZE, limit, length_penalty, n=5
        )
        if math.isfinite(score)
    ]
    (found,), _ = search_beam(
        model,
        [limit],
        64,
        features=FORCE,
        n_best=5,
        prefix=PREFIX,
        length_penalty=length_penalty,
    )

    assert [list(ids) for ids, _ in found[:5]] == [ids for ids, _ in expected]
    np.testing.assert_allclose(
        [score for _, score in found[:5]], [score for _, score in expected], atol=SCORE
    )


def test_greedy_search_begins_with_the_prefix():
    model = FakeModel(12)
    (plain,) = search_greedy(model, [6])
    (found,) = search_greedy(model, [6], features=FORCE, prefix=PREFIX)
    assert list(found[0][:2]) == PREFIX != list(plain[0][:2])


@pytest.mark.parametrize("kind", ["greedy", "beam"])
def test_no_output_holds_a_suppressed_row(kind):
    model = FakeModel(13, spread=0.5)
    search = search_greedy if kind == "greedy" else lambda *a, **k: search_beam(*a, 3, **k)[0][0]
    (ids, _), *_ = search(model, [9], min_length=8)
    row = tuple(ids[3:5])
    features = PLAIN._replace(suppressed=(row,))
    (others, _), *_ = search(model, [9], min_length=8, features=features)
    assert row in set(itertools.pairwise(ids))
    assert row not in set(itertools.pairwise(others))


def test_a_bonus_is_added_to_the_score_of_the_row_that_ends():
    """A bonus for one state of the cache lifts exactly the hypotheses that end there."""
    model, limit = FakeModel(14), 3
    (plain,), _ = search_beam(model, [limit], 16, n_best=16, length_penalty=0.0)
    loser, loser_score = plain[-1]
    cache = 0
    for token in (BOS_ID, *loser[:-1]):
        cache = (cache * _FACTOR + token + 1) % _PRIME

    def bonus(caches):
        return tf.where(caches == cache, 100.0, 0.0)

    (found,), _ = search_beam(model, [limit], 16, n_best=16, length_penalty=0.0, bonus=bonus)
    assert found[0][1] > 80
    lifted = {tuple(ids): score for ids, score in found}
    assert lifted[tuple(loser)] == pytest.approx(loser_score + 100, abs=1e-4)
