"""The statistics of a corpus, against counts by hand."""

import json

import pytest

from nmt_cli.config.schema import Config
from nmt_cli.errors import TrainingError
from nmt_cli.text import corpus
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.statistics import count_tokens, sample_text


@pytest.fixture
def measure(tmp_path):
    """A function that returns what `sample_text` finds in pairs of lines."""

    def measure(*pairs: tuple[str, str]):
        for i, side in enumerate(("source", "target")):
            (tmp_path / side).write_text("".join(f"{pair[i]}\n" for pair in pairs))
        corpus = {"source": "source", "target": "target"}
        config = Config.model_validate({"name": "x", "data": {"train": [corpus], "dev": [corpus]}})
        return sample_text(Corpora(config, tmp_path))

    return measure


def test_pairs_words_and_characters(measure):
    text, sample = measure(("a dog", "ein Hund"), ("a b", "c"), ("", "left out"))
    assert text.pairs == len(sample) == 2
    assert (text.source.words, text.target.words, text.both.words) == (4, 3, 7)
    assert text.source.alphabet == 2  # "a" and the space; the others are seen once
    assert text.both.alphabet == len("and ")


@pytest.mark.parametrize(
    ("line", "words", "scripts"),
    [
        ("나는 학교에 간다", 3, "100% Hangul"),  # 7 syllables: 3 by halves, 3 by spaces
        ("나는학교에간다", 3, "100% Hangul"),
        ("我喜歡讀書和寫作", 4, "100% Han"),
        ("ひらがなとカタカナ", 4, "100% Kana"),
        ("我的 dog", 2, "60% Latin, 40% Han"),
        ("größer", 1, "100% Latin"),
        ("привет мир", 2, "100% Cyrillic"),
        ("123 ...", 2, "no known script"),
    ],
)
def test_dense_scripts_count_two_characters_a_word(measure, line, words, scripts):
    side = measure((line, "x"))[0].source
    assert (side.words, side.scripts) == (words, scripts)


def test_a_large_corpus_is_counted_whole_and_sampled_evenly(measure, monkeypatch):
    monkeypatch.setattr(corpus, "_SAMPLE", 10)
    text, sample = measure(*((str(i), "word " * 3) for i in range(100)))
    assert text.pairs == 100
    assert [int(example.source[0]) for example in sample] == list(range(0, 100, 8))
    assert text.target.words == 300


def test_an_empty_corpus(measure):
    with pytest.raises(TrainingError, match="no pair of lines"):
        measure(("", "x"))


def test_lengths_in_tokens():
    """With a vocabulary of bytes alone a token is a byte; words get their marker."""
    config = Config.model_validate(
        {
            "name": "x",
            "data": {"train": [{"file": "a"}], "dev": [{"file": "a"}]},
            "tokenizer": {"vocab_size": 264},
        }
    )
    sample = [Example(("a" * n,), "a" * 2 * n) for n in range(1, 11)]
    tokens = count_tokens(sample, config, sample[:2])
    marker, end = 1, 1
    assert tokens.longest == 20 + marker + end
    assert tokens.mean.counted == 11 + marker + end
    assert tokens.dev == (2 + 4) + 2 * (marker + end)
    assert json.dumps(tokens.longest)


def test_a_chat_is_measured_before_it_is_cut():
    config = Config.model_validate(
        {
            "name": "x",
            "task": "chat",
            "data": {"train": [{"file": "a"}], "dev": [{"file": "a"}]},
            "tokenizer": {"vocab_size": 264},
            "model": {"max_length": 4},
        }
    )
    conversation = Example(("a" * 50, "a" * 50), "a")
    assert count_tokens([conversation], config, []).longest > 100
