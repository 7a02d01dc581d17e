"""Properties of configurations: any comes back from its file, and no file makes a traceback."""

import copy
import json
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from nmt_cli.config.reading import auto_keys, load_config, to_yaml, value_of
from nmt_cli.config.schema import (
    PARTS,
    ClassificationConfig,
    Config,
    CorpusConfig,
    DecodeConfig,
    ModelConfig,
    Section,
)
from nmt_cli.errors import ConfigError

QUICK = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])

NASTY = [
    *("", " ", "no", "010", "12:30", "1e-4", "~", "null", "true", "a: b", "a #b", "'", '"', "\\"),
    *("\n", "\r\n", "\t", "\0", "\x7f", "\x85", "\u2028", "\ufeff", "\ufffe", "\uffff"),
    *("😀", "가", "größer"),
]
strings = st.lists(st.sampled_from(NASTY) | st.text(max_size=4), max_size=4).map("".join)


def bounds(metadata: list[Any]) -> dict[str, Any]:
    found = {}
    for limit in metadata:
        for name in ("ge", "gt", "le", "lt"):
            if getattr(limit, name, None) is not None:
                found[name] = getattr(limit, name)
    return found


def values(field: Any) -> st.SearchStrategy[Any]:
    """Any value that a key's type and bounds allow."""
    return of_kind(field.annotation, bounds(field.metadata))


def of_kind(kind: Any, limits: dict[str, Any]) -> st.SearchStrategy[Any]:
    kinds = get_args(kind)
    if get_origin(kind) is Literal:
        return st.sampled_from(kinds)
    if get_origin(kind) is Annotated:
        return of_kind(kinds[0], bounds(kinds[1].metadata))
    if get_origin(kind) in (Union, UnionType):
        return st.one_of(of_kind(one, limits) for one in kinds)
    return st.none() if kind is NoneType else simple(kind, limits)


def simple(kind: Any, limits: dict[str, Any]) -> st.SearchStrategy[Any]:
    if kind is bool:
        return st.booleans()
    if kind is str:
        return strings
    if kind == list[str]:  # `train.freeze`, the only one that is not optional
        return st.lists(st.sampled_from(PARTS), unique=True, max_size=2)
    low, high = limits.get("ge", limits.get("gt")), limits.get("le", limits.get("lt"))
    if kind is int:
        return st.integers(low, high)
    assert kind is float
    return st.floats(
        low,
        high,
        exclude_min="gt" in limits,
        exclude_max="lt" in limits,
        allow_nan=False,
        allow_infinity=False,
    )


