"""The options of a search and of a conversation: one record for every engine, command and session.

Standard library only.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from nmt_cli.config.limits import OPTIONS, default
from nmt_cli.errors import ConfigError, did_you_mean

OF_SAMPLING = {"temperature", "top_k", "top_p"}
_NOT_TYPED = ("prefix", "suppressed", "format")  # ids, which commands make of text; the model says
OF_LANGUAGES = ("to", "from_")
_TRUTH = {
    "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Options:
    """What the options of a search and of a conversation have in common."""

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the options that a user can type."""
        return [name for name in cls._kinds() if name not in _NOT_TYPED]

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Return the options with the given values; keys that are not options are left out."""
        return cls(**{name: value for name, value in values.items() if name in cls._kinds()})

    @classmethod
    def value(cls, name: str, text: str) -> Any:
        """Return what was typed as a value of an option; "none" is None for a text."""
        kind = cls._kinds()[name]
        wanted = "a number" if "float" in kind else "a whole number"
        try:
            if "bool" in kind:
                wanted = "true or false"
                return _TRUTH[text.lower()]
            if "str" in kind:
                return None if text.lower() == "none" else text
            return float(text) if "float" in kind else int(text)
        except (KeyError, ValueError):
            raise ConfigError(f"{name} must be {wanted} (it is {text!r})") from None

    @classmethod
    @functools.cache
    def _kinds(cls) -> dict[str, str]:
        """Return the annotation of each option, such as "float | None", by name."""
        return {field.name: str(field.type) for field in dataclasses.fields(cls)}

    def override(self, **changes: Any) -> Self:
        """Return a copy with the changes; ConfigError names an option that is out of range."""
        changed = dataclasses.replace(self, **changes)
        for name, value in vars(changed).items():
            known = OPTIONS.get(name)
            if known and value is not None and not known.least <= value <= known.most:
                raise ConfigError(f"{name} must be {known.range_text} (it is {value})")
        return changed


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

    @classmethod
    def parse(cls, settings: Sequence[str]) -> dict[str, Any]:
        """Return the options that settings such as "no_repeat_ngram_size=3" give, for `override`.

        Who says how to sample wants to.

        Raises:
            ConfigError: A setting has an unknown name or a value of the wrong type, or no effect.
        """
        names = cls.names()
        changes = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals or name not in names:
                raise ConfigError(
                    f"--set {setting}: unknown search option.{did_you_mean(name, names)}",
                    hint=f"they are: {', '.join(names)}",
                )
            changes[name] = cls.value(name, text)
        if changes.get("temperature") == 0:  # as others say that nothing is drawn
            return {"sample": False} | {n: v for n, v in changes.items() if n not in OF_SAMPLING}
        how = sorted(changes.keys() & OF_SAMPLING)
        if how and not changes.setdefault("sample", True):
            raise ConfigError(f"{', '.join(how)}: no effect with sample=false")
        return changes

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
                f"(sample, {', '.join(sorted(OF_SAMPLING))})"
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


@dataclass(frozen=True, kw_only=True)
class ChatOptions(_Options):
    """How to reply. `ChatConfig` explains most keys; a bundle has its own defaults."""

    history_turns: int = default("history_turns")
    persona: str | None = None
    format: str = "nmt"
    rerank: int = default("rerank")
    anti_generic_weight: float = default("anti_generic_weight")
    stream: bool = True  # say a reply piece by piece where that is possible
