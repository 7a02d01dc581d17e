"""Properties of BPE-dropout: without dropping it is the tokenizer; with it, the text stays."""

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.text.bpe_dropout import WordSplitter
from nmt_cli.text.special_tokens import BOT_ID, EOS_ID, USER_ID
from nmt_cli.text.tokenizer import Subwords

LINES = ["the dog sees the cat, and the cats see 12 dogs there.", "Straße größer ΟΔΟΣ ệ 한국어 ▁"]
QUICK = settings(max_examples=80)
VOCABULARIES = [
    Subwords.train(LINES * 5, TokenizerConfig(vocab_size=size, normalization=form))
    for size, form in ((300, "none"), (340, "nfc"), (420, "nfkc"))
]
SPLITTERS = [WordSplitter(subwords) for subwords in VOCABULARIES]
SEEDS = (np.uint64(3), np.uint64(4))

texts = st.text(max_size=14) | st.lists(
    st.sampled_from(
        ["the", "cats", "dogs", "thedog", "größer", "▁▁", "12", "한국", "\u0301", "</s>"]
    ),
    max_size=6,
).map(" ".join)


def rows_of(subwords: Subwords, batch: list[str]) -> list[list[int]]:
    """Some with control tokens between the turns, all with an end."""
    rows = subwords.encode_batch(batch)
    return [
        [USER_ID, *row, BOT_ID, *row, EOS_ID] if len(row) % 2 else [*row, EOS_ID] for row in rows
    ]


def split(splitter: WordSplitter, rows, probability: float, seeds=SEEDS) -> list[list[int]]:
    flat = np.array(list(itertools.chain(*rows)), np.uint16)
    ids, lengths = splitter.split_again(flat, np.array(list(map(len, rows))), probability, *seeds)
    assert len(lengths) == len(rows)
    ends = np.cumsum(lengths)
    assert ends[-1] == len(ids)
    return [ids[end - n : end].tolist() for end, n in zip(ends, lengths, strict=True)]


@QUICK
@given(batch=st.lists(texts, min_size=1, max_size=5))
def test_without_dropping_it_agrees_with_the_tokenizer(batch):
    for subwords, splitter in zip(VOCABULARIES, SPLITTERS, strict=True):
        rows = rows_of(subwords, batch)
        assert split(splitter, rows, 0.0) == rows
        # also when it begins with tokens that no encoding gives
        assert split(splitter, split(splitter, rows, 0.7), 0.0) == rows


@QUICK
@given(
    batch=st.lists(texts, min_size=1, max_size=5),
    probability=st.sampled_from([0.1, 0.5, 0.9, 0.999999]),
    seed=st.integers(0, 2**63 - 1),
)
def test_the_text_stays_the_same(batch, probability, seed):
    for subwords, splitter in zip(VOCABULARIES, SPLITTERS, strict=True):
        rows = rows_of(subwords, batch)
        seeds = (np.uint64(seed), np.uint64(seed + 1))
        found = split(splitter, rows, probability, seeds)
        assert [subwords.decode(row) for row in found] == [subwords.decode(row) for row in rows]
        assert [row[-1] for row in found] == [EOS_ID] * len(rows)
        assert found == split(splitter, rows, probability, seeds)
        if probability > 0.99:  # characters
            tokens = subwords.tokens(list(itertools.chain(*found)))
            assert {len(token) for token in tokens if not token.startswith("<")} <= {1}
