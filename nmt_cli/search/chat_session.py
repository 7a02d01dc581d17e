"""A conversation with a chat model: its history and its replies. No input or output here.

A reply is streamed, or several candidates are found first and the one that ranks best is said. The
rank is that of Li et al. 2016 (section 4.1, arXiv 1510.03055), MMI-antiLM:

    rank = (log p(reply | conversation) - weight * log p(reply | nothing said)) / length^alpha

so a reply that would fit anything ("I don't know") ranks below one that fits what was said.
"""

import codecs
import contextlib
import re
import unicodedata
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nmt_cli.errors import ConfigError
from nmt_cli.search.engine import Engine, Hypothesis
from nmt_cli.search.options import ChatOptions, SearchOptions, changed_settings, read_settings
from nmt_cli.text.letter_case import in_usual_case
from nmt_cli.text.special_tokens import BYTE_TOKENS, EOS_ID
from nmt_cli.text.template import joiner, room_for_turn
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

_NOTHING_TO_SAY = "..."
NOT_OF_CHATS = ("to", "from", "n_best")  # options of a search that have no effect here
_SECOND_BEAM = 4
_LOOP_WORDS, _LOOP_TIMES = 4, 4  # a loop: up to so many words, so many times in a row
_WAITING = "\ue000"  # the first half of an escape of the vocabulary's
_BROKEN = "\ufffd"  # of bytes that are no whole character yet


@dataclass(frozen=True)
class Reply:
    """What the bot says: one line, never blank. The score is None where nothing was found."""

    text: str
    score: float | None


@dataclass(eq=False)
class ChatSession:
    """One conversation; `search`, `options` and `turns` may be changed at any time."""

    engine: Engine
    vocabularies: Vocabularies
    search: SearchOptions
    options: ChatOptions = field(default_factory=ChatOptions)
    # told, in one line, of a message that is longer than the model reads
    on_warning: Callable[[str], None] = lambda _: None
    turns: list[str] = field(default_factory=list)  # oldest first, the user's and the bot's
    _seed: int | None = field(default=-1, init=False)
    _num_drawn: int = field(default=0, init=False)

    def reply(self, text: str) -> Reply:
        """Return the bot's reply and add both turns to the history.

        An exception (such as Ctrl-C) leaves the history as it was.
        """
        text = self._read(text)
        reply = self._find(self._source([*self.turns, text]))
        self.turns = [*self.turns, text, reply.text]
        return reply

    def stream(self, text: str) -> Generator[str, None, None]:
        """Yield the reply in pieces, as they are written, and add both turns to the history.

        What is not written piece by piece (a beam search, a choice among candidates) comes at once.
        When the caller stops early (closes the iterator, or Ctrl-C), the history holds the pieces
        that it got: what the user saw is what the next reply goes on from. Without any piece, and
        after an error, it is as it was.
        """
        yield from self._stream(self.turns, text)

    def retry(self) -> Generator[str, None, None]:
        """Yield another reply to the user's last turn; it takes the old one's place."""
        yield from self._stream(self.turns[:-2], self.turns[-2])

    def undo(self) -> bool:
        """Take back the last turn of both; return whether there was one."""
        had_any = bool(self.turns)
        self.turns = self.turns[:-2]
        return had_any

    def reset(self) -> None:
        """Forget the conversation."""
        self.turns = []

    def last_ids(self) -> tuple[list[int], list[int]] | None:
        """Return what the model saw and said last, as ids with `</s>`; None before any reply."""
        if not self.turns:
            return None
        said = self.vocabularies.target.encode(self.turns[-1])
        return self._source(self.turns[:-1]), [*said[: self.engine.max_length - 1], EOS_ID]

    def settings(self) -> dict[str, Any]:
        """Return every option of the conversation and of its search, with its value."""
        values = self.options.typed() | self.search.typed()
        return {name: value for name, value in values.items() if name not in NOT_OF_CHATS}

    def set(self, *settings: str, **flags: Any) -> dict[str, Any]:
        """Change options together; return all that changed, and all that were given.

        Args:
            settings: Each as "KEY VALUE" or "KEY=VALUE".
            flags: The same by name; None is not given.

        Raises:
            ConfigError: An option is unknown, has no such value, or no effect with the others; see
                `SearchOptions.asked`. None is changed then.
        """
        before = self.settings()
        given = read_settings(settings, ChatOptions, SearchOptions, without=NOT_OF_CHATS)
        given |= {name: value for name, value in flags.items() if value is not None}
        of_chat = {name: given.pop(name) for name in self.options.names() if name in given}
        options = self.options.override(**of_chat)
        is_ranked = options.rerank > 1
        if "anti_generic_weight" in of_chat and not is_ranked:
            raise ConfigError("anti_generic_weight: no effect with rerank=1")
        self.search = self.search.asked(given, is_ranked=is_ranked)
        self.options = options
        return changed_settings(before, self.settings(), of_chat | given)

    def _stream(self, before: list[str], text: str) -> Generator[str, None, None]:
        text, search = self._read(text), self.search
        source, said = self._source([*before, text]), ""
        is_stepwise = search.sample or search.beam_size == 1
        can_stream = self.options.stream and self.options.rerank == 1 and is_stepwise
        try:
            if can_stream:
                ids = self.engine.stream(source, search, index=self._draw(1))
                with contextlib.closing(ids):
                    for piece in self._pieces(ids):
                        said += piece
                        yield piece
            if not said:
                said = (self._second_try if can_stream else self._find)(source).text
                yield said
        except (GeneratorExit, KeyboardInterrupt):
            if said:
                self.turns = [*before, text, said]
            raise
        self.turns = [*before, text, said]

    def _read(self, text: str) -> str:
        """Return what the user said as one line; warn when the model cannot read all of it."""
        text = _one_line(text)
        encoder, persona = self.vocabularies.source, self.options.persona
        length = len(encoder.encode(in_usual_case(text, encoder)))
        room = room_for_turn(encoder.encode(persona) if persona else [], self.engine.max_length)
        if length > room:
            self.on_warning(
                f"the message has {length:,} tokens; the model reads the last {room:,} of them "
                f"(model.max_length is {self.engine.max_length:,})"
            )
        return text

    def _source(self, turns: Sequence[str]) -> list[int]:
        """Return what the model sees of a conversation."""
        encoder, persona = self.vocabularies.source, self.options.persona
        read = [in_usual_case(t, encoder) for t in turns[-(self.options.history_turns + 1) :]]
        return joiner(self.options.format, encoder)(
            encoder.encode_batch(read),
            persona=encoder.encode(persona) if persona else [],
            max_length=self.engine.max_length,
        )

    def _find(self, source: list[int]) -> Reply:
        """Return the best reply that is not blank."""
        count, search = self.options.rerank, self.search
        if search.sample:
            first = self._draw(count)
            rows = self.engine.search([source] * count, search, first_index=first)
            found = [hypotheses[0] for hypotheses in rows]
        else:
            beam, n_best = max(count, search.beam_size), max(count, search.n_best)
            (found,) = self.engine.search([source], replace(search, beam_size=beam, n_best=n_best))
        if count > 1:
            found = self._ranked(source, found)
        return self._first_solid(found) or self._second_try(source)

    def _ranked(self, source: list[int], found: list[Hypothesis]) -> list[Hypothesis]:
        """Return each candidate once, the one that fits its context best first."""
        candidates = list({tuple(hypothesis.ids): hypothesis for hypothesis in found}.values())
        targets = [hypothesis.ids for hypothesis in candidates]
        sources = [source] * len(targets) + [self._source([""])] * len(targets)
        sums = [sum(row) for row in self.engine.score(sources, targets * 2)]
        weight, alpha = self.options.anti_generic_weight, self.search.length_penalty
        ranks = [
            (sums[i] - weight * sums[len(targets) + i]) / len(target) ** alpha
            for i, target in enumerate(targets)
        ]
        best_first = sorted(range(len(targets)), key=ranks.__getitem__, reverse=True)
        return [candidates[i] for i in best_first]

    def _second_try(self, source: list[int]) -> Reply:
        """Return a reply where the options gave none that can be seen."""
        beam = replace(self.search, sample=False, beam_size=_SECOND_BEAM, n_best=_SECOND_BEAM)
        (found,) = self.engine.search([source], replace(beam, min_length=max(1, beam.min_length)))
        return self._first_solid(found) or Reply(_NOTHING_TO_SAY, None)

    def _first_solid(self, found: Sequence[Hypothesis]) -> Reply | None:
        replies = (Reply("".join(self._pieces(h.ids)), h.score) for h in found)
        return next((reply for reply in replies if reply.text), None)

    def _pieces(self, ids: Iterable[int]) -> Generator[str, None, None]:
        """Yield the text of ids, piece by piece, until it begins to repeat itself."""
        stream = TextStream(self.vocabularies.target)
        for token in ids:
            piece = stream.add(token)
            if has_loop(stream.text):
                break
            if piece:
                yield piece

    def _draw(self, count: int) -> int:
        """Return the number of the first of so many samples: how many the seed has given so far."""
        if self.search.seed != self._seed:
            self._seed, self._num_drawn = self.search.seed, 0
        first, self._num_drawn = self._num_drawn, self._num_drawn + count
        return first


