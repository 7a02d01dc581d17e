"""Tests of nmt_cli/config/reading.py: what a file says, what is wrong with it and where."""

import json
import re
from pathlib import Path

import pytest

from nmt_cli.config.reading import (
    auto_keys,
    describe,
    fixed_keys,
    json_schema,
    load_config,
    reference_markdown,
    to_yaml,
    value_of,
    with_values,
)
from nmt_cli.config.schema import Config, Section
from nmt_cli.config.text_memory import changed_files
from nmt_cli.errors import ConfigError
from nmt_cli.resources import bundled_configs

DATA = "data: {train: [{source: a.en, target: a.de}], dev: [{file: dev.tsv}]}\n"
GOOD = "name: x\n" + DATA


@pytest.fixture
def load(tmp_path):
    """A function that loads a configuration's text, with `--set` overrides."""

    def load(text: str | bytes, *overrides: str) -> Config:
        path = tmp_path / "c.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_config(str(path), list(overrides)).config

    return load


@pytest.fixture
def problems(load, tmp_path):
    """A function that returns what is wrong with a configuration, a line each, file name cut."""

    def problems(text: str | bytes, *overrides: str) -> list[str]:
        with pytest.raises(ConfigError) as caught:
            load(text, *overrides)
        assert caught.value.exit_code == 2
        return str(caught.value).replace(str(tmp_path / "c.yaml"), "c.yaml").split("\n")

    return problems


class TestValues:
    def test_a_file_of_every_kind_of_value(self, load):
        config = load(
            GOOD + "seed: 7\n"
            "model:\n"
            "  dropout: .2\n"
            "  tie_embeddings: false\n"
            "train: {learning_rate: 1e-4, clip_norm: 5}\n"
            "decode: {max_length_ratio: null}\n"
            'chat: {persona: "I am Nemo: \\u00e4\\ud83d\\ude00"}\n'
        )
        assert config.seed == 7
        assert (config.model.dropout, config.model.tie_embeddings) == (0.2, False)
        assert (config.train.learning_rate, config.train.clip_norm) == (1e-4, 5.0)
        assert config.decode.max_length_ratio is None
        assert config.chat.persona == "I am Nemo: ä😀"
        assert config.data.train[0].source == "a.en"

    @pytest.mark.parametrize(
        ("text", "value"),
        [
            ("1e-4", 1e-4),
            ("1E-4", 1e-4),
            ("1e4", 1e4),
            ("1.e-3", 1e-3),
            ("+.5", 0.5),
            ("3.0e-3", 3e-3),
            ("2", 2.0),
        ],
    )
    def test_numbers_are_read_as_people_write_them(self, load, text, value):
        rate = load(GOOD + f"train: {{learning_rate: {text}}}").train.learning_rate
        assert (rate, type(rate)) == (value, float)

    @pytest.mark.parametrize(
        ("text", "value"),
        [("0", 0), ("12", 12), ("+5", 5), ("1_000", 1000), ("1e3", 1000), ("5.0", 5)],
    )
    def test_whole_numbers(self, load, text, value):
        assert load(GOOD + f"seed: {text}").seed == value

    @pytest.mark.parametrize("name", ["123", "007", "1.50", "1e3", "true", "번역", "1_0"])
    def test_the_name_of_a_run_is_text(self, load, name):
        assert load(f"name: {name}\n" + DATA).name == name
        assert load(GOOD, f"name={name}").name == name

    @pytest.mark.parametrize(
        "text",
        [
            *("no", "No", "off", "on", "yes", "y", "010", "00", "12:30", "0x1F", "2024-01-02"),
            *("1.2.3", "<<", "=", "1e", "e5", ".", "-", "+", "1 2"),
        ],
    )
    def test_what_yaml_1_1_would_turn_into_something_else_is_text(self, load, text):
        assert load(GOOD + f"chat: {{persona: {text}}}").chat.persona == text

    @pytest.mark.parametrize("text", ["~", "null", "Null", "NULL", ""])
    def test_nothing(self, load, text):
        assert load(GOOD + f"chat:\n  persona: {text}\n").chat.persona is None

    @pytest.mark.parametrize(
        ("text", "value"),
        [("true", True), ("True", True), ("TRUE", True), ("false", False), ("FALSE", False)],
    )
    def test_truth(self, load, text, value):
        assert load(GOOD + f"model: {{tie_embeddings: {text}}}").model.tie_embeddings is value

    def test_a_file_with_a_byte_order_mark_and_windows_line_ends(self, load):
        assert load(b"\xef\xbb\xbf" + (GOOD + "seed: 4\n").replace("\n", "\r\n").encode()).seed == 4

    def test_anchors_may_be_used(self, load):
        config = load("name: x\ndata: {train: &t [{file: a.tsv}], dev: *t}\n")
        assert config.data.train == config.data.dev


