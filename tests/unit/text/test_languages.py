"""Which languages are meant, and the tokens that say so."""

import numpy as np
import pytest

from nmt_cli.config.schema import Config, TokenizerConfig
from nmt_cli.errors import ConfigError
from nmt_cli.text.bpe_dropout import WordSplitter
from nmt_cli.text.corpus import Corpora
from nmt_cli.text.languages import NO_LANGUAGES, Languages
from nmt_cli.text.shards import WordCache
from nmt_cli.text.special_tokens import CONTROL_TOKENS
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies
from nmt_cli.training.dataset import epoch_weights

OURS = Languages({"en": "", "ko": "", "ja": ""}, {"en": "<2en>", "ko": "<2ko>"})
FORCED = Languages(
    {"en": "__en__", "de": "__de__"}, {"en": "__en__", "de": "__de__"}, is_forced=True
)
MANY = Languages({c: c for c in "abc"}, {c: c for c in "abc"}, is_forced=True, default=("a", "b"))


@pytest.mark.parametrize(
    ("languages", "given", "meant"),
    [
        (OURS, (None, "ko"), ("", "ko")),  # from en or ja: it does not matter
        (OURS, ("ko", None), ("ko", "en")),  # nothing else is left
        (OURS, ("JA", "EN"), ("ja", "en")),
        (FORCED, (None, "de"), ("en", "de")),
        (FORCED, ("de", ""), ("de", "en")),
        (MANY, (None, None), ("a", "b")),
        (MANY, (None, "c"), ("a", "c")),
        (MANY, ("c", None), ("c", "b")),
        (NO_LANGUAGES, (None, None), ("", "")),
        (Languages.of_manifest({}, ("en", "de")), (None, "de"), ("en", "de")),
    ],
)
def test_what_is_meant(languages, given, meant):
    assert languages.way(*given) == meant


@pytest.mark.parametrize(
    ("languages", "given", "problem", "hint"),
    [
        (OURS, (None, None), "this model writes 2 languages: say which with --to", "en, ko"),
        (OURS, ("ja", None), "say which with --to", "en, ko"),
        (OURS, (None, "kor"), "--to kor: .* Did you mean 'ko'?", "en, ko"),
        (OURS, ("de", "ko"), "--from de: this model reads no such language", "en, ja, ko"),
        (OURS, ("ko", "ko"), "the same language", ""),
        (MANY, (None, "a"), "say which with --from", "a, b, c"),
        (NO_LANGUAGES, (None, "de"), "does not say which languages", ""),
        (Languages.of_manifest({}, ("en", "de")), (None, "fr"), "--to fr", "de"),
    ],
)
def test_what_cannot_be_meant(languages, given, problem, hint):
    with pytest.raises(ConfigError, match=problem) as error:
        languages.way(*given)
    assert hint in (error.value.hint or "")


def test_the_manifest_keeps_all():
    for languages in (OURS, FORCED):
        assert Languages.of_manifest(languages.as_json(), ("", "")) == languages


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    config = TokenizerConfig(vocab_size=320)
    return Subwords.train(["a <2ko> b", "<2en> <2en> 2en ko en"] * 9, config, OURS.tokens)


def test_tokens_follow_the_control_tokens(subwords):
    first = len(CONTROL_TOKENS)
    assert subwords.ids(OURS.tokens) == [first, first + 1]
    vocabularies = Vocabularies(subwords, subwords, OURS)
    assert vocabularies.direction("en", "ko") == ((first + 1,), ())
    assert Vocabularies(subwords, subwords, NO_LANGUAGES).direction() == ((), ())


def test_no_text_makes_a_token_of_a_language_and_no_text_shows_one(subwords):
    tags = set(subwords.ids(OURS.tokens))
    for text in ("<2ko>", " <2en> <2ko>", "<s> <2ko>x", "<user><2en>"):
        ids = subwords.encode(text)
        assert not tags & set(ids)
        assert subwords.decode([*tags, *ids]) == text
        assert WordCache(subwords).encode_batch([text]) == [ids]


