"""A conversation with a chat model: its history and its replies. No input or output here."""

from nmt_cli.decoding.engine import Engine
from nmt_cli.decoding.options import SearchOptions
from nmt_cli.decoding.translator import one_line
from nmt_cli.text.template import join_turns
from nmt_cli.text.vocabulary import Vocabularies

_NOTHING_TO_SAY = "..."


class ChatSession:
    """Turns of one conversation, the user's and the bot's in alternation.

    Args:
        engine: Searches.
        vocabularies: The model's subwords.
        history_turns: Earlier turns that the model sees before the user's last one.
        persona: A line put before the conversation, or None.
    """

    def __init__(
        self,
        engine: Engine,
        vocabularies: Vocabularies,
        *,
        history_turns: int,
        persona: str | None,
    ) -> None:
        self._engine = engine
        self._vocabularies = vocabularies
        self._history_turns = history_turns
        self._persona = vocabularies.source.encode(persona) if persona else []
        self.turns: list[str] = []

    def reply(self, text: str, options: SearchOptions) -> str:
        """Return the bot's reply, never blank, and add both turns to the history.

        An exception (such as Ctrl-C) leaves the history as it was.
        """
        window = [*self.turns, text][-(self._history_turns + 1) :]
        source = join_turns(
            self._vocabularies.source.encode_batch(window),
            persona=self._persona,
            max_length=self._engine.max_length,
        )
        found = self._engine.search([source], options, first_index=len(self.turns))[0]
        replies = [one_line(self._vocabularies.target, h.ids).strip() for h in found]
        reply = next(filter(None, replies), _NOTHING_TO_SAY)
        self.turns += [text, reply]
        return reply

    def reset(self) -> None:
        """Forget the conversation."""
        self.turns.clear()
