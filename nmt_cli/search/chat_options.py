"""The options of a conversation, and with the search options what `/set` and `--set` know.

Standard library only.
"""

import dataclasses
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from nmt_cli.errors import ConfigError, did_you_mean
from nmt_cli.search.options import parse_value

if TYPE_CHECKING:
    from nmt_cli.search.chat_session import ChatSession


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


class ChatSettings:
    """The settings of a conversation.

    Args:
        session: Holds the options.
    """

    def __init__(self, session: "ChatSession") -> None:
        self._session = session

    def names(self) -> list[str]:
        """Return every key."""
        return [*self._session.options.names(), *self._session.search.names()]

    def items(self) -> dict[str, Any]:
        """Return every key with its value."""
        chat, search = vars(self._session.options), vars(self._session.search)
        return {name: chat[name] if name in chat else search[name] for name in self.names()}

    def set(self, setting: str) -> dict[str, Any]:
        """Change what "KEY VALUE" or "KEY=VALUE" says; return all that changed by it.

        As with the flags of `nmt chat`, how to sample is only said by who wants to sample, and a
        beam only asked for by who does not.

        Raises:
            ConfigError: There is no such key, or it cannot have that value.
        """
        key, text, *_ = [*re.split(r"\s*=\s*|\s+", setting.strip(), maxsplit=1), ""]
        if key not in self.names():
            raise ConfigError(
                f"{key or 'KEY'}: unknown option.{did_you_mean(key, self.names())}",
                hint=f"they are: {', '.join(self.names())}",
            )
        if not text:
            raise ConfigError(f"{key}: needs a value")
        before, shown = self.items(), {key}
        if key in self._session.options.names():
            self._session.options = self._session.options.parse(key, text)
        else:
            changes = self._session.search.parse([f"{key}={text}"])
            if key == "beam_size":
                changes["sample"] = False
            self._session.search = self._session.search.override(**changes)
            shown = {key} if key in changes else set(changes)
        return {
            name: value
            for name, value in self.items().items()
            if name in shown or value != before[name]
        }
