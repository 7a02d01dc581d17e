"""Tests of the sentiment corpus and of the generator that writes it."""

import itertools
import random
from collections import Counter
from pathlib import Path

import pytest
from generators import sentiment
from generators.small_talk_rows import DEV, TEST, TRAIN, first_phrasings, lines_of
from generators.small_talk_script import fold, read_intents

CORPUS_DIR = Path(sentiment.__file__).parent.parent / "sentiment-en"
LABELS = {"positive", "negative", "neutral"}


@pytest.fixture(scope="module")
def corpus():
    return sentiment.make_corpus()


@pytest.fixture(scope="module")
def rows(corpus):
    return {
        name.removesuffix(".tsv"): [tuple(line.split("\t")) for line in text.splitlines()[1:]]
        for name, text in corpus.items()
    }


@pytest.fixture(scope="module")
def labels():
    return read_intents(sentiment.TEXT_DIR)


def test_the_committed_files_are_what_the_generator_writes(corpus):
    assert {path.name for path in CORPUS_DIR.iterdir()} == set(corpus)
    for name, text in corpus.items():
        assert (CORPUS_DIR / name).read_bytes() == text.encode()


def test_another_seed_gives_other_rows():
    assert sentiment.make_corpus(1)["test.tsv"] != sentiment.make_corpus(2)["test.tsv"]


def test_each_label_has_as_many_rows_in_every_split(rows):
    for split, count in sentiment.ROWS.items():
        assert Counter(label for _, label in rows[split]) == dict.fromkeys(LABELS, count)
    assert sum(map(len, rows.values())) >= 3000


def test_no_text_is_there_twice(rows):
    for split in rows.values():
        texts = [fold(text) for text, _ in split]
        assert len(set(texts)) >= 0.99 * len(texts)  # a misspelling may make two alike


def test_no_text_is_in_two_splits(rows):
    texts = {split: {fold(text) for text, _ in rows[split]} for split in rows}
    assert not texts[TRAIN] & texts[DEV]
    assert not texts[TRAIN] & texts[TEST]
    assert not texts[DEV] & texts[TEST]


def test_no_phrasing_is_in_two_splits(labels):
    for label in labels.values():
        splits = [
            set(first_phrasings(lines_of(label, split), random.Random(1), most=None))
            for split in (TRAIN, DEV, TEST)
        ]
        assert all(splits)
        assert not splits[0] & splits[1] | splits[0] & splits[2] | splits[1] & splits[2]


def test_labels_have_alike_numbers_of_phrasings(labels):
    assert set(labels) == LABELS
    for lines in ("phrasings", "held_out"):
        counts = [len(getattr(label, lines)) for label in labels.values()]
        assert min(counts) > 0.9 * max(counts)


def test_nothing_is_left_unfilled_and_articles_are_right(rows):
    for text, _ in (row for split in rows.values() for row in split):
        assert not set(text) & set("{}|()_")
        assert text == " ".join(text.split())
        if text[0].islower():  # as it may be typed: "an" may have been "and"
            continue
        words = text.lower().split()
        for article, word in itertools.pairwise(words):
            if article in ("a", "an"):
                assert (article == "an") == (word[0] in "aeiou"), text


def test_single_words_do_not_give_the_label_away(rows):
    """Frames such as "I must say" and words such as "not" are in texts of several labels."""
    found: dict[str, Counter[str]] = {}
    for text, label in rows[TRAIN]:
        for word in set(fold(text).split()):
            found.setdefault(word, Counter())[label] += 1
    for word in ("not", "never", "no", "but", "is", "i", "people", "so", "good", "bad"):
        assert max(found[word].values()) < 0.9 * found[word].total(), word
