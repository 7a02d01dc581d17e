"""Conversations of the small-talk corpus."""

import random
from collections.abc import Container, Iterator, Mapping, Sequence

from generators.small_talk_rows import Wording, lines_of
from generators.small_talk_script import (
    Conversation,
    Deck,
    Exchange,
    Intent,
    Place,
    Record,
    SlotDealer,
    expand,
    fill,
    fold,
)

MIN_EXCHANGES = 2
OPENING_SHARE = 0.4
CLOSING_SHARE = 0.3
# The weight of each conversation made of an intent and one of its "> kind: ..." follow-ups.
FOLLOW_UP_WEIGHT = 4

Dialogue = tuple[str, ...]


class DialogueMaker:
    """Puts conversations, other exchanges, openings and closings together to dialogues."""

    def __init__(
        self,
        intents: Mapping[str, Intent],
        conversations: Sequence[Conversation],
        tables: Sequence[Sequence[Record]],
        split: str,
        rng: random.Random,
        wording: Wording,
        taken: Container[str] = (),
    ) -> None:
        """Prepare to make dialogues with the phrasings of a split.

        Args:
            intents: The intents, by name.
            conversations: What dialogues are put together from.
            tables: What fills the slots.
            split: The part of the corpus.
            rng: Source of randomness.
            wording: How users say it.
            taken: Folded turns that users must not say.
        """
        self._split = split
        self._rng = rng
        self._wording = wording
        self._taken = taken
        self._dealer = SlotDealer(tables, rng)
        self._intents = intents
        self._conversations = Deck([c for c in conversations for _ in range(c.weight)], rng)
        self._openings = self._deck(Place.OPENING)
        self._fillings = self._deck(Place.OPENING, Place.ANYWHERE)
        self._closings = self._deck(Place.CLOSING)

    def make(self, number: int) -> list[Dialogue]:
        """Return `number` different dialogues."""
        dialogues: dict[Dialogue, None] = {}
        while len(dialogues) < number:
            dialogue = self._dialogue(self._conversations.draw())
            if not any(fold(turn) in self._taken for turn in dialogue[::2]):
                dialogues[dialogue] = None
        return list(dialogues)

    def _dialogue(self, conversation: Conversation) -> Dialogue:
        """Return a dialogue around a conversation."""
        core = conversation.exchanges
        shortest = max(MIN_EXCHANGES, len(core))
        longest = self._rng.randint(shortest, max(shortest, self._wording.max_exchanges))
        room = self._rng.randint(shortest, longest) - len(core)
        opening, closing = [], []
        gap = next((i for i, exchange in enumerate(core) if exchange.after_gap), 0)
        share = self._wording.filled_gaps
        filled = gap > 0 and share > 0 and self._rng.random() < share
        if filled:
            room = max(room, 1)
        if room and not filled and self._rng.random() < OPENING_SHARE:
            opening = self._exchange_about(self._openings.draw())
            room -= 1
        if room and not filled and self._rng.random() < CLOSING_SHARE:
            closing = self._exchange_about(self._closings.draw())
            room -= 1
        others = [self._exchange_about(self._fillings.draw()) for _ in range(room)]
        turns = self._turns(core)
        before, after = turns[: 2 * gap], turns[2 * gap :]
        middle = [turn for exchange in others for turn in exchange]
        return (*opening, *before, *middle, *after, *closing)

    def _deck(self, *places: Place) -> Deck[str]:
        """Return a deck of the names of the intents that may stand in `places`."""
        return Deck([i.name for i in self._intents.values() if i.place in places], self._rng)

    def _exchange_about(self, name: str) -> list[str]:
        return self._turns([Exchange([f"@{name}"], [f"@{name}"])])

    def _turns(self, exchanges: Sequence[Exchange]) -> list[str]:
        """Return the turns of exchanges, with a random alternative for each turn."""
        templates = []
        for exchange in exchanges:
            templates.append(self._question(self._rng.choice(exchange.questions)))
            templates.append(self._answer(self._rng.choice(exchange.answers)))
        values = self._dealer.deal(templates)
        turns = [fill(template, values) for template in templates]
        typed = self._wording.later_turn
        turns[::2] = [typed(template, values, self._rng) for template in templates[::2]]
        return turns

    def _question(self, text: str) -> str:
        if not text.startswith("@"):
            return self._rng.choice(expand(text))
        lines = lines_of(self._intents[text[1:]], self._split)
        return self._rng.choice(self._wording.phrasings(lines, self._rng))

    def _answer(self, text: str) -> str:
        options = self._intents[text[1:]].answers if text.startswith("@") else [text]
        return self._rng.choice(options)


def follow_up_conversations(
    intents: Mapping[str, Intent], weights: Mapping[str, int] | None = None
) -> Iterator[Conversation]:
    """Yield a conversation for each way to go on after an intent.

    `weights` has those of the kinds that come more or less often than others.
    """
    for intent in intents.values():
        start = Exchange([f"@{intent.name}"], [f"@{intent.name}"])
        for kind, answers in intent.follow_ups.items():
            exchanges = [start, Exchange([f"@{kind}"], answers)]
            weight = (weights or {}).get(kind, FOLLOW_UP_WEIGHT)
            yield Conversation(f"{intent.name}_{kind}", weight, exchanges)
