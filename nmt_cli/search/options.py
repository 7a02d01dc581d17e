"""The options of a search and of a conversation: one record for every engine, command and session.

Standard library only.
"""

import dataclasses
import functools
import numbers
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from nmt_cli.config.limits import OPTIONS, default
from nmt_cli.errors import ConfigError, did_you_mean

OF_SAMPLING = {"temperature", "top_k", "top_p"}
_NOT_TYPED = ("prefix", "suppressed", "format")  # ids, which commands make of text; the model says
# What a user says and no model.
_NOT_OF_MODELS = ("n_best", "seed", "prefix", "suppressed", "to", "from_", "stream")
_WANTED = {
    "bool": "true or false", "int": "a whole number", "float": "a number", "str": "text",
    "tuple": "a tuple",
}  # fmt: skip
_TRUTH = {
    "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Options:
    """What the options of a search and of a conversation have in common."""

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the options that a user can type."""
        return [name.rstrip("_") for name in cls._kinds() if name not in _NOT_TYPED]

    def typed(self) -> dict[str, Any]:
        """Return the options that a user can type, by what they are called then."""
        return {name: getattr(self, _field_of(name)) for name in self.names()}

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Return the options of a model; keys that are none of its options are left out."""
        known = cls._kinds().keys() - set(_NOT_OF_MODELS)
        return cls(**{name: value for name, value in values.items() if name in known})

    @classmethod
    def value(cls, name: str, text: str) -> Any:
        """Return what was typed as a value of an option; "none" is None for a text."""
        kind, _ = cls._kinds()[_field_of(name)]
        try:
            if kind == "bool":
                return _TRUTH[text.lower()]
            if kind == "str":
                return None if text.lower() == "none" else text
            return float(text) if kind == "float" else _whole(text)
        except (KeyError, ValueError):
            raise ConfigError(f"{name} must be {_WANTED[kind]} (it is {text!r})") from None

    @classmethod
    @functools.cache
    def _kinds(cls) -> dict[str, tuple[str, bool]]:
        """Return of each option the type by name, such as "float", and whether it can be None."""
        kinds = ((field.name, str(field.type)) for field in dataclasses.fields(cls))
        return {
            name: (re.findall("|".join(_WANTED), kind)[0], kind.endswith("| None"))
            for name, kind in kinds
        }

    @classmethod
    def check_types(cls, values: Mapping[str, Any]) -> None:
        """Raise ConfigError if the value of an option is of another type; numbers of NumPy are."""
        for name, value in values.items():
            kind, is_optional = cls._kinds()[name]
            if not ((value is None and is_optional) or _is_of(kind, value)):
                told = f"{name.rstrip('_')} must be {_WANTED[kind]} (it is {value!r:.40})"
                raise ConfigError(told)

    def override(self, **changes: Any) -> Self:
        """Return a copy with the changes; ConfigError names an option that cannot be so."""
        self.check_types(changes)
        changed = dataclasses.replace(self, **changes)
        for name, value in vars(changed).items():
            known = OPTIONS.get(name)
            if known and value is not None and not known.least <= value <= known.most:
                raise ConfigError(f"{name} must be {known.range_text} (it is {value})")
        return changed


def _is_of(kind: str, value: Any) -> bool:
    if kind in ("int", "float"):
        number = numbers.Integral if kind == "int" else numbers.Real
        return isinstance(value, number) and not isinstance(value, bool)
    return isinstance(value, {"bool": bool, "str": str, "tuple": tuple}[kind])


def _whole(text: str) -> int:
    """Return a whole number, which may be written as 1e3 or 5.0; ValueError when it is none."""
    try:
        return int(text)
    except ValueError:
        if not (number := float(text)).is_integer():
            raise
        return int(number)


def _field_of(name: str) -> str:
    """Return the field of an option: `from` is a word of Python."""
    return "from_" if name == "from" else name


def read_settings(
    settings: Sequence[str], *kinds: type[_Options], without: Collection[str] = ()
) -> dict[str, Any]:
    """Return the options of some kinds that settings such as "top_k=5" or "top_k 5" give.

    Options named in `without` are unknown.

    ConfigError: a setting has an unknown name, no value, or one of the wrong type.
    """
    kind_of = {n: kind for kind in kinds for n in kind.names() if n not in without}
    given = {}
    for setting in settings:
        name, text, *_ = [*re.split(r"\s*=\s*|\s+", setting.strip(), maxsplit=1), ""]
        if not name:
            raise ConfigError(f"{setting!r}: a setting is KEY=VALUE")
        if name not in kind_of:
            raise ConfigError(
                f"{name}: unknown option.{did_you_mean(name, kind_of)}",
                hint=f"the options are: {', '.join(kind_of)}",
            )
        if not text:
            raise ConfigError(f"{name}: needs a value ({name}=VALUE)")
        given[_field_of(name)] = kind_of[name].value(name, text)
    return given


def changed_settings(
    before: Mapping[str, Any], after: Mapping[str, Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the options that changed, and those that were given, by what a user types.

    What is not kept as it was given is a temperature of 0; then it is `sample`.
    """
    fields = ((name, _field_of(name), value) for name, value in after.items())
    kept = {name for name, field, value in fields if field in given and given[field] == value}
    shown = kept or {"sample"}
    return {n: value for n, value in after.items() if n in shown or value != before[n]}


@dataclass(frozen=True, kw_only=True)
class SearchOptions(_Options):
    """How to search for the output. `DecodeConfig` explains most keys; a bundle has defaults.

    A score is log-probability / length^alpha, length with `</s>`, plus with a coverage penalty beta
    * sum over source tokens of log(min(attention that the token got, 1)) (Wu et al. 2016, section
    7, arXiv 1609.08144), with the attention of the last decoder layer, mean over its heads. The
    penalty of repetition divides positive logits of tokens already written, and multiplies negative
    ones (Keskar et al. 2019, section 4.1, arXiv 1909.05858); top_p is that of Holtzman et al. 2020
    (arXiv 1904.09751).
    """

    beam_size: int = default("beam_size")
    n_best: int = default("n_best")  # hypotheses returned; at most `beam_size`
    length_penalty: float = default("length_penalty")
    coverage_penalty: float = default("coverage_penalty")
    max_length: int = default("max_length")
    max_length_ratio: float | None = default("max_length_ratio")
    min_length: int = default("min_length")
    min_length_ratio: float = default("min_length_ratio")
    no_repeat_ngram_size: int = default("no_repeat_ngram_size")
    repetition_penalty: float = default("repetition_penalty")
    sample: bool = False
    temperature: float = default("temperature")
    top_k: int = default("top_k")
    top_p: float = default("top_p")
    seed: int | None = default("seed")  # None draws something else each time
    # target ids that every output begins with; scores count what follows, divided by all its length
    prefix: tuple[int, ...] = ()
    suppressed: tuple[tuple[int, ...], ...] = ()  # rows of target ids that no output holds
    # codes of the languages of a model that knows several; see `Languages.way`
    to: str | None = None
    from_: str | None = None

    def asked(self, given: Mapping[str, Any], *, is_ranked: bool = False) -> Self:
        """Return a copy with options that somebody gave, and what they ask for by that.

        Who says how to sample wants to, and a temperature of 0 draws nothing; who names a beam does
        not sample; more hypotheses than the beam has widen it. `is_ranked` says that something
        chooses among several hypotheses, whatever the beam.

        Raises:
            ConfigError: See `override`; or an option is unknown, or has no effect with the others.
        """
        if unknown := [name for name in given if name not in vars(self)]:
            hint = f"the options are: {', '.join(self.names())}"
            raise ConfigError(f"{unknown[0]}: unknown option", hint=hint)
        self.check_types(given)
        changes = _with_partners(given)
        if "n_best" in given and "beam_size" not in given and not changes.get("sample"):
            widest = OPTIONS["beam_size"].most
            changes["beam_size"] = int(min(max(self.beam_size, given["n_best"]), widest))
        changed = self.override(**changes)
        if "seed" in given and not changed.sample:
            raise ConfigError("seed: no effect without sampling")
        has_choice = is_ranked or not (changed.sample or changed.beam_size == 1)
        if "length_penalty" in given and not has_choice:
            raise ConfigError("length_penalty: no effect without a beam of at least 2")
        return changed

    def override(self, **changes: Any) -> Self:
        """Return a copy with the changes that are not None, checked.

        A coverage penalty that came with the model goes when the changes ask for no beam.

        Raises:
            ConfigError: A value is out of range, or two do not go together; names the option.
        """
        given = {name: value for name, value in changes.items() if value is not None}
        if given.get("sample") and given.get("beam_size", 1) > 1:
            raise ConfigError(
                f"beam_size {given['beam_size']} cannot be combined with sampling "
                f"(sample, {', '.join(sorted(OF_SAMPLING))})",
                hint="leave out --beam, or what asks for sampling",
            )
        if (given.get("sample") or given.get("beam_size") == 1) and "coverage_penalty" not in given:
            given["coverage_penalty"] = 0.0
        changed = super().override(**given)
        if changed.n_best > 1 and changed.sample:
            raise ConfigError("n_best needs a beam; it cannot be combined with sampling")
        if changed.n_best > changed.beam_size:
            raise ConfigError(f"n_best {changed.n_best} needs a beam of at least {changed.n_best}")
        if changed.coverage_penalty and (changed.sample or changed.beam_size == 1):
            raise ConfigError("coverage_penalty needs a beam of at least 2")
        return changed

    def without_beam(self) -> Self:
        """Return a copy for greedy search or sampling."""
        return dataclasses.replace(self, beam_size=1, n_best=1, coverage_penalty=0.0)

    def output_limit(self, source_length: int, model_max_length: int) -> int:
        """Return the longest output, in tokens with `</s>`, for a source of that many tokens."""
        limit = min(self.max_length, model_max_length)
        if self.max_length_ratio is not None:
            limit = min(limit, int(source_length * self.max_length_ratio) + 10)
        return max(1, limit)

    def output_floor(self, source_length: int) -> int:
        """Return the shortest output, in tokens without `</s>`, for a source of that length."""
        return max(self.min_length, int(source_length * self.min_length_ratio))


def _with_partners(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with those that they ask for; ConfigError if they contradict each other."""
    how = sorted(given.keys() & OF_SAMPLING)
    if given.get("temperature") == 0:  # as others say that nothing is drawn
        how.remove("temperature")
        if idle := how + ["sample=true"] * bool(given.get("sample")):
            raise ConfigError(f"{', '.join(idle)}: no effect with temperature=0")
        return {name: v for name, v in given.items() if name != "temperature"} | {"sample": False}
    if how and not given.get("sample", True):
        raise ConfigError(f"{', '.join(how)}: no effect with sample=false")
    if how or "beam_size" in given:
        return {"sample": bool(how), **given}
    return dict(given)


@dataclass(frozen=True, kw_only=True)
class ChatOptions(_Options):
    """How to reply. `ChatConfig` explains most keys; a bundle has its own defaults."""

    history_turns: int = default("history_turns")
    persona: str | None = None
    format: str = "nmt"
    rerank: int = default("rerank")
    anti_generic_weight: float = default("anti_generic_weight")
    stream: bool = True  # say a reply piece by piece where that is possible