class TestProblems:
    def test_all_are_told_at_once_with_file_line_and_key(self, problems):
        text = (
            "name: a/b\n"
            "data:\n"
            "  train:\n"
            "    - source: a.en\n"
            "      target: a.de\n"
            "    - fiel: b.tsv\n"
            "  dev: [{rows: 0}]\n"
            "modle: {}\n"
            "model:\n"
            "  d_modle: 3\n"
            "  d_model: wide\n"
            "  dropout: 1.5\n"
            "  norm: before\n"
            "train: {max_step: 3, learning_rate: 1e-4x}\n"
            "decode: {beam_size:3}\n"
        )
        assert set(problems(text, "train.seed=3", "decode.beam_size=0")) == {
            "c.yaml:1: name: should be the name of a folder, without a slash or a leading dot or "
            'dash (it is "a/b")',
            "c.yaml:6: data.train.1.fiel: unknown key. Did you mean 'file'?",
            "c.yaml:7: data.dev.0.rows: should be greater than or equal to 1 (it is 0)",
            "c.yaml:8: modle: unknown key. Did you mean 'model'?",
            "c.yaml:10: model.d_modle: unknown key. Did you mean 'd_model'?",
            'c.yaml:11: model.d_model: should be a valid integer (it is "wide")',
            "c.yaml:12: model.dropout: should be less than 1 (it is 1.5)",
            "c.yaml:13: model.norm: should be 'pre' or 'post' (it is \"before\")",
            "c.yaml:14: train.max_step: unknown key. Did you mean 'max_steps'?",
            'c.yaml:14: train.learning_rate: should be a valid number (it is "1e-4x")',
            "--set train.seed=3: train.seed: unknown key.",
            "c.yaml:15: decode.beam_size:3: unknown key. Did you mean 'beam_size'? (put a space "
            "after the colon)",
            "--set decode.beam_size=0: decode.beam_size: should be greater than or equal to 1 "
            "(it is 0)",
        }

    def test_a_key_given_twice(self, problems):
        text = (
            GOOD + "model: {d_ff: 8}\ntrain:\n  max_steps: 3\n  max_steps: 4\nmodel:\n  d_ff: 9\n"
        )
        assert problems(text) == [
            "c.yaml:6: train.max_steps: given twice (first in line 5)",
            "c.yaml:7: model: given twice (first in line 3)",
            "c.yaml:8: model.d_ff: given twice (first in line 3)",
        ]

    def test_a_key_given_twice_in_a_list_item(self, problems):
        text = "name: x\ndata:\n  train:\n  - file: a\n    file: b\n  dev: [{rows: 3}]\n"
        assert problems(text) == ["c.yaml:5: data.train.0.file: given twice (first in line 4)"]

    def test_required_keys(self, problems):
        assert problems("") == ["c.yaml: name: is required", "c.yaml: data: is required"]
        assert problems("name: x\ndata:\n  dir: .\n  dev: [{rows: 3}]\n") == [
            "c.yaml:2: data.train: is required"
        ]

    @pytest.mark.parametrize("text", ["- a\n- b\n", "hello\n", "3\n"])
    def test_no_mapping(self, problems, text):
        assert problems(text) == ["c.yaml:1: a configuration is a mapping of keys to values"]

    def test_a_section_that_is_no_mapping(self, problems):
        assert problems(GOOD + "model:\ntrain: [1]\n") == [
            "c.yaml:3: model: should be a mapping of keys to values (it is null)",
            "c.yaml:4: train: should be a mapping of keys to values",
        ]

    def test_not_utf8(self, problems):
        assert problems(b"name: x\n# \xe4\n") == ["c.yaml: not valid UTF-8 (byte 11)"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("name: [x\n", "c.yaml:2: not valid YAML: expected ',' or ']', but got '<stream end>'"),
            ("name: x\n\tseed: 1\n", "c.yaml:2: not valid YAML: found character '\\t' that cannot"),
            ("name: x\nseed: @\n", "c.yaml:2: not valid YAML: found character '@' that cannot"),
            ("name: *a\n", "c.yaml:1: not valid YAML: found undefined alias 'a'"),
            ("name: x\n---\nname: y\n", "c.yaml:2: not valid YAML: but found another document"),
            ("name: x\n? [a]\n: 1\n", "c.yaml:2: not valid YAML: found unhashable key"),
            ("name: x\nseed: \x07\n", "c.yaml:2: not valid YAML: special characters are not"),
            ("name: x\nseed: !!python/name:os.system\n", "c.yaml:2: not valid YAML: could not"),
            ('name: "\\ud800"\n', "c.yaml:1: not valid YAML: half of a surrogate pair"),
            ("name: x\nmodel: &a [*a]\n", "c.yaml: not valid YAML: nested too deeply"),
            ("name: x\nmodel: &a {x: *a}\n", "c.yaml: not valid YAML: nested too deeply"),
            ("seed: " + "[" * 500, "c.yaml: not valid YAML: nested too deeply"),
            ("seed: !!int x\n", "c.yaml: not valid YAML: a value does not fit its type"),
            ("seed: !!bool x\n", "c.yaml: not valid YAML: a value does not fit its type"),
            ("seed: !!timestamp x\n", "c.yaml: not valid YAML: a value does not fit its type"),
            ("seed: " + "9" * 5000, "c.yaml: not valid YAML: a value does not fit its type"),
        ],
    )
    def test_not_yaml(self, problems, text, message):
        found = problems(text)
        assert len(found) == 1
        assert found[0].startswith(message)

    @pytest.mark.parametrize("key", ["1", "true", "~", "1.5", "str"])
    def test_a_key_that_looks_like_a_value_is_an_unknown_key(self, problems, key):
        assert problems(GOOD + f"model:\n  {key}: 3\n") == [f"c.yaml:4: model.{key}: unknown key."]

    def test_what_does_not_fit_together(self, problems):
        text = (
            "name: x\ndata:\n  train: [{source: a}]\n  dev: [{rows: 3}]\nmodel:\n  num_heads: 3\n"
        )
        assert problems(text) == [
            "c.yaml:3: data.train.0: source and target must be given together",
            "c.yaml:6: model.num_heads: must divide d_model, which is 128 (it is 3)",
        ]

    def test_what_is_there_is_told_once(self, problems):
        assert problems(GOOD, "model.d_model=6", "model.num_heads=3", "train.lanes=2.5") == [
            "--set train.lanes=2.5: train.lanes: should be 'auto' (it is 2.5)",
            "--set train.lanes=2.5: train.lanes: should be a valid integer (it is 2.5)",
        ]
        assert problems(GOOD, "model.d_model=3", "model.num_heads=1") == [
            "c.yaml: model.positions: sinusoidal positions need an even d_model (it is 3)"
        ]
        assert problems(GOOD, "name=null") == ["--set name=null: name: should be text (it is null)"]

    def test_a_default_that_does_not_fit_is_told_where_its_section_is(self, problems):
        assert problems(GOOD + "model:\n  d_model: 130\n") == [
            "c.yaml:3: model.num_heads: must divide d_model, which is 130 (it is 4)"
        ]

    def test_a_wrong_column(self, problems):
        text = "name: x\ndata:\n  train: [{file: a.tsv, columns: [1.5, 2]}]\n  dev: [{rows: 3}]\n"
        assert problems(text) == [
            "c.yaml:3: data.train.0.columns.0: should be text (it is 1.5)",
            "c.yaml:3: data.train.0.columns.0: should be a valid integer (it is 1.5)",
        ]

    @pytest.mark.parametrize("value", ["1e999", "-1e999"])
    def test_no_number_is_infinite(self, problems, value):
        assert (
            "train.clip_norm: should be a finite number"
            in problems(GOOD + f"train: {{clip_norm: {value}}}\n")[0]
        )

    def test_aliases_within_aliases_end(self, problems):
        levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
        (problem,) = problems("\n".join(["a0: &a0 [x, x]", *levels]))
        assert problem.endswith("has more than 20,000 values")

    def test_a_folder_instead_of_a_file(self, tmp_path):
        with pytest.raises(ConfigError, match="is a folder, but not a run folder"):
            load_config(str(tmp_path))

    def test_a_file_without_permission(self, problems, monkeypatch):
        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "read_text", refuse)
        assert problems(GOOD) == ["c.yaml: cannot be read: Permission denied"]


