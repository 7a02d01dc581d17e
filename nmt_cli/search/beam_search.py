"""Beam search as pure functions over a step function; with one beam it is greedy, or samples.

A search knows nothing of the model. It is given `step(ids [N], cache, position) -> (logits [N, V],
cache)` and `reorder(cache, rows [N]) -> cache`. Its state is a named tuple of tensors with room for
`C` positions; `advance` runs until that room is full or every sentence is done, and the caller may
then `grow` the state and continue. Letters: `B` sentences, `K` beams, `N` rows, `V` vocabulary, `C`
capacity.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from nmt_cli.search import scoring
from nmt_cli.search.scoring import IMPOSSIBLE
from nmt_cli.text.special_tokens import BOS_ID, EOS_ID

Tensor = Any
Cache = Any
StepFn = Callable[[Tensor, Cache, Tensor], tuple[Tensor, Cache]]
ReorderFn = Callable[[Cache, Tensor], Cache]
BonusFn = Callable[[Cache], Tensor]


class Parameters(NamedTuple):
    """The numbers of `SearchOptions` as tensors, so that new values need no new graph.

    All are scalars but `prefix`, int32: [B, P], 0 after the end of a sentence's prefix, or [1, P].
    """

    length_penalty: Tensor
    coverage_penalty: Tensor
    prefix: Tensor
    n_best: Tensor
    repetition_penalty: Tensor
    temperature: Tensor
    top_k: Tensor
    top_p: Tensor


class Features(NamedTuple):
    """The options that decide which operations the graph holds."""

    sample: bool
    penalise_repetition: bool
    no_repeat_ngram_size: int
    suppressed: tuple[tuple[int, ...], ...]
    force_prefix: bool
    cover: bool
    num_tags: int = 0  # of the vocabulary
    one_beam: bool = False  # the quick way to the best token of one hypothesis


class State(NamedTuple):
    """K live hypotheses and the best K ended ones of each sentence."""

    position: Tensor  # scalar, tokens written so far
    limits: Tensor  # [B] longest output
    floors: Tensor  # [B] shortest output
    sequences: Tensor  # [B, K, C] int32 tokens of live hypotheses
    log_probs: Tensor  # [B, K] their log-probabilities; IMPOSSIBLE for a place that is not taken
    ended_sequences: Tensor  # [B, K, C] ended hypotheses, best first
    ended_scores: Tensor  # [B, K] their scores; IMPOSSIBLE for a place that is not taken
    num_ended: Tensor  # [B] how many hypotheses have ended so far
    top_ended: Tensor  # [B] bool, whether a hypothesis ended while it was the likeliest of all
    done: Tensor  # [B] bool
    noise: Tensor  # [B, L] uniform numbers that decide the samples, one for each position
    cache: Cache  # the step function's, rows ordered sentence by sentence


def start(
    cache: Cache,
    limits: Tensor,
    floors: Tensor,
    noise: Tensor,
    beam_size: Tensor,
    capacity: Tensor,
) -> State:
    """Return the state before the first token: one live hypothesis, K - 1 free places."""
    batch = tf.shape(limits)[0]
    sequences = tf.zeros([batch, beam_size, capacity], tf.int32)  # [B, K, C]
    free = tf.fill([batch, beam_size], IMPOSSIBLE)  # [B, K]
    first = tf.range(beam_size)[None, :] == 0  # [1, K]
    return State(
        position=tf.constant(0),
        limits=limits,
        floors=floors,
        sequences=sequences,
        log_probs=tf.where(first, 0.0, free),
        ended_sequences=sequences,
        ended_scores=free,
        num_ended=tf.zeros([batch], tf.int32),
        top_ended=tf.zeros([batch], tf.bool),
        done=tf.zeros([batch], tf.bool),
        noise=noise,
        cache=cache,
    )


def advance(
    state: State,
    step: StepFn,
    reorder: ReorderFn,
    bonus: BonusFn | None,
    parameters: Parameters,
    features: Features,
) -> State:
    """Write tokens until the capacity is full or all sentences are done.

    A step takes the best 2K continuations of a sentence's K hypotheses, or draws that of its only
    one. Those among the best K that end are set aside with their score; the best K that do not end
    live on. A sentence is done when K have ended, at its length limit, or, without a length penalty
    or bonus, as soon as enough have ended and one of them was the likeliest of all, since no other
    can then overtake it.

    `bonus` gives what the rows of a cache add to the score of a hypothesis that ends, [N].
    """
    batch, beam_size, capacity = tf.unstack(tf.shape(state.sequences))

    def unfinished(state: State) -> Tensor:
        return (state.position < capacity) & ~tf.reduce_all(state.done)

    def body(state: State) -> tuple[State]:
        sequences = tf.reshape(state.sequences, [-1, capacity])  # [B*K, C]
        logits, cache = step(_last_tokens(sequences, state.position), state.cache, state.position)
        log_probs = _log_probs(logits, sequences, state, parameters, features)
        totals = tf.reshape(log_probs, [batch, beam_size, -1])  # [B, K, V]
        totals += state.log_probs[:, :, None]  # [B, K, V]
        if features.sample or features.one_beam:
            noise = tf.gather(state.noise, state.position, axis=1) if features.sample else None
            tokens = _likeliest(log_probs) if noise is None else _draw(log_probs, noise, parameters)
            tokens, beams = tokens[:, None], tf.zeros([batch, 1], tf.int32)  # [B, 1]
            values = tf.gather(totals[:, 0], tokens, batch_dims=1)  # [B, 1]
        else:
            count = tf.minimum(2, tf.shape(totals)[2]) * beam_size
            values, beams, tokens = _best(totals, count)
        extra = tf.reshape(bonus(cache), [batch, beam_size]) if bonus else None  # [B, K]
        after = _set_aside(state, (values, beams, tokens), extra, parameters)
        live, kept = tf.math.top_k(tf.where(tokens == EOS_ID, IMPOSSIBLE, values), beam_size)
        beams, tokens = (tf.gather(x, kept, batch_dims=1) for x in (beams, tokens))  # [B, K]
        rows = tf.reshape(beams + tf.range(batch)[:, None] * beam_size, [-1])  # [B*K]
        tokens = tf.reshape(tokens, [-1])  # [B*K]
        grown = _write(tf.gather(sequences, rows), state.position, tokens)  # [B*K, C]
        after = after._replace(
            position=state.position + 1,
            sequences=tf.reshape(grown, [batch, beam_size, capacity]),  # [B, K, C]
            log_probs=live,
            cache=cache if features.one_beam else reorder(cache, rows),
        )
        tf.nest.map_structure(lambda old, new: new.set_shape(old.shape), state, after)
        return (after,)

    (final,) = tf.while_loop(unfinished, body, (state,))
    return final  # type: ignore[no-any-return]


def _likeliest(log_probs: Tensor) -> Tensor:
    """Return the first of each row's best tokens: [N, V] -> [N]; XLA's argmax goes one by one."""
    vocab_size = tf.shape(log_probs)[1]
    best = log_probs == tf.reduce_max(log_probs, axis=1, keepdims=True)  # [N, V]
    return tf.reduce_min(tf.where(best, tf.range(vocab_size), vocab_size - 1), axis=1)  # [N]


def _best(totals: Tensor, count: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the best of totals [B, K, V], best first, their beams and tokens, all [B, count].

    They lie in the `count` tokens that are best over all beams, or as many: finding the best beam
    of each token is one quick pass, which leaves a K-th to choose from.
    """
    columns = tf.minimum(count, tf.shape(totals)[2])
    _, likely = tf.math.top_k(tf.reduce_max(totals, axis=1), columns)  # [B, columns]
    few = tf.gather(totals, likely, axis=2, batch_dims=1)  # [B, K, columns]
    values, flat = tf.math.top_k(tf.reshape(few, [tf.shape(few)[0], -1]), count)  # [B, count]
    return values, flat // columns, tf.gather(likely, flat % columns, batch_dims=1)  # [B, count]


