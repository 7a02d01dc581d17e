"""What a conversation can be told beside the search options. Standard library only."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from nmt_cli.errors import ConfigError
from nmt_cli.search.options import parse_value

_MAX_TURNS, _MAX_CANDIDATES, _MOST_WEIGHT = 1 << 31, 64, 100.0


@dataclass(frozen=True, kw_only=True)
class ChatOptions:
    """How to reply. The defaults of a model come from its bundle.

    Attributes:
        history_turns: Earlier turns that the model sees before the user's last one.
        persona: A line put before the conversation, or None.
        rerank: Candidates for a reply; the one that ranks best is said. 1 says what comes.
        anti_generic_weight: lambda in rank = score - lambda * score without context; see
            `chat_session.py`.
        stream: Say a reply piece by piece where that is possible; see `ChatSession.stream`.
    """

    history_turns: int = 3
    persona: str | None = None
    rerank: int = 1
    anti_generic_weight: float = 0.5
    stream: bool = True

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Return the options with the given values; keys that are not options are left out."""
        return cls(**{name: value for name, value in values.items() if name in cls.names()})

    @classmethod
    def names(cls) -> list[str]:
        """Return the names of the options."""
        return [field.name for field in dataclasses.fields(cls)]

    def parse(self, name: str, text: str) -> Self:
        """Return a copy with one option as it was typed, checked.

        Raises:
            ConfigError: The value has the wrong type or is out of range; names the option.
        """
        kinds = {field.name: str(field.type) for field in dataclasses.fields(self)}
        return self.override(**{name: parse_value(name, text, kinds[name])})

    def override(self, **changes: Any) -> Self:
        """Return a copy with the changes, checked.

        Raises:
            ConfigError: A value is out of range; names the option.
        """
        changed = dataclasses.replace(self, **changes)
        limits = (
            ("history_turns", 0 <= changed.history_turns < _MAX_TURNS, "at least 0"),
            ("rerank", 1 <= changed.rerank <= _MAX_CANDIDATES, f"1 to {_MAX_CANDIDATES}"),
            (
                "anti_generic_weight",
                0 <= changed.anti_generic_weight <= _MOST_WEIGHT,
                f"0 to {_MOST_WEIGHT:g}",
            ),
        )
        for name, fine, wanted in limits:
            if not fine:
                raise ConfigError(f"{name} must be {wanted} (it is {getattr(changed, name)})")
        return changed
