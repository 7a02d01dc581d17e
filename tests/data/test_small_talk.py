"""Tests of the small-talk corpus and of the generator that writes it."""

import json
import random
import re
from collections import Counter, defaultdict
from itertools import chain, product
from pathlib import Path

import pytest
from generators import small_talk
from generators.small_talk_dialogues import DialogueMaker, follow_up_conversations
from generators.small_talk_rows import DEV, MAX_PHRASINGS, TEST, TRAIN, phrasings
from generators.small_talk_script import (
    Deck,
    SlotDealer,
    expand,
    fill,
    fold,
    read_conversations,
    read_intents,
    read_slots,
)
from generators.small_talk_style import addressed, casual, misspelt

CORPUS_DIR = Path(small_talk.__file__).parent.parent / "small-talk-en"
SPLITS = (TRAIN, DEV, TEST)


@pytest.fixture(scope="module")
def corpus():
    return small_talk.make_corpus()


@pytest.fixture(scope="module")
def rows(corpus):
    return {
        split: [tuple(line.split("\t")) for line in corpus[f"{split}.tsv"].splitlines()[1:]]
        for split in SPLITS
    }


@pytest.fixture(scope="module")
def dialogues(corpus):
    return {
        split: [json.loads(line)["turns"] for line in corpus[name].splitlines()]
        for split, name in ((TRAIN, "dialogues.train.jsonl"), (DEV, "dialogues.dev.jsonl"))
    }


@pytest.fixture(scope="module")
def intents():
    return read_intents()


def words(text):
    return re.findall(r"[\w']+", text.lower())


class TestCommittedFiles:
    def test_are_what_the_generator_makes(self, corpus):
        committed = {path.name: path.read_bytes() for path in CORPUS_DIR.iterdir()}
        for name, content in corpus.items():
            assert committed[name] == content.encode(), f"{name}: run the generator again"

    def test_another_seed_makes_another_corpus(self, corpus):
        assert small_talk.make_corpus(seed=1)["train.tsv"] != corpus["train.tsv"]

    def test_the_command_writes_the_same_files_again(self, corpus, monkeypatch, tmp_path):
        monkeypatch.setattr("sys.argv", ["small_talk", str(tmp_path / "new")])
        small_talk.main()
        written = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
        assert written == {name: content.encode() for name, content in corpus.items()}


class TestRows:
    @pytest.mark.parametrize(("split", "at_least"), [(TRAIN, 5000), (DEV, 250), (TEST, 250)])
    def test_size(self, rows, split, at_least):
        assert len(rows[split]) >= at_least

    def test_header(self, corpus):
        for split in SPLITS:
            assert corpus[f"{split}.tsv"].startswith("question\tanswer\tintent\n")

    def test_three_cells_none_empty_or_padded(self, rows):
        for row in chain(*rows.values()):
            assert len(row) == 3
            assert all(cell and cell == cell.strip() for cell in row)

    def test_no_question_and_answer_twice(self, rows):
        pairs = Counter(row[:2] for split in SPLITS for row in rows[split])
        assert [pair for pair, count in pairs.items() if count > 1] == []

    def test_held_out_questions_are_in_no_other_split(self, rows):
        train, dev, test = ({fold(row[0]) for row in rows[split]} for split in SPLITS)
        assert train & dev == train & test == dev & test == set()

    def test_held_out_questions_are_in_no_training_dialogue(self, rows, dialogues):
        asked = {fold(turn) for turns in dialogues[TRAIN] for turn in turns[::2]}
        assert asked & {fold(row[0]) for split in (DEV, TEST) for row in rows[split]} == set()

    def test_every_question_has_one_intent(self, rows):
        intents_of = defaultdict(set)
        for question, _, intent in chain(*rows.values()):
            intents_of[fold(question)].add(intent)
        assert {q: names for q, names in intents_of.items() if len(names) > 1} == {}

    def test_all_splits_have_all_intents(self, rows, intents):
        assert len(intents) >= 90
        for split in SPLITS:
            assert {row[2] for row in rows[split]} == set(intents)

    def test_every_intent_has_many_questions_and_several_answers(self, rows):
        questions, answers = defaultdict(set), defaultdict(set)
        for question, answer, intent in rows[TRAIN]:
            questions[intent].add(fold(question))
            answers[intent].add(answer)
        assert {name for name, texts in questions.items() if len(texts) < 12} == set()
        assert {name for name, texts in answers.items() if len(texts) < 4} == set()

    def test_no_answer_dominates(self, rows):
        ((_, count),) = Counter(row[1] for row in rows[TRAIN]).most_common(1)
        assert count < 0.01 * len(rows[TRAIN])