def _set_aside(
    state: State, best: Sequence[Tensor], extra: Tensor | None, parameters: Parameters
) -> State:
    """Put those of the best K candidates that end among the ended hypotheses."""
    beam_size = tf.shape(state.log_probs)[1]
    values, beams, tokens = (x[:, :beam_size] for x in best)  # [B, K]
    length = state.position + 1
    at_limit = length >= state.limits  # [B]
    is_taken = values > IMPOSSIBLE / 2  # [B, K]
    is_end = is_taken & (tokens == EOS_ID)  # [B, K]
    ended = (is_end | (is_taken & at_limit[:, None])) & ~state.done[:, None]  # [B, K]
    scores = scoring.normalised_score(values, length, parameters.length_penalty)
    if extra is not None:
        scores += tf.gather(extra, beams, batch_dims=1)  # [B, K]
    scores = tf.where(ended, scores, IMPOSSIBLE)
    all_scores = tf.concat([state.ended_scores, scores], axis=1)  # [B, 2K]
    ended_scores, which = tf.math.top_k(all_scores, beam_size)  # [B, K]
    before = tf.gather(state.sequences, beams, batch_dims=1)  # [B, K, C]
    before = tf.reshape(before, [-1, tf.shape(before)[2]])  # [B*K, C]
    candidates = _write(before, state.position, tf.reshape(tokens, [-1]))  # [B*K, C]
    candidates = tf.reshape(candidates, tf.shape(state.sequences))  # [B, K, C]
    everything = tf.concat([state.ended_sequences, candidates], axis=1)  # [B, 2K, C]
    num_ended = state.num_ended + tf.reduce_sum(tf.cast(ended, tf.int32), axis=1)  # [B]
    top_ended = state.top_ended | is_end[:, 0]  # [B]
    enough = num_ended >= beam_size
    is_final = (parameters.length_penalty == 0.0) & (extra is None)
    certain = is_final & top_ended & (num_ended >= parameters.n_best)
    return state._replace(
        ended_sequences=tf.gather(everything, which, batch_dims=1),  # [B, K, C]
        ended_scores=ended_scores,
        num_ended=num_ended,
        top_ended=top_ended,
        done=state.done | at_limit | enough | certain,
    )