def sections(section: type[Section], **fixed: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Any section; the keys in `fixed` have strategies of their own."""
    strategies = {
        name: fixed[name] if name in fixed else values(field)
        for name, field in section.model_fields.items()
    }
    return st.fixed_dictionaries({}, optional=strategies)


WEIGHT = {"weight": st.floats(0.001, 1000.0)}


def corpora(**optional: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    columns = {"columns": st.lists(strings | st.integers(1), min_size=2, max_size=2)}
    return st.one_of(
        st.fixed_dictionaries({"source": strings, "target": strings}, optional=optional),
        st.fixed_dictionaries({"file": strings}, optional={**columns, **optional}),
    )


rows = st.fixed_dictionaries({"rows": st.integers(1)})
data = st.fixed_dictionaries(
    {
        "train": st.lists(corpora(**WEIGHT), min_size=1, max_size=2),
        "dev": st.lists(corpora(), min_size=1, max_size=2) | rows.map(lambda corpus: [corpus]),
    },
    optional={
        "test": st.lists(corpora(), max_size=2),
        "dir": strings,
        "temperature": st.floats(1.0, 100.0),
    },
)
SPLITS = ("train", "dev", "test")
WAYS = (("en", "de"), ("de", "en"), ("en", "x-y"))


@st.composite
def data_sections(draw: st.DrawFn) -> dict[str, Any]:
    """With languages for each corpus of its own, for none, or for all together."""
    drawn, told = draw(data), draw(st.sampled_from(["", "each", "all"]))
    if told == "all":
        return {**drawn, "source_lang": draw(strings)}
    for corpus in (c for split in SPLITS for c in drawn.get(split, [])):
        if told and "rows" not in corpus:
            corpus["source_lang"], corpus["target_lang"] = draw(st.sampled_from(WAYS))
    return drawn


@st.composite
def models(draw: st.DrawFn) -> dict[str, Any]:
    heads = draw(st.integers(1, 16))
    drawn = draw(sections(ModelConfig, num_heads=st.just(heads), d_model=st.just(0)))
    return {**drawn, "num_heads": heads, "d_model": heads * 2 * draw(st.integers(1, 99))}


@st.composite
def searches(draw: st.DrawFn) -> dict[str, Any]:
    """Any search; a coverage penalty, which needs a beam, has one."""
    drawn = draw(sections(DecodeConfig))
    if drawn.get("coverage_penalty"):
        drawn |= {"beam_size": max(2, drawn.get("beam_size", 2)), "sample": False}
    return drawn


def allowed_in_its_task(tree: dict[str, Any]) -> dict[str, Any]:
    """Take away what only another task may have."""
    tree, task = copy.deepcopy(tree), tree.get("task", "translation")
    if task != "chat" and "model" in tree:
        tree["model"]["turn_embeddings"] = False
    if task != "translation":
        for corpus in (c for split in SPLITS for c in tree["data"].get(split, [])):
            corpus.pop("source_lang", None)
            corpus.pop("target_lang", None)
    if task == "classification" and "train" in tree:
        tree["train"] |= {"freeze": ["embeddings"], "consistency": "none"}
    return tree


label = strings.map(str.strip).filter(bool)
labels = st.none() | st.lists(label, min_size=2, max_size=4, unique=True)
OTHERS = ("tokenizer", "train", "chat")
trees = st.fixed_dictionaries(
    {"name": st.from_regex(r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,9}\Z"), "data": data_sections()},
    optional={
        "task": values(Config.model_fields["task"]),
        "seed": values(Config.model_fields["seed"]),
        "model": models(),
        "decode": searches(),
        "classification": sections(
            ClassificationConfig, labels=labels, separator=strings.filter(bool)
        ),
        **{
            name: sections(Config.model_fields[name].annotation, stages=st.just([]))
            for name in OTHERS
        },
    },
).map(allowed_in_its_task)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("config") / "c.yaml"


@QUICK
@given(tree=trees)
def test_a_configuration_comes_back_from_its_file(file, tree):
    config = Config.model_validate(tree)
    file.write_text(to_yaml(config), encoding="utf-8")
    assert load_config(str(file)).config == config


OPEN_KEYS = [f"{section}.{key}" for section, keys in auto_keys().items() for key in keys]


@QUICK
@given(tree=trees, auto=st.sets(st.sampled_from(OPEN_KEYS)))
def test_keys_that_are_left_open_come_back_from_their_file(file, tree, auto):
    config = Config.model_validate(tree)
    file.write_text(to_yaml(config, auto), encoding="utf-8")
    loaded = load_config(str(file))
    assert loaded.auto == auto
    settled = {key: value_of(config, key) for key in set(OPEN_KEYS) - auto}
    assert {key: value_of(loaded.config, key) for key in settled} == settled


@QUICK
@given(tree=trees)
def test_json_is_yaml(file, tree):
    file.write_text(json.dumps(tree))
    assert load_config(str(file)).config == Config.model_validate(tree)


@QUICK
@given(tree=trees)
def test_every_key_can_be_set_on_the_command_line(file, tree):
    file.write_text("name: x\ndata: {train: [{file: a}], dev: [{file: b}]}\n")
    overrides = [f"{name}={json.dumps(value)}" for name, value in tree.items() if name != "model"]
    overrides += [f"model.{key}={json.dumps(v)}" for key, v in tree.get("model", {}).items()]
    assert load_config(str(file), overrides).config == Config.model_validate(tree)


fragments = st.sampled_from(
    [
        *("name: x\n", "data:\n", "  train: [{file: a}]\n", "  dev: [{rows: 3}]\n", "model: "),
        *("{", "}", "[", "]", "- ", ": ", "\n", "  ", "&a ", "*a ", "? ", "<<: ", "#", "|\n", "\t"),
        *("!!int ", "!!set ", "!!binary ", "%YAML 1.1\n", "---\n", "'", '"', "\\ud800"),
        *("d_model: 1e3", "9" * 30, "~"),
    ]
)


def problem(name: str, *overrides: str) -> str:
    """What is wrong with a configuration, "" when nothing is."""
    try:
        load_config(name, list(overrides))
    except ConfigError as error:
        return str(error)
    return ""


@settings(max_examples=100)
@given(text=st.lists(fragments | st.text(max_size=3), max_size=12).map("".join))
def test_no_file_makes_anything_but_a_told_problem(file, text):
    file.write_bytes(text.encode())
    found = problem(str(file))
    assert not found or found.startswith(str(file))


@settings(max_examples=50)
@given(content=st.binary(max_size=20))
def test_no_bytes_make_anything_but_a_told_problem(file, content):
    file.write_bytes(content)
    with pytest.raises(ConfigError):
        load_config(str(file))


@settings(max_examples=100)
@given(
    key=st.sampled_from(
        ["seed", "model", "model.d_model", "data.train.0", "data.train.0.file", "a.b"]
    )
    | st.text(max_size=5),
    value=st.lists(fragments | st.text(max_size=3), max_size=4).map("".join),
)
def test_no_override_makes_anything_but_a_told_problem(file, key, value):
    file.write_text("name: x\ndata: {train: [{file: a}], dev: [{file: b}]}\n")
    found = problem(str(file), f"{key}={value}")
    assert not found or found.startswith((str(file), "--set "))


def test_the_strategy_reaches_every_key():
    """Or the round trip above would say little."""
    drawn = {"model", "data", "decode", "classification", "name", "task", "seed", *OTHERS}
    assert drawn == set(Config.model_fields)
    assert set(CorpusConfig.model_fields) == {
        *("source", "target", "file", "columns", "weight", "rows"),
        *("source_lang", "target_lang"),
    }