@pytest.fixture(scope="module")
def answers(rows, dialogues):
    answers = {row[1] for split in SPLITS for row in rows[split]}
    return answers | {turn for turns in chain(*dialogues.values()) for turn in turns[1::2]}


class TestAnswers:
    def test_are_sentences(self, answers):
        sentences = re.compile(r"[A-Z\d].*[.!?]")
        assert [answer for answer in answers if not sentences.fullmatch(answer)] == []

    def test_are_short(self, answers):
        assert max(len(answer.split()) for answer in answers) <= 20

    def test_have_no_open_slots_or_choices(self, answers):
        assert [answer for answer in answers if re.search(r"[{}()|@<>]", answer)] == []


def test_vocabulary_is_small(rows, dialogues):
    texts = [*chain(*(row[:2] for row in rows[TRAIN])), *chain(*dialogues[TRAIN])]
    assert 1800 <= len({word for text in texts for word in words(text)}) <= 3000


class TestDialogues:
    @pytest.mark.parametrize(("split", "at_least"), [(TRAIN, 1000), (DEV, 60)])
    def test_number(self, dialogues, split, at_least):
        assert len(dialogues[split]) >= at_least
        assert len({tuple(turns) for turns in dialogues[split]}) == len(dialogues[split])

    def test_user_and_nemo_alternate(self, dialogues):
        for turns in chain(*dialogues.values()):
            assert len(turns) in {4, 6, 8, 10}
            assert all(turns)

    @pytest.mark.parametrize(
        "intent",
        [
            *("and_you", "why", "really", "more", "which_one", "yes", "no", "another"),
            *("what_is_his_name", "repeat", "what_should_i_do", "user_does_not_know"),
        ],
    )
    def test_follow_ups_are_answered_in_context(self, dialogues, intents, intent):
        follow_ups = {fold(text) for text in phrasings(intents[intent], TRAIN)}
        answers = {
            turns[i + 1]
            for turns in dialogues[TRAIN]
            for i in range(2, len(turns), 2)
            if fold(turns[i]) in follow_ups
        }
        assert len(answers) >= 2
        assert answers.isdisjoint(intents[intent].answers)

    @pytest.mark.parametrize("fact", ["name", "city", "food", "colour", "age"])
    def test_nemo_remembers_what_it_was_told(self, intents, fact):
        memory = [c for c in read_conversations() if c.name == f"{fact}_memory"]
        maker = DialogueMaker(intents, memory, read_slots(), TRAIN, random.Random(0))
        questions = {fold(text) for text in phrasings(intents[f"ask_my_{fact}"], TRAIN)}
        values = {row[fact].lower() for table in read_slots() for row in table if fact in row}
        recalled = 0
        for turns in maker.make(50):
            for i in (i for i, turn in enumerate(turns) if fold(turn) in questions):
                told = {value for value in values if value in " ".join(turns[:i:2]).lower()}
                assert any(value in turns[i + 1].lower() for value in told)
                recalled += 1
        assert recalled >= 30

    def test_a_second_joke_is_another_joke(self, dialogues):
        for turns in dialogues[TRAIN]:
            jokes = [turn for turn in turns[1::2] if "? Because" in turn]
            assert len(set(jokes)) == len(jokes)


