"""Tests of nmt_cli/text/tokenizer.py; that nothing is lost is in tests/property."""

import json
import os
import subprocess
import sys
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
from tokenizers import Tokenizer, models

import nmt_cli
from nmt_cli.config.schema import TokenizerConfig
from nmt_cli.errors import DataError, ModelFileError
from nmt_cli.text.imported import as_small_bpe
from nmt_cli.text.special_tokens import BYTE_TOKENS, CONTROL_TOKENS, EOS_ID, HIDDEN, PAD_ID
from nmt_cli.text.tokenizer import Subwords

CATASTROPHE = {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}
VOCABULARY = {token: number for number, token in enumerate([*CONTROL_TOKENS, *BYTE_TOKENS])}
FIRST_TOKEN = len(CONTROL_TOKENS) + len(BYTE_TOKENS)
TEXT = ["Hello world, the world says hello!", "In 2024 it cost 3.50 <s> </s> <pad> <0x0A>"] * 20
# Chinese characters, all equally common, more than the vocabulary has room for.
TIES = ["".join(chr(0x4E00 + n) for n in range(start, start + 5)) for start in range(0, 400, 5)]


def train(texts=TEXT, **settings) -> Subwords:
    return Subwords.train(texts, TokenizerConfig(**{"vocab_size": 400, **settings}))


@pytest.fixture(scope="module")
def subwords():
    return train()


