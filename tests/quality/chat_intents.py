"""How many replies of the sample chatbot fit what was said: a judge that knows its answers.

    python tests/quality/chat_intents.py MODEL PROMPTS [--greedy] [--seeds N] [--json]

MODEL is a chat bundle or run folder trained on `data/small-talk-en`. PROMPTS is JSONL, a prompt a
line:

    {"id": "7", "kind": "follow-up", "turns": ["I'm Anna", "Hello Anna!", "who am i?"],
     "intents": ["ask_my_name"], "must_match": "Anna"}

`turns` alternate between user and bot and end with the user's; all but the last are given to the
bot as the conversation so far. A reply fits when it is an answer of one of the `intents`, or nearly
(`NEARLY_EQUAL`), with whatever in its slots, and the regular expression `must_match`, if there is
one, is found in it. Without `intents` the expression alone decides. An intent is named as in
`data/generators/small_talk_text`:

* `joke`: the answers of that intent. Where the bot's earlier turns make it a follow-up ("why" after
  an answer about its home), only the answers that fit there.
* `bot_home>why`: the answers to one follow-up.
* `riddle_solved`: all of the bot's lines of that conversation.

Replies are drawn as the model's options say, `--seeds` times a prompt; `--greedy` takes the
likeliest. The table has a row a kind of prompt; below it stand the most frequent reply and the
misses.
"""

import argparse
import difflib
import itertools
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "data"))

from generators.small_talk_dialogues import follow_up_conversations
from generators.small_talk_script import (
    Conversation,
    Exchange,
    Intent,
    Record,
    fill,
    fold,
    read_conversations,
    read_intents,
    read_slots,
)

import nmt_cli

NEARLY_EQUAL = 0.85  # difflib's ratio of two folded texts
FEWEST_WORDS = 2  # of its own that a template needs to be told by its pattern

_SLOT = re.compile(r"\{\w+\}")


class Judge:
    """Knows the answers of all intents, alone and after other turns."""

    def __init__(
        self,
        intents: Mapping[str, Intent],
        conversations: Iterable[Conversation],
        tables: Sequence[Sequence[Record]],
    ) -> None:
        """Prepare to judge by intents, conversations and what fills their slots."""
        self._intents = intents
        self._written = {c.name: c for c in conversations}
        self._all = [*self._written.values(), *follow_up_conversations(intents)]
        self._tables = {column: table for table in tables for column in table[0]}

    def fits(
        self, reply: str, turns: Sequence[str], intents: Sequence[str], must_match: str | None
    ) -> bool:
        """Return whether `reply` is a right one to the last of `turns`."""
        if must_match and not re.search(must_match, reply):
            return False
        return not intents or any(
            self.is_one_of(reply, self.answers(name, turns[1::2])) for name in intents
        )

    def answers(self, name: str, said: Sequence[str]) -> list[str]:
        """Return the templates of right answers, after the turns that the bot has `said`."""
        if ">" in name:
            intent, kind = name.split(">")
            return self._intents[intent].follow_ups[kind]
        if name in self._written:
            return [a for e in self._written[name].exchanges for a in self._answers_of(e)]
        if said and (in_context := list(self._answers_in_context(name, said))):
            return in_context
        openings = (c.exchanges[0] for c in self._all)
        also = (self._answers_of(e) for e in openings if f"@{name}" in e.questions)
        return [*self._intents[name].answers, *itertools.chain.from_iterable(also)]

    def is_one_of(self, text: str, templates: Iterable[str]) -> bool:
        """Return whether a text is one of the templates with its slots filled, or nearly."""
        text = fold(text)
        templates = list(dict.fromkeys(templates))
        if any(self._is_pattern(t) and self._pattern(t).fullmatch(text) for t in templates):
            return True
        filled = [fold(option) for template in templates for option in self._filled(template)]
        return bool(difflib.get_close_matches(text, filled, n=1, cutoff=NEARLY_EQUAL))

    def _answers_in_context(self, name: str, said: Sequence[str]) -> Iterator[str]:
        """Yield the answers to an intent in the conversations that the bot's turns may be from."""
        for conversation in self._all:
            exchanges = conversation.exchanges
            for number in range(1, len(exchanges)):
                exchange, before = exchanges[number], self._answers_of(exchanges[number - 1])
                if f"@{name}" not in exchange.questions:
                    continue
                heard = said if exchange.after_gap else said[-1:]
                if any(self.is_one_of(turn, before) for turn in heard):
                    yield from self._answers_of(exchange)

    def _answers_of(self, exchange: Exchange) -> list[str]:
        return [
            text
            for answer in exchange.answers
            for text in (self._intents[answer[1:]].answers if answer[0] == "@" else [answer])
        ]

    def _is_pattern(self, template: str) -> bool:
        return len(fold(_SLOT.sub("", template)).split()) >= FEWEST_WORDS

    def _pattern(self, template: str) -> re.Pattern[str]:
        parts = (re.escape(fold(part)) for part in _SLOT.split(template))
        return re.compile(r"\s*.+?\s*".join(parts))

    def _filled(self, template: str) -> Iterator[str]:
        """Yield a template with its slots filled from each row of the tables that it uses."""
        names = [slot[1:-1].lower().removeprefix("a_") for slot in _SLOT.findall(template)]
        columns = {name.removesuffix("2") for name in names}
        tables = {id(self._tables[column]): self._tables[column] for column in columns}
        for rows in itertools.product(*tables.values()):
            values = {key: value for row in rows for key, value in row.items()}
            yield fill(template, values | {f"{key}2": value for key, value in values.items()})