class TestScript:
    def test_choices(self):
        assert expand("(Hi|Hello) there(|, Nemo)!") == [
            "Hi there!",
            "Hi there, Nemo!",
            "Hello there!",
            "Hello there, Nemo!",
        ]

    def test_the_last_mark_follows_from_the_first_word(self):
        assert expand("(Can you tell|Tell) me a joke") == [
            "Can you tell me a joke?",
            "Tell me a joke.",
        ]

    @pytest.mark.parametrize(
        ("template", "text"),
        [
            ("{animal} and {a_animal}", "Owl and an owl"),
            ("A {sound} from {A_animal2}", "A hoot from A dog"),
            ("so: {Animal}", "So: Owl"),
        ],
    )
    def test_slots(self, template, text):
        assert fill(template, {"animal": "owl", "sound": "hoot", "animal2": "dog"}) == text

    def test_folding_keeps_the_signs_of_sums(self):
        assert fold(" What's 2 + 3,  Nemo?") == "whats 2 + 3 nemo"

    def test_a_deck_deals_everything_before_it_repeats(self):
        deck = Deck("abc", random.Random(0))
        assert [sorted(deck.draw() for _ in range(3)) for _ in range(2)] == [list("abc")] * 2

    def test_slots_of_one_table_belong_together(self):
        dealer = SlotDealer(read_slots(), random.Random(0))
        values = [dealer.deal(["{country} {capital}"]) for _ in range(50)]
        assert {v["capital"] for v in values if v["country"] == "France"} == {"Paris"}

    def test_the_second_row_of_a_table_is_another_row(self):
        dealer = SlotDealer(read_slots(), random.Random(0))
        values = [dealer.deal(["{country} {country2}"]) for _ in range(50)]
        assert all(v["country"] != v["country2"] for v in values)

    def test_small_sums_are_right(self):
        dealer = SlotDealer(read_slots(), random.Random(0))
        for _ in range(100):
            values = dealer.deal(["{x}"])
            assert int(values["x"]) + int(values["y"]) == int(values["total"])

    def test_phrasings(self, intents):
        for intent in intents.values():
            assert 12 <= len(phrasings(intent, TRAIN)) <= MAX_PHRASINGS
            assert phrasings(intent, DEV)
            assert phrasings(intent, TEST)

    def test_no_question_is_written_twice(self, intents):
        table_of = {column: table for table in read_slots() for column in table[0]}
        written = defaultdict(set)
        for intent, split in product(intents.values(), SPLITS):
            for phrasing in phrasings(intent, split):
                slot = re.search(r"{(a_)?(\w+)}", phrasing.lower())
                for row in table_of[slot[2]] if slot else [{}]:
                    written[fold(fill(phrasing, row))].add((intent.name, split))
        assert {text: where for text, where in written.items() if len(where) > 1} == {}

    def test_conversations_refer_to_intents(self, intents):
        for conversation in [*read_conversations(), *follow_up_conversations(intents)]:
            assert len(conversation.exchanges) <= 5
            for exchange in conversation.exchanges:
                texts = exchange.questions + exchange.answers
                assert exchange.questions
                assert exchange.answers
                assert {t[1:] for t in texts if t.startswith("@")} <= set(intents)

    def test_an_intent_cannot_be_written_twice(self, tmp_path):
        (tmp_path / "one.txt").write_text("[hello]\n? Hi!\n! Hello!\n")
        (tmp_path / "two.txt").write_text("[hello]\n? Hey!\n! Hello!\n")
        with pytest.raises(ValueError, match="second intent 'hello'"):
            read_intents(tmp_path)


class TestStyle:
    def test_casual(self):
        assert casual("What's up, Nemo?", random.Random(0)) == "what's up, nemo"

    def test_only_questions_are_addressed(self):
        rng = random.Random(0)
        assert addressed("Who are you?", rng).endswith(", who are you?")
        assert addressed("I am Anna.", rng) == "i am anna"

    def test_one_word_is_misspelt(self):
        rng = random.Random(0)
        assert misspelt("Do you know?", rng) in {
            *("doo you know", "do u know", "do yuo know", "do you konw", "do you kno"),
        }
        assert misspelt("Okay!", rng) == "okay"


def test_a_gap_is_filled_with_an_exchange_about_something_else(intents):
    memory = [c for c in read_conversations() if c.name == "name_memory"]
    maker = DialogueMaker(intents, memory, read_slots(), TRAIN, random.Random(0))
    lengths = {len(turns) for turns in maker.make(50)}
    assert lengths >= {4, 6, 8}
