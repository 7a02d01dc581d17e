"""How often the sample chatbot uses what it was told: names, cities, food, colours, ages, numbers.

    python tests/quality/chat_memory.py MODEL [--seeds N] [--json]

MODEL is a chat bundle or run folder trained on `data/small-talk-en`. In held-out phrasings it is
told something and must say it back at once (`told`), at once after two exchanges about other things
(`told later`), when it is asked for it next (`asked`) or after another exchange (`asked later`).
`unknown name` is the same of names that its training text does not have. Beside these, people
introduce themselves in their first turn as people do (`introduction`), and ask for small sums
(`sum`).
"""

import argparse
import itertools
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "data"))

from chat_intents import ask, judge, table
from generators.small_talk_script import (
    Intent,
    SlotDealer,
    expand,
    fill,
    read_intents,
    read_slots,
)

TOLD_AND_ASKED = {
    "name": ("user_name", "ask_my_name"),
    "city": ("user_city", "ask_my_city"),
    "food": ("user_favourite_food", "ask_my_food"),
    "colour": ("user_colour", "ask_my_colour"),
    "age": ("user_age", "ask_my_age"),
}
OTHERS = ("greeting", "thanks", "how_are_you", "tired", "joke", "bot_name")
VALUES = 12  # of each fact
UNKNOWN = [
    "Bartholomew", "Rosemary", "Callum", "Ingeborg", "Jakub", "Minji", "Hugh", "Nikita",
    "Thaddeus", "Wilhelmina", "Cordula", "Oisin", "Yevgenia", "Leopoldine", "Ximena",
    "Balthasar", "Marisol", "Torvald", "Henrike", "Isadora",
]  # fmt: skip

INTRODUCTIONS = [
    "Hi! I'm {name}.", "hi, i am {name}", "I am {name}", "im {name}", "hi its {name}",
    "it's {name}", "hello, my name is {name}", "Hello! My name is {name}. Nice to meet you!",
    "hey nemo, im {name}", "My name is {name}, what's yours?", "I'm {name}, and you?",
    "Good morning, I'm {name}", "Hi, {name} here", "hi i'm {name}, how are you", "{name}",
]  # fmt: skip
INTRODUCED = [
    "Tom", "Anna", "Mary", "James", "Lena", "Mark", "Paul", "Maria", "Laura", "Peter",
    "Julia", "David", "Emma", "Ben", "Sam", "Jane", "John", "Alex", "Lisa", "Daniel",
]  # fmt: skip
SUMS = [
    "what's {x}+{y}",
    "{x} + {y} = ?",
    "how much is {x} + {y}?",
    "What is {x_word} plus {y_word}?",
]


class PromptMaker:
    """Makes prompts for `chat_intents.judge`, the same at every run."""

    def __init__(self) -> None:
        """Read the text of the corpus."""
        self._rng = random.Random("memory")
        self._intents = read_intents()
        self._dealer = SlotDealer(read_slots(), self._rng)

    def make(self) -> Iterator[dict]:
        """Yield the prompts."""
        for fact, names in TOLD_AND_ASKED.items():
            for _ in range(VALUES):
                yield from self._about(fact, *(self._intents[name] for name in names))
        for name in UNKNOWN:
            user, asked = (self._intents[name] for name in TOLD_AND_ASKED["name"])
            yield from self._about("name", user, asked, name)
        for name, template in itertools.product(INTRODUCED, INTRODUCTIONS):
            yield _prompt("introduction", [template.format(name=name)], rf"(?i)\b{name}\b")
        sums = next(table for table in read_slots() if "total" in table[0])
        for numbers, template in itertools.product(sums, SUMS):
            total = rf"(is|=|That's) {numbers['total']}\."
            yield _prompt("sum", [template.format_map(numbers)], total)

    def _about(
        self, fact: str, told: Intent, asked: Intent, value: str | None = None
    ) -> Iterator[dict]:
        slot = f"{{{fact}}}"
        questions = [text for line in told.held_out for text in expand(line) if slot in text]
        answers = [text for text in told.answers if slot in text.lower()]
        templates = [*map(self._rng.choice, (questions, answers)), self._phrasing(asked)]
        values = self._dealer.deal(templates) | ({fact: value} if value else {})
        told_it, answered, asked_it = (fill(template, values) for template in templates)
        for kind, turns in {
            "told": [told_it],
            "told later": [*self._exchange(), *self._exchange(), told_it],
            "asked": [told_it, answered, asked_it],
            "asked later": [told_it, answered, *self._exchange(), asked_it],
        }.items():
            kind = f"{'unknown name' if value else fact}, {kind}"
            yield _prompt(kind, turns, f"(?i){re.escape(values[fact])}")

    def _phrasing(self, intent: Intent) -> str:
        return self._rng.choice(expand(self._rng.choice(intent.held_out)))

    def _exchange(self) -> list[str]:
        """Return a question and an answer about something else."""
        intent = self._intents[self._rng.choice(OTHERS)]
        templates = [self._phrasing(intent), self._rng.choice(intent.answers)]
        values = self._dealer.deal(templates)
        return [fill(template, values) for template in templates]


def _prompt(kind: str, turns: list[str], must_match: str) -> dict:
    return {"id": kind, "kind": kind, "turns": turns, "must_match": must_match}


def main() -> None:
    """Ask a model the prompts, and print how it did."""
    parser = argparse.ArgumentParser(description="Judge what a chat model remembers.")
    parser.add_argument("model")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    prompts = list(PromptMaker().make())
    result = judge(prompts, ask(arguments.model, prompts, greedy=False, seeds=arguments.seeds))
    print(json.dumps(result, ensure_ascii=False, indent=1) if arguments.json else table(result))


if __name__ == "__main__":
    main()
