"""Tests of nmt_cli/server/batching.py: answers in order, fair shares, a bounded queue."""

import threading
import time

import pytest

from nmt_cli.server.batching import Batcher
from nmt_cli.server.requests import QueueFullError


def batcher(run, **changes):
    settings = {"threads": 1, "batch_characters": 1000, "wait": 0.0, "queue_characters": 10_000}
    return Batcher(run, name="test", **{"most_seconds": 10.0} | settings | changes)


def shout(texts, _options):
    return [text.upper() for text in texts]


def test_each_request_gets_its_own_answers_in_order():
    found = batcher(shout, threads=2, queue_characters=1_000_000)
    requests = [[f"{i} {j}" + "x" * (i * j % 90) for j in range(i % 7 + 1)] for i in range(200)]
    futures = [found.submit(texts, options=i % 3) for i, texts in enumerate(requests)]
    assert [future.result(5) for future in futures] == [shout(texts, 0) for texts in requests]
    found.close()


def test_texts_that_wait_together_share_a_batch_if_their_options_agree():
    gate, batches = threading.Event(), []

    def run(texts, options):
        gate.wait(5)
        batches.append((options, sorted(texts)))
        return texts

    found = batcher(run)
    first = found.submit(["first"], "a")
    time.sleep(0.05)  # it is being run now
    others = [found.submit([text], options) for text, options in ("xa", "yb", "za")]
    gate.set()
    for future in (first, *others):
        future.result(5)
    assert batches == [("a", ["first"]), ("a", ["x", "z"]), ("b", ["y"])]


def test_a_short_text_does_not_wait_for_a_long_request():
    done = []

    def run(texts, _options):
        time.sleep(0.01)
        done.extend(texts)
        return texts

    found = batcher(run, batch_characters=500)
    long = found.submit(["l" * 100] * 90, "a")
    short = found.submit(["short"], "a")
    short.result(5)
    assert len(done) < 30
    long.result(5)


def test_texts_of_very_different_lengths_are_not_in_one_batch():
    batches = []

    def run(texts, _options):
        batches.append([len(text) for text in texts])
        return texts

    found = batcher(run, wait=0.2)
    for future in [found.submit([size * "x"], "a") for size in (10, 900, 12, 30)]:
        future.result(5)
    assert sorted(map(sorted, batches)) == [[10, 12, 30], [900]]


def test_above_its_limit_the_queue_refuses():
    gate = threading.Event()
    found = batcher(lambda texts, _: gate.wait(5) and texts, queue_characters=50)
    running = found.submit(["a"], "a")
    time.sleep(0.05)
    waiting = found.submit(["b" * 40], "a")
    with pytest.raises(QueueFullError) as refused:
        found.submit(["c" * 40], "a")
    assert refused.value.retry_after >= 1
    gate.set()
    assert (running.result(5), waiting.result(5)) == (["a"], ["b" * 40])
    assert found.submit(["c" * 40], "a").result(5) == ["c" * 40]


def test_idle_threads_share_the_batches_of_one_request():
    together = threading.Barrier(2)

    def run(texts, _options):
        together.wait(5)
        return texts

    found = batcher(run, threads=2, batch_characters=50)
    time.sleep(0.05)  # both wait for texts now
    assert found.submit(["a" * 40, "b" * 40], 0).result(9) == ["a" * 40, "b" * 40]
    found.close()


def test_a_text_alone_in_the_queue_may_be_larger_than_the_limit():
    assert batcher(shout, queue_characters=5).submit(["longer than that"], 0).result(5)


def test_what_fails_is_told_to_those_who_wait_for_it_alone():
    def run(texts, options):
        if options == "bad":
            raise ValueError("no")
        return texts

    found = batcher(run)
    bad, good = found.submit(["x", "y"], "bad"), found.submit(["x"], "good")
    with pytest.raises(ValueError, match="no"):
        bad.result(5)
    assert good.result(5) == ["x"]


def test_what_was_taken_back_is_not_run():
    gate, ran = threading.Event(), []

    def run(texts, _options):
        gate.wait(5)
        ran.extend(texts)
        return texts

    found = batcher(run)
    found.submit(["first"], "a")
    time.sleep(0.05)
    unwanted, wanted = found.submit(["unwanted"], "a"), found.submit(["wanted"], "a")
    assert unwanted.cancel()
    gate.set()
    wanted.result(5)
    assert ran == ["first", "wanted"]


def test_closing_answers_what_waits():
    found = batcher(lambda texts, _: time.sleep(0.02) or texts, batch_characters=3)
    futures = [found.submit([text], 0) for text in "abcdef"]
    found.close()
    assert [future.result(0) for future in futures] == [[text] for text in "abcdef"]


def test_after_its_end_it_refuses():
    """A model may be replaced while a request is on its way to it."""
    found = batcher(shout)
    found.close()
    with pytest.raises(QueueFullError):
        found.submit(["a"], 0)


def test_a_batch_with_a_result_too_few_ends_its_requests_and_no_thread():
    found = batcher(lambda texts, _options: texts[1:])
    with pytest.raises(ValueError, match="shorter"):
        found.submit(["a", "b"], None).result(5)
    assert found.is_well
    with pytest.raises(ValueError, match="shorter"):
        found.submit(["c"], None).result(5)
    found.close()
    assert not found.is_well


def test_what_would_wait_too_long_is_refused():
    """As much is accepted as the last batches say can be run in time."""

    def run(texts, _options):
        time.sleep(len(texts) * 0.02)  # 5,000 characters a second
        return texts

    found = batcher(run, queue_characters=1_000_000, most_seconds=1.0)
    for _ in range(60):  # it takes ten batches or so to learn
        found.submit(["x" * 99] * 6, "a").result(5)

    def flood():
        for _ in range(30):
            found.submit(["x" * 99] * 6, "a")

    with pytest.raises(QueueFullError) as error:
        flood()
    assert 1000 < sum(len(job.text) for queue in found._queues.values() for job in queue) < 12_000
    assert error.value.retry_after == 1
    found.close()