class TestSet:
    def test_a_key(self, load):
        config = load(GOOD, "train.learning_rate=1e-4", "seed=3.0", "chat.persona=no", "name=010")
        assert config.train.learning_rate == 1e-4
        assert (config.seed, config.chat.persona, config.name) == (3, "no", "010")

    @pytest.mark.parametrize("number", ["1e3", "1000.0", "1.0e+3"])
    def test_a_whole_number_may_be_written_as_another(self, load, number):
        assert load(GOOD, f"train.max_steps={number}").train.max_steps == 1000
        assert load(GOOD + f"train: {{max_steps: {number}}}\n").train.max_steps == 1000

    def test_it_wins_over_the_file_and_the_last_one_wins(self, load):
        text = GOOD + "train: {max_steps: 3, patience: 4}\n"
        train = load(text, "train.max_steps=5", "train.max_steps=6").train
        assert (train.max_steps, train.patience) == (6, 4)

    def test_it_mends_what_is_wrong_in_the_file(self, load):
        assert load(GOOD + "train: {max_steps: x}\n", "train.max_steps=5").train.max_steps == 5

    def test_a_value_may_hold_an_equals_sign_or_be_empty(self, load):
        assert load(GOOD, "chat.persona=a=b").chat.persona == "a=b"
        assert load(GOOD, "chat.persona=").chat.persona is None

    def test_list_items_are_reached_by_number(self, load):
        text = "name: x\ndata: {train: [{file: a.tsv}, {file: b.tsv}], dev: [{rows: 3}]}\n"
        data = load(text, "data.train.1.file=c.tsv", "data.dev.0.rows=9").data
        assert [corpus.file for corpus in data.train] == ["a.tsv", "c.tsv"]
        assert data.dev[0].rows == 9

    def test_an_item_is_added_behind_the_last(self, load):
        data = load(GOOD, "data.train.1={file: b.tsv}", "data.test.0={file: t.tsv}").data
        assert [corpus.file for corpus in data.train] == [None, "b.tsv"]
        assert [corpus.file for corpus in data.test] == ["t.tsv"]

    def test_a_whole_section_or_list(self, load):
        config = load(GOOD, "model={d_model: 64, d_ff: 8}", "data.train=[{file: b.tsv}]")
        assert (config.model.d_model, config.model.d_ff, config.model.num_heads) == (64, 8, 4)
        assert config.data.train[0].file == "b.tsv"

    @pytest.mark.parametrize(
        ("override", "problem"),
        [
            ("max_steps", "--set max_steps: expected key=value, for example --set train.max_steps"),
            ("=3", "--set =3: expected key=value"),
            ("model.d_model=[1", "--set model.d_model=[1: the value is not valid YAML"),
            ("model.d_model=!!int x", "--set model.d_model=!!int x: the value is not valid YAML"),
            ("seed=a: b: c", "--set seed=a: b: c: the value is not valid YAML"),
            ("model.d_modle=3", "--set model.d_modle=3: model.d_modle: unknown key. Did you mean"),
            ("model.d_model=x", "--set model.d_model=x: model.d_model: should be a valid integer"),
            ("trian.x=3", "--set trian.x=3: trian: unknown key. Did you mean 'train'?"),
            ("name.x=3", "--set name.x=3: name.x: no such item"),
            ("name.x.y=3", "--set name.x.y=3: name.x: no such item"),
            ("data.train.5.file=b", "--set data.train.5.file=b: data.train.5: no such item"),
            ("data.train.2={file: b}", "--set data.train.2={file: b}: data.train.2: no such item"),
            ("data.train.file=b", "--set data.train.file=b: data.train.file: no such item"),
            ("data.train.x.file=b", "--set data.train.x.file=b: data.train.x: no such item"),
        ],
    )
    def test_what_is_wrong_with_it(self, problems, override, problem):
        found = problems(GOOD, override)
        assert len(found) == 1
        assert found[0].startswith(problem)

    def test_a_problem_below_a_replaced_key_is_the_overrides(self, problems):
        override = "data.train=[{fiel: b.tsv}]"
        assert problems(GOOD, override)[0].startswith(f"--set {override}: data.train.0")

    def test_several_are_told_at_once_with_those_of_the_file(self, problems):
        assert len(problems(GOOD + "colour: red\n", "x", "y", "seed=z")) == 4


