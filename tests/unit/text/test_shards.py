"""Tests of nmt_cli/text/shards.py: ids go to disk and come back, and are reused while right."""

import itertools
import json

import numpy as np
import pytest

from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.errors import TrainingError
from nmt_cli.text import shards
from nmt_cli.text.corpus import Example
from nmt_cli.text.shards import Encoder, encode_corpora, remove_damaged, remove_other_shards, seal
from nmt_cli.text.special_tokens import BOT_ID, EOS_ID, PERSONA_ID, USER_ID
from nmt_cli.text.tokenizer import Subwords

EXAMPLES = [
    Example(("the dog sleeps",), "der Hund schläft"),
    Example(("a",), "😀 unseen"),
    Example(("the dog sees a dog",), "der"),
]


@pytest.fixture(scope="module", autouse=True)
def no_fsync():
    """Nothing here is about a power cut, and flushing thousands of files takes long."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        yield


def train(*texts: str, **settings) -> Subwords:
    return Subwords.train(list(texts) * 5, TokenizerConfig(**{"vocab_size": 320, **settings}))


@pytest.fixture(scope="module")
def english():
    return train("the dog sleeps", "a cat sees the dog")


@pytest.fixture(scope="module")
def german():
    return train("der Hund schläft", "eine Katze sieht den Hund")


@pytest.fixture
def encoder(english, german):
    return Encoder(english, german, is_chat=False, persona=None, max_length=99)


@pytest.fixture
def chat(english):
    return Encoder(english, english, is_chat=True, persona="a cat", max_length=12)


def ids(corpus, side: str) -> list[list[int]]:
    flat, offsets = getattr(corpus, side), getattr(corpus, f"{side}_offsets")
    return [flat[a:b].tolist() for a, b in itertools.pairwise(offsets)]


class TestEncoder:
    def test_each_side_has_its_vocabulary_and_ends(self, encoder, english, german):
        assert encoder.encode_sources([("the dog",), ("a",)]) == [
            [*english.encode("the dog"), EOS_ID],
            [*english.encode("a"), EOS_ID],
        ]
        assert encoder.encode_targets(["der Hund", ""]) == [
            [*german.encode("der Hund"), EOS_ID],
            [EOS_ID],
        ]

    def test_a_long_sentence_is_never_cut(self, english, german):
        encoder = Encoder(english, german, is_chat=False, persona=None, max_length=3)
        assert len(encoder.encode_sources([("the dog " * 20,)])[0]) > 20
        assert len(encoder.encode_targets(["der Hund " * 20])[0]) > 20

    def test_a_conversation_is_joined_by_the_template(self, english):
        encoder = Encoder(english, english, is_chat=True, persona="a cat", max_length=99)
        sources = [("the dog", "sees", "a cat"), ("dog",)]
        head = [PERSONA_ID, *english.encode("a cat")]
        assert encoder.encode_sources(sources) == [
            [
                *head,
                *(USER_ID, *english.encode("a cat")),
                *(BOT_ID, *english.encode("sees")),
                *(USER_ID, *english.encode("the dog")),
                EOS_ID,
            ],
            [*head, USER_ID, *english.encode("dog"), EOS_ID],
        ]

    def test_a_conversation_is_cut_to_the_models_length(self, chat):
        (source,) = chat.encode_sources([("the dog sleeps " * 5, "the dog", "a dog")])
        assert len(source) <= 12
        assert source[-1] == EOS_ID

    def test_its_fingerprint_changes_with_whatever_decides_the_ids(self, english, german):
        def fingerprint(source=english, target=german, chat=True, persona=None, length=99) -> str:
            return Encoder(source, target, chat, persona, length).fingerprint()

        different = [
            fingerprint(),
            fingerprint(source=german),
            fingerprint(target=english),
            fingerprint(source=german, target=english),
            fingerprint(chat=False),
            fingerprint(persona="a"),
            fingerprint(persona="b"),
            fingerprint(length=98),
        ]
        assert len(set(different)) == len(different)
        assert fingerprint() == fingerprint()

    def test_the_length_matters_for_conversations_only(self, english, german):
        one, other = (Encoder(english, german, False, None, length) for length in (9, 99))
        assert one.fingerprint() == other.fingerprint()


class TestEncodeCorpus:
    @pytest.mark.parametrize("chunk", [1, 2, 3, 10_000])
    def test_every_example_comes_back(self, encoder, tmp_path, monkeypatch, chunk):
        monkeypatch.setattr(shards, "_CHUNK", chunk)
        corpus = encode_corpora([iter(EXAMPLES)], encoder, tmp_path / "train-1")
        sources = encoder.encode_sources([example.source for example in EXAMPLES])
        targets = encoder.encode_targets([example.target for example in EXAMPLES])
        assert len(corpus) == 3
        assert ids(corpus, "source") == sources
        assert ids(corpus, "target") == targets
        assert corpus.source_lengths.tolist() == list(map(len, sources))
        assert corpus.target_lengths.tolist() == list(map(len, targets))

    def test_it_is_mapped_and_cannot_be_changed(self, encoder, tmp_path):
        corpus = encode_corpora([EXAMPLES], encoder, tmp_path / "train-1")
        for array in (corpus.source, corpus.target, corpus.source_offsets, corpus.target_offsets):
            assert isinstance(array, np.memmap)
            assert not array.flags.writeable
        assert corpus.source.dtype == np.uint16

    def test_a_big_vocabulary_takes_wider_ids(self, tmp_path, monkeypatch):
        monkeypatch.setattr(Encoder, "with_word_cache", lambda encoder: encoder)

        class Big:
            vocab_size = 100_000

            def encode_batch(self, texts):
                return [[99_999] * len(text) for text in texts]

        big = Encoder(Big(), Big(), is_chat=False, persona=None, max_length=9)
        corpus = encode_corpora([[Example(("ab",), "c")]], big, tmp_path / "train-1")
        assert ids(corpus, "source") == [[99_999, 99_999, EOS_ID]]
        assert corpus.target.dtype == np.uint32

    def test_a_folder_that_exists_is_reused(self, encoder, tmp_path):
        first = encode_corpora([EXAMPLES], encoder, tmp_path / "train-1")

        def unreadable():
            raise AssertionError("the examples were read again")
            yield

        again = encode_corpora([unreadable()], encoder, tmp_path / "train-1")
        assert ids(again, "source") == ids(first, "source")
        assert ids(again, "target") == ids(first, "target")

    def test_a_run_that_broke_off_leaves_no_folder(self, encoder, tmp_path):
        def broken():
            yield EXAMPLES[0]
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            encode_corpora([broken()], encoder, tmp_path / "train-1")
        assert list(tmp_path.iterdir()) == []
        assert len(encode_corpora([EXAMPLES], encoder, tmp_path / "train-1")) == 3

    def test_no_example_is_told(self, encoder, tmp_path):
        with pytest.raises(TrainingError, match="the corpus has no examples") as caught:
            encode_corpora([[]], encoder, tmp_path / "train-1")
        assert caught.value.hint == "are its files empty?"
        assert list(tmp_path.iterdir()) == []

    def test_progress_is_told(self, encoder, tmp_path, monkeypatch):
        monkeypatch.setattr(shards, "_CHUNK", 2)
        told = []
        encode_corpora([EXAMPLES], encoder, tmp_path / "train-1", on_progress=told.append)
        assert told == [2, 3]

    def test_what_is_on_disk_is_what_the_docstring_says(self, encoder, tmp_path):
        encode_corpora([EXAMPLES], encoder, tmp_path / "train-1")
        names = {path.name for path in (tmp_path / "train-1").iterdir()}
        sides = {f"{side}.{kind}" for side in ("source", "target") for kind in ("ids", "offsets")}
        assert names == sides | {"meta.json"}
        assert json.loads((tmp_path / "train-1" / "meta.json").read_text()) == {
            "dtype": "uint16",
            "sizes": [3],
        }


def test_what_a_killed_run_had_half_written_is_not_sealed(encoder, tmp_path):
    encode_corpora([[Example(("hello",), "hallo")]], encoder, tmp_path / "train")
    (tmp_path / "train" / ".blank.json.writing-abc").touch()
    seal(tmp_path / "train")
    assert not list((tmp_path / "train").glob(".*"))
    assert not remove_damaged(tmp_path / "train")


def test_remove_other_shards(tmp_path):
    for name in ("train-1", "train-2", "dev-1", ".train-3.writing-x"):
        (tmp_path / "shards" / name).mkdir(parents=True)
        (tmp_path / "shards" / name / "source.ids").touch()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "shards" / "file").touch()
    remove_other_shards([tmp_path / "shards" / "train-2", tmp_path / "shards" / "dev-1"])
    assert {path.name for path in (tmp_path / "shards").iterdir()} == {"train-2", "dev-1", "file"}
    assert (tmp_path / "elsewhere").is_dir()