def main() -> None:
    """Ask a model the prompts of a file, and print how it did."""
    parser = argparse.ArgumentParser(description="Judge a chat model's replies by intent.")
    parser.add_argument("model")
    parser.add_argument("prompts", type=Path)
    parser.add_argument("--greedy", action="store_true")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    lines = arguments.prompts.read_text(encoding="utf-8").splitlines()
    prompts = [json.loads(line) for line in lines if line.strip()]
    replies = ask(arguments.model, prompts, greedy=arguments.greedy, seeds=arguments.seeds)
    result = judge(prompts, replies)
    print(json.dumps(result, ensure_ascii=False, indent=1) if arguments.json else table(result))


def ask(model: str, prompts: Sequence[dict], *, greedy: bool, seeds: int) -> list[list[str]]:
    """Return the replies to each prompt, one for each seed."""
    loaded = nmt_cli.load(model)
    replies = []
    for prompt in prompts:
        replies.append([])
        for seed in range(1 if greedy else seeds):
            changes = {"beam_size": 1, "sample": False} if greedy else {"seed": seed}
            session = loaded.chat(**changes)
            session.turns = prompt["turns"][:-1]
            reply = session.reply(prompt["turns"][-1])
            replies[-1].append(reply.text)
    return replies


def judge(prompts: Sequence[dict], replies: Sequence[Sequence[str]]) -> dict:
    """Return the share of fitting replies of each kind, the most frequent reply and the misses."""
    knows = Judge(read_intents(), read_conversations(), read_slots())
    marks: dict[str, list[bool]] = defaultdict(list)
    misses = []
    for prompt, answers in zip(prompts, replies, strict=True):
        for reply in answers:
            fits = knows.fits(
                reply, prompt["turns"], prompt.get("intents", []), prompt.get("must_match")
            )
            marks[prompt["kind"]].append(fits)
            if not fits:
                misses.append({**prompt, "reply": reply})
    every = [mark for kind in marks.values() for mark in kind]
    ((frequent, times),) = Counter(itertools.chain.from_iterable(replies)).most_common(1)
    return {
        "kinds": {
            kind: {"replies": len(found), "fit": sum(found), "share": sum(found) / len(found)}
            for kind, found in {**marks, "all": every}.items()
        },
        "most_frequent": {"reply": frequent, "share": times / len(every)},
        "misses": misses,
    }


def table(result: dict) -> str:
    """Return a result for people to read."""
    lines = [f"{'kind':<20} {'replies':>8} {'fit':>6} {'share':>7}"]
    for kind, row in result["kinds"].items():
        lines.append(f"{kind:<20} {row['replies']:>8} {row['fit']:>6} {row['share']:>7.1%}")
    frequent = result["most_frequent"]
    lines += [f"most frequent: {frequent['share']:.1%} {frequent['reply']!r}", "", "misses:"]
    for miss in result["misses"]:
        wanted = ", ".join(miss.get("intents", [])) or miss["must_match"]
        lines.append(f"{miss['id']} ({wanted}): {' | '.join(miss['turns'])} -> {miss['reply']}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
