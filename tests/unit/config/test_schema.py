"""Tests of nmt_cli/config/schema.py: types, bounds, and what does not fit together."""

import json

import pytest
from pydantic import ValidationError

from nmt_cli.config.schema import (
    ChatConfig,
    Config,
    CorpusConfig,
    DataConfig,
    DecodeConfig,
    ModelConfig,
    Section,
    TokenizerConfig,
    TrainConfig,
)

DATA = {"train": [{"source": "a", "target": "b"}], "dev": [{"file": "c.tsv"}]}
SECTIONS = [
    CorpusConfig,
    DataConfig,
    TokenizerConfig,
    ModelConfig,
    TrainConfig,
    DecodeConfig,
    ChatConfig,
    Config,
]


def messages(section, values) -> list[str]:
    with pytest.raises(ValidationError) as caught:
        section.model_validate(values)
    return [error["msg"] for error in caught.value.errors()]


def test_name_and_data_are_all_that_is_required():
    config = Config.model_validate({"name": "x", "data": DATA})
    assert (config.task, config.seed) == ("translation", 1)
    assert config.model == ModelConfig()
    assert config.data.test == []
    assert messages(Config, {}) == ["Field required"] * 2
    assert messages(DataConfig, {}) == ["Field required"] * 2


@pytest.mark.parametrize("section", SECTIONS)
def test_every_key_has_help_and_says_whether_it_may_change(section):
    for name, field in section.model_fields.items():
        is_section = isinstance(field.annotation, type) and issubclass(field.annotation, Section)
        if not is_section:
            assert field.description, name
            assert field.description == field.description.strip()
            assert isinstance(field.json_schema_extra["may_change"], bool)
            assert isinstance(field.json_schema_extra["may_be_auto"], bool)


@pytest.mark.parametrize(
    "section", [TokenizerConfig, ModelConfig, TrainConfig, DecodeConfig, ChatConfig]
)
def test_the_defaults_keep_their_own_bounds(section):
    assert section.model_validate(section().model_dump()) == section()


def test_a_json_schema_for_editors_can_be_made():
    schema = Config.model_json_schema()
    assert schema["required"] == ["name", "data"]
    assert schema["additionalProperties"] is False
    assert json.dumps(schema)


@pytest.mark.parametrize("section", SECTIONS)
def test_unknown_keys_are_refused(section):
    assert "Extra inputs are not permitted" in messages(section, {"colour": "red"})


def test_values_never_change():
    with pytest.raises(ValidationError, match="frozen"):
        ModelConfig().d_model = 3


@pytest.mark.parametrize(
    ("section", "values"),
    [
        (ModelConfig, {"d_model": "128"}),
        (ModelConfig, {"d_model": 128.0}),
        (ModelConfig, {"d_model": True}),
        (ModelConfig, {"tie_embeddings": 1}),
        (ModelConfig, {"tie_embeddings": "yes"}),
        (TrainConfig, {"learning_rate": "1e-4"}),
        (TrainConfig, {"learning_rate": None}),
        (ChatConfig, {"persona": 3}),
        (CorpusConfig, {"file": "x.tsv", "columns": [1.0, 2.0]}),
        (CorpusConfig, {"file": "x.tsv", "columns": [True, 2]}),
    ],
)
def test_types_are_never_guessed(section, values):
    assert messages(section, values)


def test_a_whole_number_is_fine_where_a_fraction_may_stand():
    rate = TrainConfig(learning_rate=2).learning_rate
    assert (rate, type(rate)) == (2.0, float)


@pytest.mark.parametrize(
    ("section", "key", "good", "bad"),
    [
        (Config, "seed", [0, 2**31 - 1], [-1, 2**31]),
        (TokenizerConfig, "vocab_size", [264, 500_000], [263, 500_001]),
        (ModelConfig, "dropout", [0.0, 0.99], [-0.1, 1.0]),
        (ModelConfig, "encoder_layers", [1], [0]),
        (ModelConfig, "max_length", [2], [1]),
        (TrainConfig, "learning_rate", [1e-9], [0.0, -1.0, float("inf"), float("nan")]),
        (TrainConfig, "clip_norm", [0.0], [-1.0, float("inf")]),
        (TrainConfig, "patience", [0], [-1]),
        (TrainConfig, "tokens_per_batch", [1], [0]),
        (DecodeConfig, "beam_size", [1, 512], [0, 513]),
        (DecodeConfig, "top_p", [0.1, 1.0], [0.0, 1.1]),
        (DecodeConfig, "temperature", [0.1], [0.0, -1.0]),
        (DecodeConfig, "max_length_ratio", [None, 1.5], [0.0]),
        (ChatConfig, "history_turns", [0], [-1]),
        (CorpusConfig, "rows", [1], [0, -3]),
    ],
)
def test_bounds(section, key, good, bad):
    needed = {"name": "x", "data": DATA} if section is Config else {}
    for value in good:
        assert getattr(section.model_validate({**needed, key: value}), key) == value
    for value in bad:
        assert len(messages(section, {**needed, key: value})) == 1