def grow(state: State, cache: Cache, capacity: Tensor) -> State:
    """Return the state with room for `capacity` positions and the given, equally grown, cache."""
    more = [[0, 0], [0, 0], [0, capacity - tf.shape(state.sequences)[2]]]
    live, ended = (tf.pad(x, more) for x in (state.sequences, state.ended_sequences))  # [B, K, C]
    return state._replace(cache=cache, sequences=live, ended_sequences=ended)


def _last_tokens(sequences: Tensor, position: Tensor) -> Tensor:
    """Return the token each row wrote last, `<s>` at the start: [N, C] -> [N]."""
    last = tf.gather(sequences, tf.maximum(position - 1, 0), axis=1)  # [N]
    return tf.where(position == 0, BOS_ID, last)


def _write(sequences: Tensor, position: Tensor, tokens: Tensor) -> Tensor:
    """Return sequences [N, C] with tokens [N] written at `position`."""
    here = tf.range(tf.shape(sequences)[1]) == position
    return tf.where(here[None, :], tokens[:, None], sequences)  # [N, C]


def _log_probs(
    logits: Tensor, sequences: Tensor, state: State, parameters: Parameters, features: Features
) -> Tensor:
    """Return log-probabilities [N, V] under all penalties and masks.

    All act before the softmax, as in CTranslate2: a share of probability that no output can have,
    such as that of control tokens, goes to the others.
    """
    if features.penalise_repetition:
        logits = scoring.repetition_penalised(logits, sequences, parameters.repetition_penalty)
    if features.no_repeat_ngram_size:
        logits = scoring.ngram_blocked(
            logits, sequences, state.position, features.no_repeat_ngram_size
        )
    if features.suppressed:
        logits = scoring.sequences_blocked(logits, sequences, state.position, features.suppressed)
    num_rows, vocab_size = tf.unstack(tf.shape(logits))
    floors = tf.repeat(state.floors, num_rows // tf.shape(state.floors)[0])  # [N]
    never = scoring.is_control(vocab_size, features.num_tags) | scoring.end_too_early(
        vocab_size, state.position, floors
    )
    log_probs = tf.nn.log_softmax(tf.where(never, IMPOSSIBLE, logits))
    if features.force_prefix:
        log_probs = scoring.forced(log_probs, state.position, parameters.prefix)
    return log_probs


def _draw(log_probs: Tensor, noise: Tensor, parameters: Parameters) -> Tensor:
    """Draw a token for each row by inverting the cumulative distribution at `noise` [N] in [0, 1).

    One uniform number decides a row's token, so a sample never depends on its neighbours.
    """
    vocab_size = tf.shape(log_probs)[1]
    limit = tf.where(parameters.top_k > 0, tf.minimum(parameters.top_k, vocab_size), vocab_size)
    values, tokens = tf.math.top_k(log_probs / parameters.temperature, limit)
    probabilities = tf.nn.softmax(values)
    before = tf.cumsum(probabilities, axis=1, exclusive=True)  # [N, limit]
    kept = tf.where(before < parameters.top_p, probabilities, 0.0)
    total = tf.reduce_sum(kept, axis=1, keepdims=True)  # [N, 1]
    passed = tf.cumsum(kept, axis=1) <= noise[:, None] * total  # [N, limit]
    num_kept = tf.reduce_sum(tf.cast(kept > 0, tf.int32), axis=1)  # [N]
    index = tf.minimum(tf.reduce_sum(tf.cast(passed, tf.int32), axis=1), num_kept - 1)  # [N]
    return tf.gather(tokens, index, batch_dims=1)  # [N]
