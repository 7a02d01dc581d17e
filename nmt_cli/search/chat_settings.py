"""What `/set`, `--set` and `/show` know: search options and chat options under one roof."""

import re
from typing import TYPE_CHECKING, Any

from nmt_cli.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from nmt_cli.search.chat_session import ChatSession


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