@pytest.mark.parametrize(
    ("section", "key", "choices"),
    [
        (Config, "task", ["translation", "chat"]),
        (TokenizerConfig, "normalization", ["none", "nfc", "nfkc"]),
        (ModelConfig, "norm", ["pre", "post"]),
        (ModelConfig, "activation", ["relu", "gelu", "silu", "swiglu"]),
        (ModelConfig, "embedding_norm", ["none", "encoder", "both"]),
        (ModelConfig, "positions", ["sinusoidal", "learned", "table"]),
        (TrainConfig, "schedule", ["noam", "inverse_sqrt", "cosine", "constant"]),
        (TrainConfig, "precision", ["auto", "float32", "bfloat16"]),
    ],
)
def test_choices(section, key, choices):
    needed = {"name": "x", "data": DATA} if section is Config else {}
    for value in choices:
        assert getattr(section.model_validate({**needed, key: value}), key) == value
    assert messages(section, {**needed, key: "other"})


@pytest.mark.parametrize(
    "name", ["a", "multi30k-en-de", "V1.2_x", "0", "a b", "번역", "내 모델", "한" * 85]
)
def test_a_run_folders_name(name):
    assert Config.model_validate({"name": name, "data": DATA}).name == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".x", "a/b", "../x", "-x", "a\\b", "a\n", "a\x1b[0m", "한" * 86]
)
def test_what_is_no_run_folders_name(name):
    assert len(messages(Config, {"name": name, "data": DATA})) == 1


def test_heads_must_divide_the_width():
    assert messages(ModelConfig, {"d_model": 10, "num_heads": 4}) == [
        "Value error, must divide d_model, which is 10"
    ]
    assert ModelConfig(d_model=12, num_heads=4).num_heads == 4


def test_sinusoids_need_an_even_width():
    assert messages(ModelConfig, {"d_model": 5, "num_heads": 1, "positions": "sinusoidal"}) == [
        "Value error, sinusoidal positions need an even d_model (it is 5)"
    ]
    assert ModelConfig(d_model=5, num_heads=1, positions="learned").d_model == 5


def test_defaults_must_fit_the_keys_that_are_set():
    assert messages(ModelConfig, {"d_model": 5, "num_heads": 1}) == [
        "Value error, sinusoidal positions need an even d_model (it is 5)"
    ]
    assert messages(ModelConfig, {"d_model": 130}) == [
        "Value error, must divide d_model, which is 130"
    ]


def test_a_wrong_width_is_not_told_twice():
    assert len(messages(ModelConfig, {"d_model": "x", "num_heads": 3})) == 1


class TestCorpusConfig:
    @pytest.mark.parametrize(
        "values",
        [
            {"source": "a.en", "target": "a.de"},
            {"file": "a.tsv"},
            {"file": "a.tsv", "columns": [1, 2]},
            {"file": "a.csv", "columns": ["Q", "A"]},
            {"file": "a.csv", "columns": [3, "A"]},
            {"rows": 5},
        ],
    )
    def test_one_kind_is_fine(self, values):
        corpus = CorpusConfig.model_validate(values)
        assert corpus.model_dump(exclude_none=True, exclude={"weight"}) == values

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            ({}, "give either source and target, or file, or rows"),
            ({"columns": [1, 2]}, "give either source and target, or file, or rows"),
            ({"source": "a", "target": "b", "file": "c"}, "give either source and target"),
            ({"file": "c", "rows": 3}, "give either source and target, or file, or rows"),
            ({"source": "a"}, "source and target must be given together"),
            ({"target": "a"}, "source and target must be given together"),
            ({"file": "a", "columns": [1]}, "columns must name two columns of file"),
            ({"file": "a", "columns": [1, 2, 3, 4]}, "columns must name two columns of file"),
            ({"source": "a", "target": "b", "columns": [1, 2]}, "columns must name two columns"),
            ({"file": "a", "columns": [0, 1]}, "columns are numbered from 1"),
            ({"file": "a", "columns": [1, -1]}, "columns are numbered from 1"),
        ],
    )
    def test_anything_else_is_refused(self, values, message):
        assert messages(CorpusConfig, values)[0].startswith(f"Value error, {message}")


@pytest.mark.parametrize("task", ["translation", "classification"])
def test_only_a_chat_has_turns(task):
    values = {"name": "x", "data": DATA, "model": {"turn_embeddings": True}}
    assert Config.model_validate({**values, "task": "chat"}).model.turn_embeddings
    told = messages(Config, {**values, "task": task})
    assert told == ["Value error, turn_embeddings needs task: chat"]


class TestDataConfig:
    def test_rows_are_taken_for_dev_and_test_only(self):
        assert messages(DataConfig, {**DATA, "train": [{"rows": 3}]}) == [
            "Value error, rows is for dev and test only"
        ]
        data = DataConfig.model_validate({**DATA, "dev": [{"rows": 3}], "test": [{"rows": 4}]})
        assert (data.dev[0].rows, data.test[0].rows) == (3, 4)

    @pytest.mark.parametrize("split", ["dev", "test"])
    def test_rows_are_given_once(self, split):
        assert messages(DataConfig, {**DATA, split: [{"rows": 3}, {"rows": 4}]}) == [
            "Value error, give rows only once"
        ]

    @pytest.mark.parametrize("split", ["train", "dev"])
    def test_train_and_dev_are_not_empty(self, split):
        assert len(messages(DataConfig, {**DATA, split: []})) == 1


@pytest.mark.parametrize("split", ["dev", "test"])
def test_only_training_corpora_have_a_weight(split):
    splits = {"train": [{"file": "a.tsv", "weight": 2.5}], "dev": [{"file": "b.tsv"}]}
    assert DataConfig.model_validate(splits).train[0].weight == 2.5
    with pytest.raises(ValidationError, match="weight is for train only"):
        DataConfig.model_validate({**splits, split: [{"file": "b.tsv", "weight": 2.0}]})