class TestTokens:
    def test_the_first_ids_are_control_tokens_and_bytes(self, subwords):
        assert PAD_ID == 0
        assert subwords.tokens(range(FIRST_TOKEN)) == [*CONTROL_TOKENS, *BYTE_TOKENS]
        assert BYTE_TOKENS[0xAB] == "<0xAB>"

    def test_frequent_words_become_one_token_with_a_marker(self, subwords):
        assert subwords.tokens(subwords.encode("the world the")) == ["▁the", "▁world", "▁the"]

    def test_punctuation_and_digits_stand_apart(self, subwords):
        assert subwords.tokens(subwords.encode("world, world! 20.")) == [
            "▁world",
            ",",
            "▁world",
            "!",
            "▁2",
            "0",
            ".",
        ]

    def test_a_space_belongs_to_what_follows(self, subwords):
        assert subwords.tokens(subwords.encode(" world  the ")) == ["▁", "▁world", "▁", "▁the", "▁"]

    def test_what_was_never_seen_becomes_bytes(self, subwords):
        assert subwords.tokens(subwords.encode("é😀")) == [
            "▁",
            *("<0xC3>", "<0xA9>", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>"),
        ]

    def test_no_text_no_tokens(self, subwords):
        assert subwords.encode("") == []
        assert subwords.decode([]) == ""

    def test_many_texts_are_encoded_like_each(self, subwords):
        texts = ["", "Hello", " ", "the world\n", "😀"]
        assert subwords.encode_batch(texts) == [subwords.encode(text) for text in texts]
        assert subwords.encode_batch([]) == []

    def test_half_a_surrogate_pair_is_told(self, subwords):
        with pytest.raises(DataError, match="not valid UTF-8"):
            subwords.encode("a\ud800")


class TestTypedControlTokens:
    @pytest.mark.parametrize("token", CONTROL_TOKENS)
    @pytest.mark.parametrize("pattern", ["{}", "x{}y", " {} ", "{}{}", "the {} world"])
    def test_are_ordinary_characters(self, subwords, token, pattern):
        text = pattern.format(token, token)
        ids = subwords.encode(text)
        assert min(ids) >= len(CONTROL_TOKENS)
        assert len(ids) > 1
        assert subwords.decode(ids) == text

    @pytest.mark.parametrize("text", ["<0x0A>", "<0xE2><0x96><0x81>", "a <0x0A>b"])
    def test_typed_byte_tokens_are_ordinary_characters(self, text):
        subwords = train(["<0x0A> <0xE2> <0x96> <0x81> ab 0123456789 ABCDEF"] * 50)
        ids = subwords.encode(text)
        assert min(ids) >= FIRST_TOKEN  # each character is known, so no byte is needed
        assert subwords.decode(ids) == text

    @pytest.mark.parametrize("token", [*CONTROL_TOKENS, "<0x0A>", "<0x41>"])
    def test_no_token_is_learned_that_looks_like_one(self, token):
        subwords = train([f"{token}{token} {token}"] * 1000, vocab_size=500)
        ids = subwords.encode(f"{token} {token}")
        assert min(ids) >= FIRST_TOKEN
        assert not {token, f"▁{token}"} & set(subwords.tokens(ids))


class TestDecode:
    def test_control_tokens_are_left_out(self, subwords):
        ids = subwords.encode("the world")
        assert subwords.decode([1, ids[0], 0, 3, 4, 5, *ids[1:], EOS_ID, PAD_ID]) == "the world"

    def test_broken_bytes_become_replacement_characters(self, subwords):
        first = len(CONTROL_TOKENS)
        assert subwords.decode([first + 0xE2]) == "\ufffd"
        assert subwords.decode([first + 0xC3, first + 0xA9]) == "é"

    def test_bytes_that_spell_a_marker_stay_apart_from_spaces(self, subwords):
        assert subwords.decode(subwords.encode("a▁b ▁")) == "a▁b ▁"


class TestNormalise:
    # Every character of Unicode 3.2, between spaces so that none meets another. (Those that came
    # after Unicode 9, such as U+32FF in 12.1, are unknown to the tables of `tokenizers` 0.23.)
    EVERY = " ".join(
        chr(code)
        for code in range(sys.maxunicode + 1)
        if unicodedata.ucd_3_2_0.category(chr(code)) not in {"Cn", "Cs"}
    )

    @pytest.mark.parametrize("form", ["nfc", "nfkc"])
    def test_equals_unicodes_normal_form_for_every_character(self, form):
        ours = train(["x"], normalization=form).normalise(self.EVERY)
        assert ours == unicodedata.normalize(form.upper(), self.EVERY)

    @pytest.mark.parametrize(
        "text", ["e\u0301", "\u1100\u1161\u11a8", "A\u030a", "q\u0307\u0323", "ﬁ ² ｱ ™", "가"]
    )
    @pytest.mark.parametrize("form", ["nfc", "nfkc"])
    def test_equals_unicodes_normal_form_for_sequences(self, form, text):
        ours = train(["x"], normalization=form).normalise(text)
        assert ours == unicodedata.normalize(form.upper(), text)

    def test_none_changes_nothing(self):
        assert train(["x"], normalization="none").normalise(self.EVERY) == self.EVERY

    def test_lower_case(self):
        subwords = train(["x"], normalization="none", lowercase=True)
        text = "ÄÖÜ ẞ Hello ΑΒΓ ЖИВ Ǆ \uff21\uff22 한 e\u0301"
        assert subwords.normalise(text) == text.lower()
        assert subwords.decode(subwords.encode(text)) == text.lower()

    def test_markers_and_escapes_are_no_part_of_it(self, subwords):
        text = "▁ a\ue000\ue001\ue002 "
        assert subwords.normalise(text) == text

    def test_equal_texts_get_equal_ids(self, subwords):
        assert subwords.encode("e\u0301") == subwords.encode("é")


class TestTraining:
    @pytest.mark.parametrize("vocab_size", [300, 301, 350, 1000])
    @pytest.mark.parametrize("texts", [TEXT, TIES])
    def test_the_size_is_kept(self, texts, vocab_size):
        subwords = train(texts, vocab_size=vocab_size)
        assert FIRST_TOKEN < subwords.vocab_size <= vocab_size
        assert max(max(ids) for ids in subwords.encode_batch(texts)) < subwords.vocab_size

    def test_the_size_is_reached_when_the_text_is_rich(self):
        assert train([*TEXT, *TIES], vocab_size=320).vocab_size == 320

    def test_a_small_text_fills_only_what_it_can(self):
        assert train(["ab"], vocab_size=5000).vocab_size < 270

    def test_the_most_frequent_characters_are_kept(self):
        often = "가나다라마바사"
        subwords = train([*TIES, often, often], vocab_size=300)
        assert all(id_ >= FIRST_TOKEN for id_ in subwords.encode(often))

    @pytest.mark.parametrize("texts", [[""], ["".join(TIES) * 3]])
    def test_the_marker_is_always_kept(self, texts):
        """A text without spaces has it once only, and without it spaces would be lost."""
        subwords = train(texts, vocab_size=300)
        assert subwords.decode(subwords.encode(" a  b ▁")) == " a  b ▁"

    def test_single_characters_leave_room_for_longer_tokens(self):
        tokens = train(TIES, vocab_size=600)
        learned = tokens.tokens(range(FIRST_TOKEN, tokens.vocab_size))
        sizes = Counter(len(token) > 1 for token in learned)
        assert sizes[False] == int((600 - FIRST_TOKEN) * 0.75)
        assert sizes[True] > 0

    @pytest.mark.parametrize("texts", [TEXT, TIES])
    def test_is_the_same_each_time(self, texts):
        files = {train(texts, vocab_size=300).to_json() for _ in range(4)}
        assert len(files) == 1

    def test_does_not_depend_on_the_order_of_the_texts(self):
        assert train(TIES[::-1], vocab_size=300).to_json() == train(TIES, vocab_size=300).to_json()

    def test_is_the_same_in_every_process(self):
        code = (
            "from nmt_cli.config.schema import TokenizerConfig\n"
            "from nmt_cli.text.tokenizer import Subwords\n"
            "ties = [chr(0x4E00 + n) * 2 for n in range(300)]\n"
            "print(Subwords.train(ties, TokenizerConfig(vocab_size=300)).to_json())\n"
        )
        path = str(Path(nmt_cli.__file__).parents[1])
        outputs = {
            subprocess.run(
                [sys.executable, "-c", code],
                env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": seed, **threads},
                capture_output=True,
                check=True,
            ).stdout
            for seed, threads in (("1", {}), ("2", {"RAYON_NUM_THREADS": "1"}))
        }
        assert len(outputs) == 1

    def test_an_iterator_is_fine(self):
        assert train(iter(TEXT)).to_json() == train(TEXT).to_json()

    def test_the_settings_matter(self):
        files = {
            train(**settings).to_json()
            for settings in (
                {},
                {"normalization": "nfkc"},
                {"lowercase": True},
                {"vocab_size": 310},
            )
        }
        assert len(files) == 4

    def test_a_problem_in_the_text_comes_through(self):
        class Broken:
            def __iter__(self):
                yield "a"
                raise DataError("train.de:2: not valid UTF-8")

        with pytest.raises(DataError, match=r"^train\.de:2: not valid UTF-8$"):
            train(Broken())


class TestFile:
    @pytest.fixture
    def saved(self, subwords, tmp_path):
        subwords.save(tmp_path / "tokenizer.json")
        return tmp_path / "tokenizer.json"

    @pytest.mark.parametrize(
        "settings", [{}, {"normalization": "none"}, {"normalization": "nfkc", "lowercase": True}]
    )
    def test_comes_back(self, tmp_path, settings):
        subwords = train(**settings)
        subwords.save(tmp_path / "t.json")
        loaded = Subwords.load(tmp_path / "t.json")
        text = " Hello ﬁ e\u0301 ▁\ue000 </s>\n"
        assert loaded.to_json() == subwords.to_json()
        assert loaded.vocab_size == subwords.vocab_size
        assert loaded.encode(text) == subwords.encode(text)
        assert (
            loaded.normalise(text) == subwords.normalise(text) == loaded.decode(loaded.encode(text))
        )

    def test_opens_in_any_program(self, saved, subwords):
        """The `tokenizers` library alone reads it and gives the same ids."""
        from tokenizers import Tokenizer

        other = Tokenizer.from_file(str(saved))
        text = "Hello  world </s> ▁ é"
        assert other.encode(text).ids == subwords.encode(text)
        assert other.decode(subwords.encode(text)) == text

    def problem(self, path: Path) -> str:
        with pytest.raises(ModelFileError) as caught:
            Subwords.load(path)
        assert caught.value.exit_code == 4
        assert str(caught.value).startswith(f"{path}: ")
        return str(caught.value).removeprefix(f"{path}: ")

    def test_a_missing_file(self, tmp_path):
        assert self.problem(tmp_path / "no.json") == "no such file"

    @pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.99])
    def test_a_file_cut_short(self, saved, part):
        os.truncate(saved, int(saved.stat().st_size * part))
        assert self.problem(saved).startswith("not a tokenizer file: ")

    @pytest.mark.parametrize("content", [b"\xff\xfe\0", b"hello", b"[1]", b"{}", b"null"])
    def test_another_file(self, saved, content):
        saved.write_bytes(content)
        assert self.problem(saved).startswith("not a tokenizer file: ")

    def test_a_folder(self, tmp_path):
        assert self.problem(tmp_path).startswith("not a tokenizer file: ")

    def change(self, saved: Path, change) -> str:
        values = json.loads(saved.read_text())
        change(values)
        saved.write_text(json.dumps(values))
        return self.problem(saved)

    def test_other_control_tokens(self, saved):
        def swap(values):
            vocabulary = values["model"]["vocab"]
            vocabulary["<pad>"], vocabulary["</s>"] = vocabulary["</s>"], vocabulary["<pad>"]

        assert self.change(saved, swap) == (
            "its first tokens are not <pad> <s> </s> <user> <bot> <persona>"
        )

    def test_no_byte_tokens(self, saved):
        foreign = self.change(saved, lambda values: values["model"]["vocab"].pop("<0x0A>"))
        assert foreign == "not a tokenizer that nmt wrote"

    @pytest.mark.parametrize(
        ("part", "other"),
        [
            ("normalizer", None),
            ("normalizer", {"type": "Lowercase"}),
            ("pre_tokenizer", None),
            ("decoder", None),
            ("normalizer", {"type": "Sequence", "normalizers": [CATASTROPHE]}),
            ("decoder", {"type": "Sequence", "decoders": [CATASTROPHE]}),
            ("model", {"type": "WordLevel", "vocab": VOCABULARY, "unk_token": "<s>"}),
        ],
    )
    def test_another_pipeline(self, saved, part, other):
        problem = self.change(saved, lambda values: values.update({part: other}))
        assert problem == "not a tokenizer that nmt wrote"

    def test_tokens_that_are_looked_for_in_the_text(self, saved):
        token = {"id": 2, "content": "</s>", "single_word": False, "lstrip": False}
        token |= {"rstrip": False, "normalized": False, "special": True}
        problem = self.change(saved, lambda values: values.update(added_tokens=[token]))
        assert problem == "not a tokenizer that nmt wrote"

    def test_a_full_disk_leaves_the_older_file(self, saved, monkeypatch):
        before = saved.read_bytes()

        def no_space(_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", no_space)
        with pytest.raises(OSError, match="No space"):
            train(["x"]).save(saved)
        assert saved.read_bytes() == before


@pytest.mark.parametrize(
    "changes",
    [
        {"truncation": {"direction": "Right", "max_length": 1, "strategy": "LongestFirst",
                        "stride": 0}},
        {"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a+)+b"},
                           "behavior": "Isolated", "invert": False}},
    ],
)  # fmt: skip
def test_what_could_cut_text_or_never_end_is_refused(subwords, tmp_path, changes):
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(json.loads(subwords.to_json()) | changes))
    with pytest.raises(ModelFileError, match="not a tokenizer"):
        Subwords.load(path)


