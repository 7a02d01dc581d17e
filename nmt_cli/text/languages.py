"""The languages of a model, and the tokens that say which of them are meant.

A model of several target languages is told which one to write. Its token stands before the source
text (Johnson et al. 2017, arXiv 1611.04558: ours, and Marian's), or is the first token of the
output, which is then forced, while the source begins with a token of its own language (M2M-100,
Fan et al. 2020, arXiv 2010.11125; NLLB, arXiv 2207.04672). In a vocabulary these tokens follow the
control tokens: no text makes one, and no output holds one but that which was forced.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from nmt_cli.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from nmt_cli.config.schema import Config

Way = tuple[str, str]  # codes of the source and of the target language; "" where not told
_SHOWN = 8


class Direction(NamedTuple):
    """One way to translate, in ids."""

    source: tuple[int, ...] = ()  # what every source begins with
    output: tuple[int, ...] = ()  # what every output begins with; its log-probability is 0


@dataclass(frozen=True)
class Languages:
    """The languages that a model reads and writes."""

    # code -> the token that the source begins with, "" for none
    source: Mapping[str, str] = field(default_factory=dict)
    # code -> its token, "" where the model has one target
    target: Mapping[str, str] = field(default_factory=dict)
    is_forced: bool = False  # a target's token begins the output, not the source
    default: Way = ("", "")  # what is meant where nothing else is said

    @classmethod
    def of(cls, config: "Config") -> "Languages":
        """Return those of a model that is trained with a configuration."""
        data = config.data
        ways = sorted({data.way_of(corpus) for corpus in data.train} - {("", "")})
        targets = sorted({target for _, target in ways if target})
        tokens = {code: f"<2{code}>" if len(targets) > 1 else "" for code in targets}
        default = ways[0] if len(ways) == 1 else ("", "")
        return cls({source: "" for source, _ in ways if source}, tokens, default=default)

    @classmethod
    def of_manifest(cls, known: Mapping[str, Any], default: Way) -> "Languages":
        """Return what `as_json` wrote; an empty one is that of a model of one direction."""
        if not known:
            source, target = ({code: ""} if code else {} for code in default)
            return cls(source, target, default=default)
        return cls(known["source"], known["target"], known["forced"], default)

    def as_json(self) -> dict[str, Any]:
        """Return what a manifest keeps; nothing where no token says which languages are meant."""
        if not self.tokens:
            return {}
        return {"source": self.source, "target": self.target, "forced": self.is_forced}

    @property
    def tokens(self) -> tuple[str, ...]:
        """All tokens, in the order of their ids."""
        return tuple(filter(None, dict.fromkeys((*self.source.values(), *self.target.values()))))

    @property
    def text(self) -> str:
        """What it translates, for people."""
        sides = [_listed(side, _SHOWN) for side in (self.source, self.target)]
        return " -> ".join(filter(None, sides))

    def way(self, source: str | None = None, target: str | None = None) -> Way:
        """Return the languages that are meant: the given ones, the default, or all that is left.

        Raises:
            ConfigError: The model does not know a language, or several are possible.
        """
        from_ = _known(source, self.source, "--from", "reads") if source else ""
        to = _known(target, self.target, "--to", "writes") if target else ""
        if not from_ and not to and any(self.default):
            return self.default
        if not to:
            to = _only(self.target, from_, self.default[1], "--to", "writes")
        if not from_ and (any(self.source.values()) or len(self.source.keys() - {to}) == 1):
            from_ = _only(self.source, to, self.default[0], "--from", "reads")
        if from_ and from_ == to:
            raise ConfigError(f"--from and --to are the same language: {to}")
        return from_, to

    def options(self, way: Way) -> list[str]:
        """Return the options of a command that say so, where the model has a choice."""
        to = ["--to", way[1]] if len(self.target) > 1 else []
        return [*to, "--from", way[0]] if any(self.source.values()) else to

    def tokens_of(self, way: Way) -> tuple[list[str], list[str]]:
        """Return the tokens that a source and an output begin with, for a result of `way`."""
        before, target = self.source.get(way[0], ""), self.target.get(way[1], "")
        if self.is_forced:
            return [t for t in (before,) if t], [t for t in (target,) if t]
        return [t for t in (target, before) if t], []


NO_LANGUAGES = Languages()  # nothing is known


def by_way(ways: Sequence[Way]) -> dict[Way, list[int]]:
    """Return the indices of each way, in the order in which the ways first come."""
    found: dict[Way, list[int]] = {}
    for index, way in enumerate(ways):
        found.setdefault(way, []).append(index)
    return found


def _only(side: Mapping[str, str], other: str, default: str, option: str, verb: str) -> str:
    """Return the language of a side where the other one leaves no choice."""
    left = [code for code in side if code != other]
    if default in left:
        return default
    if len(left) > 1:
        raise ConfigError(
            f"this model {verb} {len(side)} languages: say which with {option}",
            hint=f"it {verb}: {_listed(side)}",
        )
    return left[0] if left else ""


def _known(code: str, side: Mapping[str, str], option: str, verb: str) -> str:
    """Return a language as the model calls it, whatever the case."""
    folded = {known.lower().replace("_", "-"): known for known in side}
    if (found := folded.get(code.lower().replace("_", "-"))) is not None:
        return found
    if not side:
        raise ConfigError(f"{option} {code}: this model does not say which languages it {verb}")
    raise ConfigError(
        f"{option} {code}: this model {verb} no such language.{did_you_mean(code, side)}",
        hint=f"it {verb}: {_listed(side)}",
    )


def _listed(codes: Iterable[str], most: int | None = None) -> str:
    every = sorted(codes)
    shown = ", ".join(itertools.islice(every, most))
    return shown if most is None or len(every) <= most else f"{shown} and {len(every) - most} more"
