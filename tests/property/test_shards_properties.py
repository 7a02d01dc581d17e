"""Properties of the encoded corpus: any examples come back, however they are cut into chunks."""

import functools
import tempfile
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.text import shards
from nmt_cli.text.corpus import Example
from nmt_cli.text.shards import EncodedCorpus, Encoder, encode_corpora
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.tokenizer import Subwords


@pytest.fixture(scope="module", autouse=True)
def quick():
    """Nothing here is about a power cut, nor about processes, and both take long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        patch.setattr("nmt_cli.text.parallel._HERE", 100)
        yield


texts = st.text(max_size=12) | st.sampled_from(
    ["the dog", "</s>", "▁", "<0x0A>", "  ", "한국어 😀"]
)


@functools.cache
def subwords() -> Subwords:
    return Subwords.train(["the dog sees the cat"] * 5, TokenizerConfig(vocab_size=320))


def encoder(*, is_chat: bool) -> Encoder:
    persona = "the cat" if is_chat else None
    return Encoder(subwords(), subwords(), is_chat=is_chat, persona=persona, max_length=20)


def examples(max_turns: int) -> st.SearchStrategy[list[Example]]:
    turns = st.lists(texts, min_size=1, max_size=max_turns).map(tuple)
    return st.lists(st.builds(Example, turns, texts), min_size=1, max_size=9)


def encode(given_examples: list[Example], is_chat: bool, chunk: int) -> list[tuple[list[int], ...]]:
    with tempfile.TemporaryDirectory() as folder, mock.patch.object(shards, "_CHUNK", chunk):
        path = Path(folder) / "train-1"
        corpus = encode_corpora([iter(given_examples)], encoder(is_chat=is_chat), path)
        again = encode_corpora([], encoder(is_chat=is_chat), path)
        assert rows(again) == rows(corpus)
        return rows(corpus)


def rows(corpus: EncodedCorpus) -> list[tuple[list[int], ...]]:
    source, target = corpus.source_offsets, corpus.target_offsets
    return [
        (
            corpus.source[source[i] : source[i + 1]].tolist(),
            corpus.target[target[i] : target[i + 1]].tolist(),
        )
        for i in range(len(corpus))
    ]


@settings(max_examples=60)
@given(given_examples=examples(1), chunk=st.integers(1, 10))
def test_every_text_comes_back(given_examples, chunk):
    found = encode(given_examples, False, chunk)
    assert all(side[-1] == EOS_ID and EOS_ID not in side[:-1] for row in found for side in row)
    normalise, decode = subwords().normalise, subwords().decode
    assert [(decode(source), decode(target)) for source, target in found] == [
        (normalise(example.source[0]), normalise(example.target)) for example in given_examples
    ]


@settings(max_examples=40)
@given(given_examples=examples(4), chunk=st.integers(1, 10))
def test_chunks_do_not_matter_and_conversations_fit(given_examples, chunk):
    found = encode(given_examples, True, chunk)
    assert found == encode(given_examples, True, 10_000)
    assert max(len(source) for source, _ in found) <= 20
