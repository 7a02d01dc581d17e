"""Follow-ups of the small-talk corpus: what users say next, with the exchange before it.

What Nemo said before is only read here and never learnt. So it comes in many more words than
Nemo's own: a small model that always reads the same sentence before "Why?" knows that sentence
and not what it means.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from generators.small_talk_dialogues import DialogueMaker
from generators.small_talk_script import Exchange, fold, one_choice
from generators.small_talk_style import retold

ANY_INTENT = "@*"  # as a user turn: something that may be said anywhere
ITS_ANSWER = "@"  # as Nemo's turn: an answer to the intent of the user turn
RETOLD = 0.6


@dataclass(frozen=True)
class FollowUp:
    """The last user turn of a conversation, what came before it, and the right answer."""

    asked: str
    said: str
    question: str
    answer: str
    intent: str


class FollowUpMaker(DialogueMaker):
    """Takes the first exchanges of a conversation, and varies what Nemo says in the first."""

    def make_follow_ups(self, number: int) -> list[FollowUp]:
        """Return `number` different follow-ups."""
        rows: dict[FollowUp, None] = {}
        while len(rows) < number:
            conversation = self._conversations.draw()
            turns = self._turns(self._first_two(conversation.exchanges))
            if not any(fold(turn) in self._taken for turn in turns[::2]):
                rows[FollowUp(*turns, conversation.name)] = None
        return list(rows)

    def _first_two(self, exchanges: Sequence[Exchange]) -> list[Exchange]:
        """Return two exchanges, the first of them in a single wording.

        An answer to a later one may need words that are too far back.
        """
        first, second = exchanges[:2]
        question = self._rng.choice(first.questions)
        if question == ANY_INTENT:
            question = f"@{self._fillings.draw()}"
        said = self._said(question, self._rng.choice(first.answers))
        return [replace(first, questions=[question], answers=[said]), second]

    def _said(self, question: str, text: str) -> str:
        """Return what Nemo has said, with slots; maybe in words that are not its own."""
        if text == ITS_ANSWER:
            text = question
        if text.startswith("@"):
            intent = self._intents[text[1:]]
            text = self._rng.choice(intent.answers + intent.heard)
        text = one_choice(text, self._rng)
        return retold(text, self._rng) if self._rng.random() < RETOLD else text