class TestAuto:
    @pytest.fixture
    def load_all(self, tmp_path):
        """A function that returns the configuration and the keys that it leaves open."""

        def load_all(text: str, *overrides: str):
            path = tmp_path / "c.yaml"
            path.write_text(GOOD + text)
            loaded = load_config(str(path), list(overrides))
            return loaded.config, loaded.auto

        return load_all

    def test_nothing_is_auto_unless_it_says_so(self, load_all):
        assert load_all("")[1] == frozenset()
        assert load_all("model: {}\ntrain: {precision: auto}")[1] == frozenset()

    def test_a_key(self, load_all):
        config, auto = load_all("model: {d_ff: auto, dropout: 0.3}\ntokenizer: {vocab_size: auto}")
        assert auto == {"model.d_ff", "tokenizer.vocab_size"}
        assert config.model.dropout == 0.3

    @pytest.mark.parametrize("section", ["tokenizer", "model", "train"])
    def test_a_section_is_all_its_keys_that_can_be_chosen(self, load_all, section):
        _, auto = load_all(f"{section}: auto")
        assert auto == {f"{section}.{key}" for key in auto_keys()[section]}

    def test_a_key_of_such_a_section_can_be_fixed_alone(self, load_all):
        config, auto = load_all("model: auto", "model.d_model=64", "model.norm=post")
        assert auto == {f"model.{key}" for key in auto_keys()["model"]} - {"model.d_model"}
        assert (config.model.d_model, config.model.norm) == (64, "post")

    def test_it_can_be_set_on_the_command_line(self, load_all):
        _, auto = load_all("model: {d_model: 64}", "model.d_ff=auto", "train.max_steps=auto")
        assert auto == {"model.d_ff", "train.max_steps"}
        assert load_all("model: {d_model: 64}", "model=auto")[1] == load_all("model: auto")[1]

    @pytest.mark.parametrize(
        "model", ["{num_heads: 3, d_model: auto}", "{num_heads: auto, d_model: 14}"]
    )
    def test_what_stands_in_for_it_never_clashes_with_a_key_that_is_set(self, load_all, model):
        assert len(load_all(f"model: {model}")[1]) == 1

    @pytest.mark.parametrize(
        ("text", "problem"),
        [
            ("model: {norm: auto}", "model.norm: should be 'pre' or 'post' (it is \"auto\")"),
            ("seed: auto", 'seed: should be a valid integer (it is "auto")'),
            ("decode: auto", 'decode: should be a mapping of keys to values (it is "auto")'),
            ("model: {d_ff: Auto}", 'model.d_ff: should be a valid integer (it is "Auto")'),
            ("model: {num_heads: x, d_model: auto}", "model.num_heads: should be a valid integer"),
        ],
    )
    def test_elsewhere_it_is_a_problem_with_its_line(self, problems, text, problem):
        found = problems(GOOD + text)
        assert len(found) == 1
        assert found[0].startswith(f"c.yaml:3: {problem}")

    def test_it_is_written_for_keys_and_sections(self, load, tmp_path):
        text = to_yaml(load(GOOD), auto={"tokenizer.vocab_size", "model"})
        assert "\n  vocab_size: auto  " in text
        assert "\nmodel: auto\n#  d_model: auto  " in text
        assert '\n#  norm: "pre"  ' in text
        (tmp_path / "whole.yaml").write_text(text)
        # What the comment above such a section tells the user to do.
        opened = text.replace("\nmodel: auto", "\nmodel:").replace("\n#  ", "\n  ")
        (tmp_path / "opened.yaml").write_text(opened)
        whole, opened = (load_config(str(tmp_path / f"{n}.yaml")) for n in ("whole", "opened"))
        assert opened.auto == whole.auto
        assert opened.config == whole.config
        assert whole.auto == {"tokenizer.vocab_size", *(f"model.{k}" for k in auto_keys()["model"])}