def test_imported_vocabularies_are_read_if_they_split_in_a_known_way(tmp_path):
    """And in no other: a pattern of somebody else's might never come to an end."""
    names = [f"{HIDDEN}{name}" for name in (*CONTROL_TOKENS, "<unk>")]
    ids = {name: i for i, name in enumerate([*names, "a", "b", "ab"])}
    known = as_small_bpe(Tokenizer(models.BPE(ids, [("a", "b")], unk_token=" <unk>")))
    path = tmp_path / "tokenizer.json"
    known.save(str(path))
    assert Subwords.load(path).encode("ab") == [ids["ab"]]
    state = json.loads(path.read_text())
    changes = [
        ("pre_tokenizer", {"type": "Split", "pattern": {"Regex": "(a+)+$"}, "behavior": "Isolated",
                           "invert": False}),
        ("pre_tokenizer", None),
        ("normalizer", {"type": "Replace", "pattern": {"Regex": "(a+)+$"}, "content": ""}),
        ("decoder", None),
        ("added_tokens", [{"id": 2, "content": "</s>", "single_word": False, "lstrip": False,
                           "rstrip": False, "normalized": False, "special": True}]),
    ]  # fmt: skip
    for part, value in changes:
        path.write_text(json.dumps({**state, part: value}))
        with pytest.raises(ModelFileError, match="not a tokenizer that nmt wrote"):
            Subwords.load(path)