def test_dropout_of_merges_leaves_the_tokens_alone(subwords):
    ids = np.array([*subwords.ids(OURS.tokens), *subwords.encode("ko en ko"), 2])
    splitter = WordSplitter(subwords)
    found, (length,) = splitter.split_again(
        ids, np.array([len(ids)]), 0.9, np.uint64(1), np.uint64(2)
    )
    assert found[:2].tolist() == ids[:2].tolist()
    assert subwords.decode(found[: length - 1].tolist()) == "ko en ko"


def config(*train: dict[str, object], **data: object) -> Config:
    return Config.model_validate(
        {"name": "x", "data": {"train": list(train), "dev": [{"rows": 5}], **data}}
    )


def pair(source: str, target: str) -> dict[str, object]:
    return {"source": "a", "target": "b", "source_lang": source, "target_lang": target}


def test_only_several_targets_need_tokens():
    both = Languages.of(config(pair("en", "ko"), pair("ko", "en")))
    assert both.tokens == ("<2en>", "<2ko>")
    assert both.default == ("", "")
    many_to_one = Languages.of(config(pair("en", "de"), pair("fr", "de")))
    assert not many_to_one.tokens
    assert many_to_one.way("fr", None) == ("fr", "de")
    one = Languages.of(config({"file": "x.tsv"}, source_lang="en", target_lang="de"))
    assert (one.tokens, one.default) == ((), ("en", "de"))


def test_a_corpus_that_does_not_tell_its_languages_is_refused():
    with pytest.raises(ValueError, match="needs source_lang and target_lang"):
        config(pair("en", "de"), {"file": "x.tsv"})
    with pytest.raises(ValueError, match="are the same"):
        config(pair("en", "de"), pair("de", "de"))
    with pytest.raises(ValueError, match="rows of train keep their languages"):
        config(pair("en", "de"), dev=[{"rows": 5, "target_lang": "de"}])


def test_what_runs_were_begun_with_has_no_new_keys():
    one = config({"source": "a", "target": "b"})
    assert "source_lang" not in one.model_dump()["data"]["train"][0]


def test_temperature_evens_out_and_keeps_the_epoch_as_long():
    def weights(sizes: list[int], **data: object) -> list[float]:
        two = (pair("en", "de"), pair("en", "fr") | {"weight": 2.0})
        return epoch_weights(sizes, config(*two, **data))

    assert weights([900, 100]) == [1.0, 2.0]
    warm = weights([900, 100], temperature=2.0)  # shares like 1 * 30 and 2 * 10
    assert warm == pytest.approx([1100 * 0.6 / 900, 1100 * 0.4 / 100], abs=1e-5)
    assert weights([900, 0], temperature=2.0) == [1.0, 0.0]
    even = weights([900, 100], temperature=100.0)
    assert 900 * even[0] * 2 == pytest.approx(100 * even[1], rel=0.03)


def test_held_out_texts_are_on_neither_side_of_train(tmp_path):
    lines = [f"sentence number {n} of the left" for n in range(200)]
    others = [f"{n} ist rechts die Nummer" for n in range(200)]
    (tmp_path / "a").write_text("\n".join(lines))
    (tmp_path / "b").write_text("\n".join(others))
    swapped = {"source": "b", "target": "a", "source_lang": "de", "target_lang": "en"}
    made = config(pair("en", "de"), swapped, dev=[{"rows": 30}])
    corpora = Corpora(made, tmp_path)
    dev, train = (list(corpora.iter_split(split)) for split in ("dev", "train"))
    held = {text for example in dev for text in (*example.source, example.target)}
    assert {example.way for example in dev} == {("en", "de"), ("de", "en")}
    assert not held & {text for e in train for text in (*e.source, e.target)}
    assert len(train) > 300


def test_options_say_a_way_where_there_is_a_choice():
    """What `nmt import` and `nmt train` print as the next command must work as it stands."""
    many = Languages({"en": "__en__", "de": "__de__"}, {"en": "__en__", "de": "__de__"})
    assert many.options(("en", "de")) == ["--to", "de", "--from", "en"]
    assert Languages({"en": ""}, {"de": "<2de>", "fr": "<2fr>"}).options(("en", "fr")) == [
        "--to",
        "fr",
    ]
    assert Languages({"en": ""}, {"de": ""}).options(("en", "de")) == []