def _one_line(text: str) -> str:
    """Return what the user typed as the one line that a turn is in training, too."""
    lines = (line.strip() for line in re.split(r"[\r\n]+", text))
    return " ".join(line for line in lines if line)


class TextStream:
    """The text of a reply that is still being written, from its ids one by one.

    A character outside the vocabulary is written as its UTF-8 bytes, up to four ids. Its bytes are
    held back until they are all there; those that never make a character are left out. The text so
    far is one line that begins and ends with a visible character: control characters, which a
    terminal could obey, become spaces.
    """

    def __init__(self, subwords: Subwords) -> None:
        self.text = ""
        self._subwords = subwords
        self._of_byte = subwords.ids(BYTE_TOKENS)
        self._byte_of = {token: bytes([byte]) for byte, token in enumerate(self._of_byte)}
        self._ids: list[int] = []
        self._bytes = codecs.getincrementaldecoder("utf-8")("ignore")

    def add(self, token: int) -> str:
        """Take the next id; return the text that is now certain to follow, perhaps none."""
        if token in self._byte_of:
            whole = self._bytes.decode(self._byte_of[token])
            self._ids += [self._of_byte[byte] for byte in whole.encode()]
        else:
            self._bytes.reset()
            self._ids.append(token)
        shown = _visible(self._subwords.decode(self._ids))
        new = shown[len(self.text) :]
        self.text += new
        return new


def _visible(text: str) -> str:
    """Return the text with spaces for control characters, and none at its ends."""
    plain = "".join(" " if unicodedata.category(char) == "Cc" else char for char in text)
    return plain.strip().removesuffix(_WAITING).rstrip(_BROKEN).rstrip()


def has_loop(text: str) -> bool:
    """Return whether one to four words come at least four times in a row."""
    words = text.split()
    for size in range(1, _LOOP_WORDS + 1):
        equal = 0  # words in a row that equal the one `size` before
        for word, before in zip(words[size:], words, strict=False):
            equal = equal + 1 if word == before else 0
            if equal == size * (_LOOP_TIMES - 1):
                return True
    return False
