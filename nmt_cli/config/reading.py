"""YAML text <-> `Config`, with every problem of a file told at once as `file:line: key: what`.

Scalars are read by YAML 1.2's rules: PyYAML alone would read `1e-4` as text, `no` as False, `010`
as eight, and would let a later duplicate of a key win silently.
"""

import functools
import json
import operator
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from nmt_cli.config.schema import Config, CorpusConfig, Section
from nmt_cli.config.text_memory import remembered_dir
from nmt_cli.errors import ConfigError, did_you_mean
from nmt_cli.resources import bundled_configs, bundled_root

DEFAULT_CONFIG = "quickstart"
RUN_CONFIG = "config.yaml"  # of a run folder
_ENDINGS = (".yaml", ".yml")
_MOST_VALUES = 20_000
_MOST_EXACT = 2.0**53  # up to which a float is the number that was written
_NUMBERS = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool"))
AUTO = "auto"  # the value of a key, or of a section, that `config/auto.py` shall choose
_COMMENT_COLUMN = 44
_WHOLE_SECTION = (
    "# Chosen to suit the text and the device. To set keys yourself, remove `auto` here and the #",
    "# before each line below, then change the values.",
)
_NO_NOTES: Mapping[str, str] = MappingProxyType({})
_PLAIN = {"model_type": "should be a mapping of keys to values", "string_type": "should be text"}
_ARM = re.compile(r"bool|str|int|float|constrained-.*|literal\[.*")  # of a union, in a location
# Characters that JSON leaves as they are and YAML refuses or reads as a line's end.
_NOT_YAML = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
# What PyYAML's own constructors let through, for example for `!!int x`.
_CONSTRUCTOR_ERRORS = (ValueError, LookupError, AttributeError, TypeError)

Location = tuple[str | int, ...]


@dataclass(frozen=True)
class LoadedConfig:
    """A checked configuration and where it came from.

    For keys that say `auto` something that fits stands in `config`, until
    `training.auto_values.resolve` has seen the text.
    """

    config: Config
    data_dir: Path  # that relative file names in `data` start from
    name: str  # the file as the user would name it
    auto: frozenset[str] = frozenset()  # dotted names of the keys that say `auto`


