"""Tests of nmt_cli/text/noise.py: what each kind does, how often, and what decides it."""

import itertools

import numpy as np
import pytest

from nmt_cli.config.schema import NOISES, TokenizerConfig
from nmt_cli.text import noise
from nmt_cli.text.corpus import Example
from nmt_cli.text.noise import CHANGES, Noise
from nmt_cli.text.shards import EncodedCorpus, Encoder
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.tokenizer import Subwords

LINES = [
    "A man rides a bike.",
    "Two dogs run. A cat sleeps.",
    "no end here",
    "그는 집에 갔다.",
] * 50
OUTPUTS = ["Er fährt Rad.", "Zwei Hunde rennen. Eine Katze schläft.", "kein Ende", "Er ging."] * 50


@pytest.fixture(scope="module")
def subwords():
    return Subwords.train(LINES + OUTPUTS, TokenizerConfig(vocab_size=500), ("<en>", "<de>"))


def side(subwords, lines, tag=()):
    rows = [[*tag, *ids, EOS_ID] for ids in subwords.encode_batch(lines)]
    flat = np.array(list(itertools.chain(*rows)), np.uint16)
    return flat, np.cumsum([0, *map(len, rows)])


def corpus_of(subwords, tag=()):
    return EncodedCorpus(*side(subwords, LINES, tag), *side(subwords, OUTPUTS))


def changed(subwords, shares, seed=1, epoch=0, max_length=200, tag=()):
    encoder = Encoder(subwords, subwords, is_chat=False, persona=None, max_length=max_length)
    return Noise(encoder, shares, seed).change(corpus_of(subwords, tag), epoch, 0)


def texts(subwords, corpus):
    def of(ids, offsets):
        return [subwords.decode(ids[a:b].tolist()) for a, b in itertools.pairwise(offsets)]

    return of(corpus.source, corpus.source_offsets), of(corpus.target, corpus.target_offsets)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("lower_case", "A Man.", "a man."),
        ("capitals", "a straße", "A STRASSE"),
        ("title_case", "a man's  dog", "A Man's  Dog"),
        ("final_punctuation", "Really?!", "Really"),
        ("final_punctuation", "Really", "Really."),
        ("final_punctuation", "本当に", "本当に。"),
        ("final_punctuation", "갔다", "갔다."),
        ("final_punctuation", "...", "..."),
        ("final_punctuation", "", ""),
    ],
)
def test_what_a_kind_makes(kind, text, expected):
    assert CHANGES[kind](text, np.random.default_rng(1)) == expected


def test_a_typo_in_every_tenth_word():
    random = np.random.default_rng(1)
    text = " ".join(["dogs"] * 40)
    for _ in range(20):
        words = noise.typos(text, random).split(" ")
        assert len(words) == 40
        assert sum(word != "dogs" for word in words) <= 4
    found = {noise.typos("dogs", random) for _ in range(200)}
    assert {"odgs", "ogs", "ddogs", "sogs", "fogs", "dog"} - found == {"dog"}  # never the last
    assert noise.typos("a 1 ?", random) == "a 1 ?"


def test_an_evaluation_has_references_for_what_is_merged_and_split():
    pairs = zip(LINES[:4], OUTPUTS, strict=False)
    examples = [Example((source,), target) for source, target in pairs]
    merged = noise.with_noise(examples, "merged")
    assert merged[0] == Example((f"{LINES[0]} {LINES[1]}",), f"{OUTPUTS[0]} {OUTPUTS[1]}")
    assert merged[3] == examples[3]
    split = noise.with_noise(examples, "split")
    sentences = [("Two dogs run.", "Zwei Hunde rennen."), ("A cat sleeps.", "Eine Katze schläft.")]
    assert (*split[1].source, split[1].target) in sentences
    assert [split[i] for i in (0, 2, 3)] == [examples[i] for i in (0, 2, 3)]
    korean = Example(("하나",), "one", ("ko", "en"))
    assert noise.with_noise([examples[0], korean], "merged") == [examples[0], korean]


def test_every_kind_of_the_configuration_is_known(subwords):
    for kind in NOISES:
        corpus = changed(subwords, {kind: 1.0})
        assert len(corpus) == len(LINES)


def test_shares_are_kept_and_translations_stay(subwords):
    sources, targets = texts(subwords, changed(subwords, {"capitals": 0.3, "lower_case": 0.2}))
    assert targets == OUTPUTS
    upper = sum(a == b.upper() != b for a, b in zip(sources, LINES, strict=True))
    assert 35 < upper < 85  # 0.3 of 200
    assert sum(a == b for a, b in zip(sources, LINES, strict=True)) > 85


def test_it_depends_on_seed_and_epoch_alone(subwords):
    shares = {"typos": 0.5, "merged": 0.2}
    one, again = (texts(subwords, changed(subwords, shares)) for _ in range(2))
    assert one == again
    assert one != texts(subwords, changed(subwords, shares, seed=2))
    assert one != texts(subwords, changed(subwords, shares, epoch=1))


def test_merged_pairs_are_merged_on_both_sides(subwords):
    sources, targets = texts(subwords, changed(subwords, {"merged": 1.0}))
    assert sources[0] == "A man rides a bike. Two dogs run. A cat sleeps."
    assert targets[0] == "Er fährt Rad. Zwei Hunde rennen. Eine Katze schläft."
    assert (sources[-1], targets[-1]) == (LINES[-1], OUTPUTS[-1])  # there is no next one


def test_split_pairs_have_the_same_sentence_on_both_sides(subwords):
    sources, targets = texts(subwords, changed(subwords, {"split": 1.0}))
    pairs = set(zip(sources, targets, strict=True))
    assert ("Two dogs run.", "Zwei Hunde rennen.") in pairs
    assert ("A cat sleeps.", "Eine Katze schläft.") in pairs
    assert (LINES[0], OUTPUTS[0]) in pairs


def test_what_would_be_too_long_stays_as_it_is(subwords):
    longest = int(corpus_of(subwords).source_lengths.max())
    for kind in ("capitals", "merged"):
        corpus = changed(subwords, {kind: 1.0}, max_length=longest)
        assert corpus.source_lengths.max() <= longest


def test_tags_of_languages_stay_in_front_and_are_there_once(subwords):
    tag = subwords.ids(["<de>"])
    for kind in NOISES:
        corpus = changed(subwords, {kind: 1.0}, tag=tag)
        starts = corpus.source_offsets[:-1]
        assert (corpus.source[starts] == tag[0]).all()
        assert (corpus.source == tag[0]).sum() == len(corpus)
    sources, _ = texts(subwords, changed(subwords, {"capitals": 1.0}, tag=tag))
    assert sources[0] == "A MAN RIDES A BIKE."
