"""A conversation, or the texts to classify -> one source sequence, in training and in use alike.

    <persona> ... <user> Tired. <bot> Fine, thanks. And you? <user> How are you? </s>

The newest turn comes first, so that what is to be answered stands at the same positions whatever
was said before: a small model learns sooner what follows from what. The speaker tokens are control
ids, so no text that somebody types can fake one. What does not fit the model is left out: whole
early turns first, then the front of the last turn. A persona may take half of the room; the rest of
a longer one is left out.

Imported models have formats of their own: turns in the order in which they were said, a token
between them; of what is too long the front is left out.

A model with `model.turn_embeddings` also gets how many turns ago each token was said (`turns_ago`).

    The weather is nice. </s> It is sunny. </s>

Texts to classify lose their ends when they are too long: the longer one first.
"""

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nmt_cli.text.special_tokens import BOS_ID, BOT_ID, EOS_ID, PERSONA_ID, USER_ID

if TYPE_CHECKING:
    from nmt_cli.text.tokenizer import Subwords

NMT = "nmt"  # the format above
# The others of `chat.format`: the token between turns, and whether `</s>` stands at the end.
_IN_ORDER = {"blenderbot": ("\u0120", True), "blenderbot-small": ("__newln__</w>", False)}
EARLIEST_TURN = 3  # turns that are longer ago count as this


def join_turns(
    turns: Sequence[Sequence[int]], *, persona: Sequence[int], max_length: int
) -> list[int]:
    """Return the source ids, newest turn first, of a conversation whose last turn is the user's.

    `turns` are oldest first, and speakers alternate; the result has at most `max_length` ids.
    """
    head = [PERSONA_ID, *persona][: max_length // 2] if persona else []
    room = max_length - 1 - len(head)
    parts: list[list[int]] = []
    for distance, turn in enumerate(reversed(turns)):
        part = [BOT_ID if distance % 2 else USER_ID, *turn]
        if parts and len(part) > room:
            break
        if not parts and len(part) > room:
            part = [USER_ID, *part[len(part) - max(room - 1, 0) :]] if room > 0 else []
        parts.append(part)
        room -= len(part)
    return [*head, *(i for part in parts for i in part), EOS_ID]


def joiner(chat_format: str, subwords: "Subwords") -> Callable[..., list[int]]:
    """Return what joins turns in a format, called like `join_turns`."""
    if chat_format == NMT:
        return join_turns
    token, ends = _IN_ORDER[chat_format]
    return functools.partial(_join_in_order, between=subwords.ids([token]), ends=ends)


def _join_in_order(
    turns: Sequence[Sequence[int]],
    *,
    persona: Sequence[int],
    max_length: int,
    between: Sequence[int],
    ends: bool,
) -> list[int]:
    parts = [persona, *turns] if persona else turns
    joined = [i for part in parts for i in (*between, *part)][len(between) :]
    end = [EOS_ID] if ends or not joined else []
    return [*joined[-(max_length - len(end)) :], *end]


def room_for_turn(persona: Sequence[int], max_length: int) -> int:
    """Return how many ids of the newest turn `join_turns` keeps."""
    head = min(1 + len(persona), max_length // 2) if persona else 0
    return max(0, max_length - head - 2)  # the speaker's token, and `</s>`


def turns_ago(ids: Sequence[int]) -> list[int]:
    """Return how many turns before the newest each id of a joined conversation was said.

    The newest turn and the persona are 0; `EARLIEST_TURN` is the most.
    """
    begun = itertools.accumulate(int(i in (USER_ID, BOT_ID)) for i in ids)
    return [min(max(turns - 1, 0), EARLIEST_TURN) for turns in begun]


def join_texts(texts: Sequence[Sequence[int]], *, begins: bool, max_length: int) -> list[int]:
    """Return the source ids of one text, or of two, that are to be classified.

    `begins` puts `<s>` in front; each text gets its `</s>`, within `max_length` ids.
    """
    head = [BOS_ID] if begins else []
    parts = [list(text) for text in texts]
    for _ in range(len(head) + sum(len(part) + 1 for part in parts) - max_length):
        max(parts, key=len)[-1:] = []
    return [*head, *(i for part in parts for i in (*part, EOS_ID))]