class _Loader(yaml.SafeLoader):
    """SafeLoader with YAML 1.2's idea of booleans and numbers."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012


for _tag, _pattern, _first in (
    ("null", r"~|null|Null|NULL|", [*"~nN", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(0|[1-9][0-9_]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?",
        list("-+.0123456789"),
    ),
):
    _Loader.add_implicit_resolver(
        f"tag:yaml.org,2002:{_tag}", re.compile(rf"^(?:{_pattern})$"), _first
    )


def _construct_float(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> float:
    """Return a whole number as one: 1e3 and 1000.0 steps are 1000; a float may be whole, too."""
    value = float(loader.construct_scalar(node))
    return int(value) if value.is_integer() and abs(value) < _MOST_EXACT else value


def _construct_text(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> str:
    r"""Join pairs of surrogates: JSON writes an emoji as `\ud83d\ude00`, and JSON is YAML."""
    text = str(loader.construct_scalar(node))
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        problem = "half of a surrogate pair is not a character"
        raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from error


_Loader.add_constructor("tag:yaml.org,2002:float", _construct_float)
_Loader.add_constructor("tag:yaml.org,2002:str", _construct_text)


def load_config(name: str | None, overrides: list[str] | None = None) -> LoadedConfig:
    """Read a configuration file, apply `--set` overrides, and check everything.

    The name is a path or that of a bundled configuration, the overrides are `section.key=value`;
    list items are reached by number. ConfigError: the file is missing, is not YAML, or has
    problems; all are listed.
    """
    path = _find(name or DEFAULT_CONFIG)
    is_bundled = path in bundled_configs().values()
    shown = f"{name or DEFAULT_CONFIG} (bundled)" if is_bundled else str(path)
    tree, lines, problems = _parse(path, shown)
    places: dict[Location, str] = {loc: f"{shown}:{line}" for loc, line in lines.items()}
    _spell_out_auto(tree)
    for override in overrides or []:
        problems += _apply_override(tree, override, places)
        _spell_out_auto(tree)
    auto = _take_out_auto(tree)
    config = _validated(tree, places, shown, problems)
    is_moved = any(override.startswith("data.dir=") for override in overrides or [])
    remembered = None if is_moved else remembered_dir(config, path.parent)
    return LoadedConfig(config, _data_dir(config, path, remembered), shown, auto)


def _find(name: str) -> Path:
    path, configs = Path(name), bundled_configs()
    # A file, a bundled name, a file whose ending was left out, a run folder.
    short = (Path(f"{name}{end}") for end in _ENDINGS)
    for candidate in (path, configs.get(name), *short, path / RUN_CONFIG):
        if candidate is not None and candidate.is_file():
            return candidate
    if path.is_dir():
        raise ConfigError(f"{name}: is a folder, but not a run folder ({RUN_CONFIG} is missing)")
    files = (str(file) for file in path.parent.glob("*.y*ml"))
    raise ConfigError(
        f"{name}: no such file, and no bundled configuration of that name."
        f"{did_you_mean(name, [*files, *configs])}",
        hint=f"bundled configurations: {', '.join(configs)}",
    )


def _data_dir(config: Config, path: Path, remembered: Path | None) -> Path:
    """Return the folder that a configuration names, the first of a few that has any of its files.

    A run keeps its configuration elsewhere than where it was read, so where its text was comes
    first; it is looked for from the working folder, too, and that of a bundled configuration in nmt
    itself.
    """
    bundled = bundled_root() / "configs"
    folders = [folder / config.data.dir for folder in (path.parent, Path(), bundled)]
    known = [*filter(None, [remembered]), *folders]
    with_files = [d for d in known if any((d / name).is_file() for name in config.data.files)]
    there = next(filter(Path.is_dir, folders), folders[1])
    return next(iter(with_files), remembered or there)


def _parse(path: Path, shown: str) -> tuple[dict[str, Any], dict[Location, int], list[str]]:
    """Return the raw tree, the line of each key, and problems such as duplicate keys."""
    lines: dict[Location, int] = {}
    problems: list[str] = []
    text = ""
    try:
        text = path.read_text(encoding="utf-8")
        root = yaml.compose(text, Loader=_Loader)
        if root is None:
            return {}, {}, []
        if not isinstance(root, yaml.MappingNode):
            raise ConfigError(f"{shown}:1: a configuration is a mapping of keys to values")
        for loc, line in _lines_of(root):
            if loc in lines and isinstance(loc[-1], str):
                twice = f"given twice (first in line {lines[loc]})"
                problems.append(f"{shown}:{line}: {_dotted(loc)}: {twice}")
            lines[loc] = line
            if len(lines) > _MOST_VALUES:  # aliases, one within another, stand for billions
                raise ConfigError(f"{shown}: has more than {_MOST_VALUES:,} values")
        return _Loader("").construct_document(root), lines, problems
    except UnicodeDecodeError as error:
        raise ConfigError(f"{shown}: not valid UTF-8 (byte {error.start + 1})") from error
    except OSError as error:
        raise ConfigError(f"{shown}: cannot be read: {error.strerror}") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{shown}:{line}: not valid YAML: {error.problem}") from error
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{shown}:{line}: not valid YAML: {error.reason}") from error
    except RecursionError as error:
        raise ConfigError(f"{shown}: not valid YAML: nested too deeply") from error
    except _CONSTRUCTOR_ERRORS as error:
        raise ConfigError(f"{shown}: not valid YAML: a value does not fit its type") from error


def _lines_of(node: yaml.Node, loc: Location = ()) -> Iterator[tuple[Location, int]]:
    """Yield each key and list item within a node with its line; make every key text.

    So is the name of the run: a folder may be called 007.
    """
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            yield (*loc, index), item.start_mark.line + 1
            yield from _lines_of(item, (*loc, index))
    elif isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                key.tag = "tag:yaml.org,2002:str"  # whatever it looks like
            if (*loc, key.value) == ("name",) and value.tag in _NUMBERS:
                value.tag = "tag:yaml.org,2002:str"
            yield (*loc, str(key.value)), key.start_mark.line + 1
            yield from _lines_of(value, (*loc, str(key.value)))


def _apply_override(tree: dict[str, Any], override: str, places: dict[Location, str]) -> list[str]:
    """Set one dotted key of the raw tree; the check that follows judges key and value."""
    dotted, equals, text = override.partition("=")
    if not equals or not dotted:
        return [f"--set {override}: expected key=value, for example --set train.max_steps=200"]
    try:
        value = yaml.load(text, Loader=_Loader)  # noqa: S506  (_Loader is a SafeLoader)
    except (yaml.YAMLError, RecursionError, *_CONSTRUCTOR_ERRORS):
        return [f"--set {override}: the value is not valid YAML"]
    if dotted == "name" and isinstance(value, int | float):  # see `_lines_of`
        value = text.strip()
    parts: list[str | int] = [int(p) if p.isdecimal() else p for p in dotted.split(".")]
    for replaced in [known for known in places if known[: len(parts)] == tuple(parts)]:
        del places[replaced]
    places[tuple(parts)] = f"--set {override}"
    node: Any = tree
    for index, part in enumerate(parts):
        is_last = index + 1 == len(parts)
        if isinstance(node, list) and isinstance(part, int) and part < len(node) + is_last:
            if is_last:
                node[part : part + 1] = [value]
            else:
                node = node[part]
        elif isinstance(node, dict) and is_last:
            node[str(part)] = value
        elif isinstance(node, dict):
            node = node.setdefault(str(part), [] if isinstance(parts[index + 1], int) else {})
        else:
            return [f"--set {override}: {_dotted(tuple(parts[: index + 1]))}: no such item"]
    return []


def _spell_out_auto(tree: dict[str, Any]) -> None:
    """Turn `model: auto` into `auto` for every key of that section that may say so."""
    for name, keys in auto_keys().items():
        if tree.get(name) == AUTO:
            tree[name] = dict.fromkeys(keys, AUTO)


def _take_out_auto(tree: dict[str, Any]) -> frozenset[str]:
    """Put something that fits in the place of every `auto`; return the names of these keys."""
    found: set[str] = set()
    for name, keys in auto_keys().items():
        if isinstance(section := tree.get(name), dict):
            open_keys = {key for key in keys if section.get(key) == AUTO}
            found |= {f"{name}.{key}" for key in open_keys}
            tree[name] = {k: v for k, v in section.items() if k not in open_keys}
    if "model.num_heads" in found:
        tree["model"]["num_heads"] = 1  # divides any width
    elif "model.d_model" in found and isinstance(heads := tree["model"].get("num_heads"), int):
        tree["model"]["d_model"] = 2 * max(1, heads)  # even, as sinusoids need it
    return frozenset(found)


def _validated(
    tree: dict[str, Any], places: dict[Location, str], shown: str, problems: list[str]
) -> Config:
    """Return the configuration of a tree; raise ConfigError for all problems together."""
    found: list[str] = []
    try:
        config = Config.model_validate(tree)
    except ValidationError as error:
        found = [_problem(dict(item), places, shown) for item in error.errors()]
    if problems or found:
        raise ConfigError("\n".join([*problems, *dict.fromkeys(found)]))
    return config


def _problem(error: dict[str, Any], places: dict[Location, str], shown: str) -> str:
    loc: Location = error["loc"]
    if error["type"] != "extra_forbidden" and _ARM.fullmatch(str(loc[-1])):
        loc = loc[:-1]  # pydantic adds which arm of a union it tried
    above = (places[loc[:n]] for n in range(len(loc), 0, -1) if loc[:n] in places)
    below = (place for known, place in places.items() if known[: len(loc)] == loc)
    place = next(above, next(below, shown))
    is_glued = any(":" in str(part) for part in loc)
    hint = " (put a space after the colon)" if is_glued else ""
    return f"{place}: {_dotted(loc)}: {_what(error, loc)}{hint}"


def _what(error: dict[str, Any], loc: Location) -> str:
    if error["type"] == "extra_forbidden":
        return f"unknown key.{_meant_key(loc)}"
    if error["type"] == "missing":
        return "is required"
    message = str(error["msg"]).removeprefix("Value error, ").removeprefix("Input ")
    message = _PLAIN.get(error["type"], message)
    value = error.get("input")
    simple = isinstance(value, str | int | float | bool) or value is None
    if not simple or message.endswith(")"):  # it has told what is there
        return message
    return f"{message} (it is {json.dumps(value, ensure_ascii=False)})"


def _meant_key(loc: Location) -> str:
    """Return which key was meant: one of a section, where that was left out."""
    within = [name for name in _keys() if name.endswith(f".{loc[0]}")]
    if len(loc) == 1 and within:
        return f" Did you mean '{' or '.join(within)}'?"
    model: type[Section] = Config
    for part in loc[:-1]:
        if field := model.model_fields.get(str(part)):
            model = _section_of(field) or model
    return did_you_mean(str(loc[-1]), list(model.model_fields))


def _section_of(field: FieldInfo) -> type[Section] | None:
    """Return the Section class of a nested field, or of the items of a list field."""
    for kind in (field.annotation, *get_args(field.annotation)):
        if isinstance(kind, type) and issubclass(kind, Section):
            return kind
    return None


@functools.cache
def _keys() -> dict[str, FieldInfo]:
    """Return the declaration of each key by its dotted name, those in no section first."""
    found = {name: field for name, field in Config.model_fields.items() if not _section_of(field)}
    for name, field in Config.model_fields.items():
        if section := _section_of(field):
            found |= {f"{name}.{key}": inner for key, inner in section.model_fields.items()}
    return found


def _dotted(loc: Location) -> str:
    return ".".join(str(part) for part in loc)


def with_values(config: Config, values: Mapping[str, Any], origin: str) -> Config:
    """Return a configuration with other values for some keys (`section.key`), checked again.

    ConfigError: they do not fit the others; the message names their origin.
    """
    tree = config.model_dump()
    for name, value in values.items():
        section, _, key = name.partition(".")
        tree[section][key] = value
    return checked(tree, origin)


def checked(tree: dict[str, Any], origin: str) -> Config:
    """Return the configuration of a mapping such as YAML gives, with no `auto` in it.

    ConfigError: it is not a configuration; all problems are listed, with their origin.
    """
    return _validated(tree, {}, origin, [])


def value_of(config: Config, name: str) -> Any:
    """Return the value of a dotted key (`section.key`)."""
    section, _, key = name.partition(".")
    return getattr(getattr(config, section), key)


def to_yaml(
    config: Config, auto: Collection[str] = (), notes: Mapping[str, str] = _NO_NOTES
) -> str:
    """Write a configuration with every key, each followed by its help as a comment.

    With `train.from`, the keys of `model` and `tokenizer` that were not given are left out: the
    model to start from has them. Dotted keys in `auto` are written so, and sections as a whole:
    their keys follow as comments. `notes` has a line to write above a dotted key, or above the keys
    of a section.
    """
    lines: list[str] = []
    for name, field in Config.model_fields.items():
        value = getattr(config, name)
        if isinstance(value, Section):
            lines += ["", f"# {(type(value).__doc__ or '').splitlines()[0]}"]
            may_omit = config.train.start is not None and name in ("model", "tokenizer")
            said = value.model_fields_set | _open_keys(name, auto)
            keys = said if may_omit else type(value).model_fields
            lines += _section_lines(name, value, keys, auto, notes)
        else:
            lines.append(_yaml_line(name, value, field, ""))
    return "\n".join([*lines, ""])


def whole_sections(auto: Collection[str]) -> set[str]:
    """Return names of keys that say `auto`; one for a section of which all that can do."""
    names = set(auto)
    for section, keys in auto_keys().items():
        whole = {f"{section}.{key}" for key in keys}
        if len(whole) > 1 and whole <= names:
            names = (names - whole) | {section}
    return names


def _section_lines(
    name: str,
    section: Section,
    keys: Collection[str],
    auto: Collection[str],
    notes: Mapping[str, str],
) -> list[str]:
    if not keys:
        return [f"{name}: {{}}"]
    is_whole, open_keys = name in auto, _open_keys(name, auto)
    lines = [f"# {notes[name]}"] if name in notes else []
    lines += [*_WHOLE_SECTION, f"{name}: {AUTO}"] if is_whole else [f"{name}:"]
    for key, field in type(section).model_fields.items():
        if key not in keys:
            continue
        value = AUTO if key in open_keys else getattr(section, key)
        lines += [f"  # {notes[f'{name}.{key}']}"] if f"{name}.{key}" in notes else []
        lines.append(_yaml_line(key, value, field, "#  " if is_whole else "  "))
    return lines


def _open_keys(section: str, auto: Collection[str]) -> set[str]:
    """Return the keys of a section that say `auto`, which may say so as a whole."""
    keys = auto_keys().get(section, [])
    return {key for key in keys if section in auto or f"{section}.{key}" in auto}


def _yaml_line(name: str, value: Any, field: FieldInfo, indent: str) -> str:
    text = f"{indent}{name}: {_flow(value)}"
    return f"{text:<{_COMMENT_COLUMN}}  # {describe(field, with_default=True)}"


def _flow(value: Any) -> str:
    """Return a value as one line of YAML (JSON is YAML)."""
    if value == AUTO:
        return AUTO
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    if isinstance(value, Section):
        given = {k: v for k, v in value if v != type(value).model_fields[k].default}
        return "{" + ", ".join(f"{k}: {_flow(v)}" for k, v in given.items()) + "}"
    return _NOT_YAML.sub(
        lambda found: f"\\u{ord(found[0]):04x}", json.dumps(value, ensure_ascii=False)
    )


def describe(field: FieldInfo, *, with_default: bool = False) -> str:
    """Return one line of help: description, type or choices, unit, range, default."""
    kind = _type_name(field.annotation) + (" or auto" if _extra(field, "may_be_auto") else "")
    default = f"default {_flow(field.default)}" if with_default and not field.is_required() else ""
    parts = filter(None, (kind, _extra(field, "unit"), _range(field), default))
    return f"{field.description} ({', '.join(parts)})"


def _type_name(kind: Any) -> str:
    """Return an annotation as people read it."""
    parts = get_args(kind)
    if get_origin(kind) is Literal:
        return " | ".join(map(str, parts))
    if get_origin(kind) is Annotated:
        return _type_name(parts[0])
    if get_origin(kind) in (Union, UnionType):
        names = [_type_name(part) for part in parts if part is not NoneType]
        return " | ".join(names) + (" or null" if NoneType in parts else "")
    return str(getattr(kind, "__name__", kind))


def _range(field: FieldInfo) -> str:
    signs = (("ge", ">="), ("gt", ">"), ("le", "<="), ("lt", "<"))
    bounds = [
        f"{sign} {getattr(limit, name)}"
        for limit in field.metadata
        for name, sign in signs
        if getattr(limit, name, None) is not None
    ]
    return " and ".join(bounds)


def json_schema() -> dict[str, Any]:
    """Return a JSON schema (2020-12) of the configuration file, for editors.

    Keys that may say `auto` allow it, and so do the sections that may as a whole.
    """
    schema = Config.model_json_schema()
    for model in (schema, *schema["$defs"].values()):
        model.pop("title", None)
        for name, key in model["properties"].items():
            key.pop("title", None)
            key.pop("may_change", None)
            if unit := key.pop("unit", None):
                key["description"] += f" ({unit})"
            if key.pop("may_be_auto", False) or (model is schema and name in auto_keys()):
                _allow_auto(key)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "nmt", **schema}


def _allow_auto(key: dict[str, Any]) -> None:
    """Let a key of a schema be `auto` beside what it may be already."""
    about: dict[str, Any] = {n: key.pop(n) for n in ("description", "default") if n in key}
    inner = dict(key)
    key.clear()
    key.update(about, anyOf=[inner, {"const": AUTO}])


def reference_markdown() -> str:
    """Return the table of all keys in `configs/README.md`."""
    rows = ["| key | default | meaning |", "|---|---|---|"]
    of_corpora = {f"data.train.N.{key}": f for key, f in CorpusConfig.model_fields.items()}
    for name, field in (_keys() | of_corpora).items():
        default = "required" if field.is_required() else f"`{_flow(field.default)}`"
        rows.append(f"| `{name}` | {default} | {describe(field).replace('|', 'or')} |")
    return "\n".join(rows) + "\n"


def fixed_keys(config: Config) -> dict[str, Any]:
    """Return the keys that a run may not change midway, as dotted name -> JSON value."""
    tree = config.model_dump(mode="json")
    fixed = (name for name, field in _keys().items() if not _extra(field, "may_change"))
    return {name: functools.reduce(operator.getitem, name.split("."), tree) for name in fixed}


@functools.cache
def auto_keys() -> dict[str, list[str]]:
    """Return the keys that may say `auto`: section -> its keys."""
    found: dict[str, list[str]] = {}
    for name, field in _keys().items():
        section, _, key = name.partition(".")
        if _extra(field, "may_be_auto"):
            found.setdefault(section, []).append(key)
    return found


def _extra(field: FieldInfo, name: str) -> Any:
    """Return what `schema.key` noted of a field, such as its unit."""
    extra = field.json_schema_extra
    return extra.get(name) if isinstance(extra, dict) else None