class TestWithValues:
    def test_values_are_changed_in_a_copy(self, load):
        config = load(GOOD)
        changed = with_values(config, {"model.d_model": 64, "train.schedule": "noam"}, "x")
        assert (changed.model.d_model, changed.train.schedule) == (64, "noam")
        assert config.model.d_model == 128
        assert value_of(changed, "model.d_model") == 64

    def test_what_does_not_fit_names_where_it_comes_from(self, load):
        with pytest.raises(ConfigError, match=r"^runs/x: model\.num_heads: must divide d_model"):
            with_values(load(GOOD), {"model.num_heads": 3}, "runs/x")


class TestNames:
    def test_quickstart_is_the_default(self):
        loaded = load_config(None)
        assert loaded.config.name == "quickstart"
        assert loaded.name == "quickstart (bundled)"
        assert (loaded.data_dir / "train.en").is_file()

    @pytest.mark.parametrize("name", list(bundled_configs()))
    def test_every_bundled_configuration_loads_by_name(self, name):
        loaded = load_config(name)
        assert loaded.config.name == name
        assert loaded.name == f"{name} (bundled)"

    def test_a_problem_in_a_bundled_one_names_it(self):
        with pytest.raises(ConfigError, match=r"^--set seed=-1: seed: should be greater"):
            load_config("quickstart", ["seed=-1"])

    def test_a_file_of_that_name_comes_first(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("chat").write_text(GOOD)
        loaded = load_config("chat")
        assert (loaded.config.name, loaded.name) == ("x", "chat")

    def test_an_unknown_name(self):
        with pytest.raises(ConfigError) as caught:
            load_config("quikstart")
        assert str(caught.value) == (
            "quikstart: no such file, and no bundled configuration of that name. "
            "Did you mean 'quickstart'?"
        )
        assert caught.value.hint.startswith("bundled configurations: ")
        assert "multi30k-en-de" in caught.value.hint

    def test_a_file_that_is_probably_meant(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("my.yaml").write_text(GOOD)
        with pytest.raises(ConfigError, match=r"Did you mean 'my\.yaml'\?"):
            load_config("my.yml")


class TestDataDir:
    @pytest.fixture
    def data_dir(self, tmp_path, monkeypatch):
        """A function that returns the data folder of `configs/c.yaml`, seen from `work/`."""
        for folder in ("configs/near", "work/far", "both", "configs/both", "work/both"):
            (tmp_path / folder).mkdir(parents=True)
        monkeypatch.chdir(tmp_path / "work")

        def data_dir(name: str) -> Path:
            path = tmp_path / "configs" / "c.yaml"
            path.write_text(
                f"name: x\ndata: {{dir: {name}, train: [{{file: a}}], dev: [{{rows: 1}}]}}"
            )
            return load_config(str(path)).data_dir

        return data_dir

    def test_is_beside_the_file(self, data_dir, tmp_path):
        assert data_dir("near") == tmp_path / "configs" / "near"
        assert data_dir(".") == tmp_path / "configs"

    def test_is_else_in_the_working_folder(self, data_dir):
        assert data_dir("far") == Path("far")
        assert data_dir("nowhere") == Path("nowhere")

    def test_beside_the_file_comes_first(self, data_dir, tmp_path):
        assert data_dir("both") == tmp_path / "configs" / "both"

    def test_where_a_file_of_it_lies_comes_before_all(self, data_dir):
        """A model's own copy of a configuration that says `dir: .` means where training was."""
        Path("a").touch()
        assert data_dir(".") == Path()

    def test_may_be_absolute(self, data_dir, tmp_path):
        assert data_dir(str(tmp_path / "both")) == tmp_path / "both"


class TestToYaml:
    def test_it_holds_every_key_with_its_help(self, load):
        text = to_yaml(load(GOOD))

        def is_told(key: str, field) -> bool:
            line = rf"^{key}: .*  # {re.escape(describe(field, with_default=True))}$"
            return re.search(line, text, re.MULTILINE) is not None

        for name, field in Config.model_fields.items():
            section = field.annotation
            if isinstance(section, type) and issubclass(section, Section):
                assert f"\n{name}:\n" in text
                for key, inner in section.model_fields.items():
                    assert re.search(
                        rf"^  {key}: .*  # {re.escape(describe(inner, with_default=True))}$",
                        text,
                        re.MULTILINE,
                    )
            else:
                assert re.search(
                    rf"^{name}: .*  # {re.escape(describe(field, with_default=True))}$",
                    text,
                    re.MULTILINE,
                )

    def test_what_the_model_to_start_from_has_is_not_written(self, load):
        text = to_yaml(load(GOOD + "train: {from: runs/a}\nmodel: {dropout: 0.2}\n"))
        assert "\ntokenizer: {}\n" in text
        assert load(text).model.model_fields_set == {"dropout"}

    def test_an_open_key_is_written_with_a_model_to_start_from(self, load):
        config = load(GOOD + "train: {from: runs/a}\n")
        text = to_yaml(config, ["tokenizer.vocab_size"])
        assert "\n  vocab_size: auto  " in text
        assert "\n  joint: " not in text

    def test_lists_are_short(self, load):
        text = to_yaml(load(GOOD))
        assert '  train: [{source: "a.en", target: "a.de"}]' in text
        assert '  dev: [{file: "dev.tsv"}]' in text
        assert "  test: []  " in text

    @pytest.mark.parametrize(
        "persona",
        [
            *("no", "010", "12:30", "1e-4", "null", "~", "", " ", "a: b # c", "'\"\\", "tab\there"),
            *("line\nbreak", "\r", "\x00\x07\x1b", "\x7f\x80\x85\x9f", "\u2028\u2029"),
            *("\ufeff\ufffe", "\uffff", "😀 한국어 größer"),
            *("{}", "[a]", "---", "%x", "@", "&a *a !b |"),
        ],
    )
    def test_any_text_comes_back(self, load, persona):
        config = load(GOOD)
        changed = config.model_copy(
            update={"chat": config.chat.model_copy(update={"persona": persona})}
        )
        assert load(to_yaml(changed)) == changed

    def test_what_people_read_stays_readable(self, load):
        assert 'persona: "größer 한국어 😀"' in to_yaml(
            load(GOOD + "chat: {persona: größer 한국어 😀}")
        )

    @pytest.mark.parametrize("name", list(bundled_configs()))
    def test_bundled_configurations_come_back(self, load, name):
        config = load_config(name).config
        assert load(to_yaml(config)) == config

    @pytest.mark.parametrize(
        ("section", "key", "text"),
        [
            ("model", "norm", "(pre | post)"),
            ("model", "dropout", "(float or auto, >= 0.0 and < 1.0)"),
            ("tokenizer", "vocab_size", "(int or auto, tokens, >= 264 and <= 500000)"),
            ("decode", "max_length_ratio", "(float or null, > 0.0 and <= 100)"),
            ("chat", "persona", "(str or null)"),
            ("data", "train", "(list)"),
            ("model", "tie_embeddings", "(bool)"),
        ],
    )
    def test_the_help_ends_with_type_unit_and_range(self, section, key, text):
        field = Config.model_fields[section].annotation.model_fields[key]
        assert describe(field) == f"{field.description} {text}"


def test_the_reference_has_a_row_for_every_key(load):
    heading, ruler, *rows = reference_markdown().splitlines()
    cells = [row.split("|") for row in (heading, ruler, *rows)]
    assert {len(row) for row in cells} == {5}  # a bar in a cell would make another column
    config = load(GOOD)
    keys = {
        f"{name}.{key}" if isinstance(value, Section) else name
        for name, value in config
        for key in (value.model_dump() if isinstance(value, Section) else [""])
    }
    keys |= {f"data.train.N.{key}" for key in type(config.data.train[0]).model_fields}
    assert sorted(row[1].strip(" `") for row in cells[2:]) == sorted(keys)
    assert "| `name` | required | the run folder below runs/ (str) |" in rows
    assert '| `model.norm` | `"pre"` | layer normalisation before or after each sublayer ' in (
        reference_markdown()
    )


class TestFixedKeys:
    def test_what_may_change_is_left_out_and_nothing_else(self, load):
        config = load(GOOD)
        every = {
            f"{name}.{key}" if isinstance(value, Section) else name
            for name, value in config
            for key in (value.model_dump() if isinstance(value, Section) else [""])
        }
        assert every - fixed_keys(config).keys() == {
            "name",
            "data.dir",
            "data.source_lang",
            "data.target_lang",
            "data.test",
            "data.licence",
            "chat.rerank",
            "chat.anti_generic_weight",
            "classification.threshold",
            *(
                f"train.{key}"
                for key in ("max_steps", "eval_steps", "checkpoint_steps", "patience")
            ),
            *(
                f"train.{key}"
                for key in ("keep_checkpoints", "average_checkpoints", "tensorboard", "devices")
            ),
            *(f"decode.{key}" for key in config.decode.model_dump()),
        }
        assert fixed_keys(config).keys() <= every

    def test_they_are_json_data(self, load):
        fixed = fixed_keys(load(GOOD))
        assert json.loads(json.dumps(fixed)) == fixed
        assert (fixed["seed"], fixed["model.d_model"]) == (1, 128)
        assert fixed["data.train"][0]["source"] == "a.en"

    def test_they_change_with_the_configuration(self, load):
        before, after = fixed_keys(load(GOOD)), fixed_keys(load(GOOD, "model.dropout=0.3"))
        assert {key for key in before if before[key] != after[key]} == {"model.dropout"}
        assert fixed_keys(load(GOOD, "train.max_steps=9", "decode.beam_size=1")) == before


def test_the_json_schema_has_every_key_and_lets_auto_be():
    schema = json_schema()
    sections = {name: schema["$defs"][f"{name.title()}Config"] for name in auto_keys()}
    for name, section in sections.items():
        assert {"const": "auto"} in schema["properties"][name]["anyOf"]
        for key, described in section["properties"].items():
            allows_auto = {"const": "auto"} in described.get("anyOf", [])
            assert allows_auto is (key in auto_keys()[name]) or key == "devices"
            assert described["description"]
    rows = re.findall(r"^\| `(\w+)\.(\w+)` ", reference_markdown(), flags=re.MULTILINE)
    for name, key in rows:
        assert key in schema["$defs"][f"{name.title()}Config"]["properties"]
    beam = schema["$defs"]["DecodeConfig"]["properties"]["beam_size"]
    assert (beam["minimum"], beam["maximum"], beam["default"]) == (1, 512, 5)
    assert "(optimizer steps)" in sections["train"]["properties"]["warmup_steps"]["description"]


@pytest.mark.parametrize(
    "damage", ["", "[" * 9999, '{"a": [{"size": "x"}, 5], "b": [{}, 5]}', '{"a": 3}']
)
def test_damaged_hashes_of_a_run_are_none(tmp_path, damage):
    (tmp_path / "config.yaml").write_text(GOOD)
    (tmp_path / "hashes.json").write_text(damage)
    assert load_config(str(tmp_path)).data_dir == tmp_path
    assert changed_files(tmp_path, [tmp_path / "a.en"]) == []


def test_a_bundled_runs_configuration_finds_the_bundled_text(tmp_path, monkeypatch):
    """Its `data.dir` begins at `configs/`, wherever the run is: `nmt evaluate` reads it there."""
    config = load_config("quickstart").config
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "config.yaml").write_text(to_yaml(config))
    monkeypatch.chdir(tmp_path)
    loaded = load_config("runs/config.yaml")
    assert loaded.data_dir.samefile(load_config("quickstart").data_dir)
