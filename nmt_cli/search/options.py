"""The search options: one record for every engine, command and session. Standard library only."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

from nmt_cli.errors import ConfigError, did_you_mean

_NOT_TYPED = ("prefix", "suppressed")  # ids: the commands make them of text
_MAX_BEAM_SIZE, _MAX_INT = 512, 1 << 31
_LEAST, _MOST = 0.01, 100.0  # of what scores are multiplied by or raised to: 32 bits hold it
_LEAST_P = 1e-6
OF_SAMPLING = {"temperature", "top_k", "top_p"}
_TRUTH = {
    "true": True, "yes": True, "on": True, "false": False, "no": False, "off": False,
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class SearchOptions:
    """How to search for the output. The defaults of a model come from its bundle.

    Attributes:
        beam_size: Hypotheses kept at each step; 1 is greedy.
        n_best: Hypotheses returned; at most `beam_size`.
        length_penalty: alpha in score = log-probability / length^alpha, length with `</s>`.
        coverage_penalty: beta in score + beta * sum over source tokens of log(min(attention that
            the token got, 1)) (Wu et al. 2016, section 7, arXiv 1609.08144), with the attention of
            the last decoder layer, mean over its heads; beam search only.
        max_length: Longest output in tokens, with `</s>`.
        max_length_ratio: Longest output as a multiple of the source's tokens, plus 10; None is off.
        min_length: Shortest output in tokens, without `</s>`.
        min_length_ratio: Shortest output as a multiple of the source's tokens; 0 is off.
        no_repeat_ngram_size: No n tokens in a row are written twice; 0 is off.
        repetition_penalty: Divides the positive logits (multiplies the negative ones) of tokens
            already written (Keskar et al. 2019, section 4.1, arXiv 1909.05858); 1 is off.
        sample: Draw tokens at random instead of searching.
        temperature: Sampling from softmax(logits / temperature).
        top_k: Sampling among the k likeliest tokens; 0 is all.
        top_p: Sampling among the likeliest tokens that together hold this probability
            (Holtzman et al. 2020, arXiv 1904.09751).
        seed: Random state of sampling; None draws something else each time.
        prefix: Target ids that every output begins with. Scores count what follows, divided by the
            whole length.
        suppressed: Rows of target ids that no output holds.
    """

    beam_size: int = 5
    n_best: int = 1
    length_penalty: float = 1.0
    coverage_penalty: float = 0.0
    max_length: int = 256
    max_length_ratio: float | None = None
    min_length: int = 1
    min_length_ratio: float = 0.0
    no_repeat_ngram_size: int = 0
    repetition_penalty: float = 1.0
    sample: bool = False
    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int | None = 0
    prefix: tuple[int, ...] = ()
    suppressed: tuple[tuple[int, ...], ...] = ()

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Return the options with the given values; keys that are not options are left out."""
        known = {field.name for field in dataclasses.fields(cls)}
        return cls(**{name: value for name, value in values.items() if name in known})

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the options that a user can type."""
        fields = dataclasses.fields(cls)
        return [field.name for field in fields if field.name not in _NOT_TYPED]

    @classmethod
    def parse(cls, settings: Sequence[str]) -> dict[str, Any]:
        """Return the options that settings such as "no_repeat_ngram_size=3" give, for `override`.

        Who says how to sample wants to.

        Raises:
            ConfigError: A setting has an unknown name or a value of the wrong type.
        """
        kinds = {field.name: str(field.type) for field in dataclasses.fields(cls)}
        names = cls.names()
        changes = {}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if not equals or name not in names:
                raise ConfigError(
                    f"--set {setting}: unknown search option.{did_you_mean(name, names)}",
                    hint=f"they are: {', '.join(names)}",
                )
            changes[name] = parse_value(name, text, kinds[name])
        if changes.get("temperature") == 0:  # as others say that nothing is drawn
            del changes["temperature"]
            return {"sample": False} | changes
        if changes.keys() & OF_SAMPLING and not changes.get("beam_size"):
            return {"sample": True} | changes
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
                f"beam_size {given['beam_size']} searches; it does not go with sampling "
                f"(sample, {', '.join(sorted(OF_SAMPLING))})"
            )
        if (given.get("sample") or given.get("beam_size") == 1) and "coverage_penalty" not in given:
            given["coverage_penalty"] = 0.0
        changed = dataclasses.replace(self, **given)
        changed.check()
        return changed

    def check(self) -> None:
        """Raise ConfigError for the first value out of range."""
        repeat, penalty = self.no_repeat_ngram_size, self.repetition_penalty
        ratio = 1.0 if self.max_length_ratio is None else self.max_length_ratio
        limits = (
            ("beam_size", 1 <= self.beam_size <= _MAX_BEAM_SIZE, f"1 to {_MAX_BEAM_SIZE}"),
            ("n_best", self.n_best >= 1, "at least 1"),
            ("length_penalty", 0 <= self.length_penalty <= _MOST, f"0 to {_MOST:g}"),
            ("coverage_penalty", 0 <= self.coverage_penalty <= _MOST, f"0 to {_MOST:g}"),
            ("max_length", 1 <= self.max_length < _MAX_INT, f"1 to {_MAX_INT - 1}"),
            ("min_length", 0 <= self.min_length < _MAX_INT, f"0 to {_MAX_INT - 1}"),
            ("min_length_ratio", 0 <= self.min_length_ratio <= _MOST, f"0 to {_MOST:g}"),
            ("max_length_ratio", 0 < ratio <= _MOST, f"above 0, up to {_MOST:g}"),
            ("no_repeat_ngram_size", 0 <= repeat < _MAX_INT, f"0 to {_MAX_INT - 1}"),
            ("repetition_penalty", _LEAST <= penalty <= _MOST, f"{_LEAST:g} to {_MOST:g}"),
            ("temperature", _LEAST <= self.temperature <= _MOST, f"{_LEAST:g} to {_MOST:g}"),
            ("top_k", 0 <= self.top_k < _MAX_INT, f"0 to {_MAX_INT - 1}"),
            ("top_p", _LEAST_P <= self.top_p <= 1, f"{_LEAST_P:g} to 1"),
            ("seed", 0 <= (self.seed or 0) < _MAX_INT, f"0 to {_MAX_INT - 1}"),
        )
        for name, fine, wanted in limits:
            if not fine:
                raise ConfigError(f"{name} must be {wanted} (it is {getattr(self, name)})")
        if self.n_best > 1 and self.sample:
            raise ConfigError("n_best needs a beam; it does not go with sampling")
        if self.n_best > self.beam_size:
            raise ConfigError(f"n_best {self.n_best} needs a beam of at least {self.n_best}")
        if self.coverage_penalty and (self.sample or self.beam_size == 1):
            raise ConfigError("coverage_penalty needs a beam of at least 2")

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


def parse_value(name: str, text: str, kind: str) -> Any:
    """Return what was typed as a value of a field's type.

    Args:
        name: The option's, for the message.
        text: What was typed; "none" is None for a text that may be left out.
        kind: The field's annotation, such as "int" or "float | None".

    Raises:
        ConfigError: It is no such value.
    """
    try:
        if "bool" in kind:
            return _TRUTH[text.lower()]
        if "str" in kind:
            return None if text.lower() == "none" else text
        return float(text) if "float" in kind else int(text)
    except (KeyError, ValueError):
        wanted = (
            "true or false"
            if "bool" in kind
            else "a number"
            if "float" in kind
            else "a whole number"
        )
        raise ConfigError(f"{name} must be {wanted} (it is {text!r})") from None
