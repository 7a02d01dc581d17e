"""Tests of the small-talk corpus and of the generator that writes it."""

import gzip
import json
import random
import re
from collections import Counter, defaultdict
from itertools import chain, product
from pathlib import Path

import pytest
from generators import small_talk
from generators.small_talk_dialogues import DialogueMaker, follow_up_conversations
from generators.small_talk_follow_ups import FollowUpMaker
from generators.small_talk_rows import DEV, TEST, TRAIN, lines_of, spread_phrasings
from generators.small_talk_script import (
    Deck,
    SlotDealer,
    expand,
    expand_all,
    fill,
    fold,
    read_conversations,
    read_intents,
    read_slots,
    spread,
)
from generators.small_talk_style import (
    addressed,
    by_ear,
    casual,
    misspelt,
    mistyped,
    outside_slots,
    retold,
    reworded,
    slip,
    typed,
)

CORPUS_DIR = Path(small_talk.__file__).parent.parent / "small-talk-en"
FOLLOW_UPS = small_talk.TEXT_DIR / "follow_ups.txt"
SPLITS = (TRAIN, DEV, TEST)


@pytest.fixture(scope="module")
def corpus():
    return small_talk.make_corpus()


@pytest.fixture(scope="module")
def rows(corpus):
    return {
        split: [tuple(line.split("\t")) for line in corpus[name].splitlines()[1:]]
        for split, name in ((TRAIN, "train.tsv.gz"), (DEV, "dev.tsv"), (TEST, "test.tsv"))
    }


@pytest.fixture(scope="module")
def dialogues(corpus):
    return {
        split: [json.loads(line)["turns"] for line in corpus[name].splitlines()]
        for split, name in ((TRAIN, "dialogues.train.jsonl.gz"), (DEV, "dialogues.dev.jsonl"))
    }


@pytest.fixture(scope="module")
def follow_ups(corpus):
    records = map(json.loads, corpus["follow-ups.train.jsonl.gz"].splitlines())
    return [tuple(record["turns"]) for record in records if record["learn"] == "last"]


@pytest.fixture(scope="module")
def intents():
    return read_intents()


def text_of(path):
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode()


def dialogue_maker(intents, conversations, taken=()):
    rng, wording = random.Random(0), small_talk.ENGLISH.wording
    return DialogueMaker(intents, conversations, read_slots(), TRAIN, rng, wording, taken)


def words(text):
    return re.findall(r"[\w']+", text.lower())


class TestCommittedFiles:
    def test_are_what_the_generator_makes(self, corpus):
        committed = {path.name: text_of(path) for path in CORPUS_DIR.iterdir()}
        assert committed.keys() == corpus.keys()
        for name, content in corpus.items():
            assert committed[name] == content, f"{name}: run the generator again"

    @pytest.mark.slow
    def test_another_seed_makes_another_corpus(self, corpus):
        assert small_talk.make_corpus(seed=1)["dev.tsv"] != corpus["dev.tsv"]

    @pytest.mark.slow
    def test_the_command_writes_the_same_files_again(self, corpus, monkeypatch, tmp_path):
        monkeypatch.setattr("sys.argv", ["small_talk", str(tmp_path / "new")])
        small_talk.main()
        assert {path.name: text_of(path) for path in (tmp_path / "new").iterdir()} == corpus

    def test_are_not_large(self):
        assert sum(path.stat().st_size for path in CORPUS_DIR.iterdir()) < 1_750_000


def test_words_of_a_slot_are_in_order():
    """Then none is cut in two by the end of a line: "ice" would be followed by "cream"."""
    for table in read_slots():
        if len(table[0]) == 1:
            entries = [entry.lower() for row in table for entry in row.values()]
            in_order = sorted(set(entries), key=lambda entry: (entry.isdigit() * len(entry), entry))
            assert entries == in_order


class TestRows:
    @pytest.mark.parametrize(("split", "at_least"), [(TRAIN, 20_000), (DEV, 250), (TEST, 250)])
    def test_size(self, rows, split, at_least):
        assert len(rows[split]) >= at_least

    def test_header(self, corpus):
        for split in SPLITS:
            name = small_talk.ENGLISH.file_name("{}.tsv", split)
            assert corpus[name].startswith("question\tanswer\tintent\n")

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
        assert {name for name, texts in questions.items() if len(texts) < 30} == set()
        assert {name for name, texts in answers.items() if len(texts) < 3} == set()

    def test_no_answer_dominates(self, rows):
        ((_, count),) = Counter(row[1] for row in rows[TRAIN]).most_common(1)
        assert count < 0.01 * len(rows[TRAIN])


@pytest.fixture(scope="module")
def answers(rows, dialogues, follow_ups):
    answers = {row[1] for split in SPLITS for row in rows[split]} | {row[3] for row in follow_ups}
    return answers | {turn for turns in chain(*dialogues.values()) for turn in turns[1::2]}


class TestAnswers:
    def test_are_sentences(self, answers):
        sentences = re.compile(r"[A-Z\d].*[.!?]")
        assert [answer for answer in answers if not sentences.fullmatch(answer)] == []

    def test_are_short(self, answers):
        assert max(len(answer.split()) for answer in answers) <= 20

    def test_have_no_open_slots_or_choices(self, answers):
        assert [answer for answer in answers if re.search(r"[{}()|@<>]", answer)] == []


def test_nemo_uses_few_words_of_its_own(answers):
    rows = (row for table in read_slots() for row in table)
    slots = {word for row in rows for word in words(" ".join(row.values()))}
    assert 500 <= len({word for text in answers for word in words(text)} - slots) <= 2000


class TestDialogues:
    @pytest.mark.parametrize(("split", "at_least"), [(TRAIN, 4000), (DEV, 60)])
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
    def test_follow_ups_are_answered_in_context(self, intents, intent):
        follow_up = f"@{intent}"
        conversations = [*read_conversations(), *follow_up_conversations(intents)]
        answers = {
            answer
            for conversation in conversations
            for exchange in conversation.exchanges[1:]
            if follow_up in exchange.questions
            for answer in exchange.answers
        }
        assert len(answers - {follow_up}) >= 2
        assert answers.isdisjoint(intents[intent].answers)

    @pytest.mark.parametrize("fact", ["name", "city", "food", "colour", "age"])
    def test_nemo_remembers_what_it_was_told(self, intents, fact):
        memory = [c for c in read_conversations() if c.name == f"{fact}_memory"]
        maker = dialogue_maker(intents, memory)
        values = {row[fact].lower() for table in read_slots() for row in table if fact in row}
        for turns in maker.make(50):
            told = {value for value in values if value in " ".join(turns[:-2:2]).lower()}
            assert any(value in turn.lower() for turn in turns[3::2] for value in told)

    def test_a_second_joke_is_another_joke(self, dialogues):
        for turns in dialogues[TRAIN]:
            jokes = [turn for turn in turns[1::2] if "? Because" in turn]
            assert len(set(jokes)) == len(jokes)

    def test_nobody_says_what_is_held_out(self, intents):
        greeting = [c for c in read_conversations() if c.name == "knock_knock"]
        taken = {"knock knock", "knock, knock"}
        turns = dialogue_maker(intents, greeting, taken).make(20)
        assert not any(fold(turn) in taken for dialogue in turns for turn in dialogue[::2])


class TestFollowUps:
    def test_rows(self, follow_ups):
        assert len(set(follow_ups)) == len(follow_ups) >= 10_000
        for row in follow_ups:
            assert len(row) == 4
            assert all(cell and cell == cell.strip() for cell in row)
            assert not re.search(r"[{}|@]", " ".join(row))

    def test_nobody_says_what_is_held_out(self, rows, follow_ups):
        said = {fold(text) for row in follow_ups for text in (row[0], row[2])}
        assert said & {fold(row[0]) for split in (DEV, TEST) for row in rows[split]} == set()

    def test_nemo_is_heard_in_other_words_than_it_learns(self, follow_ups, answers):
        heard = {row[1] for row in follow_ups}
        assert len(heard - answers) > len(heard & answers)

    def test_what_was_told_is_in_the_answer(self, intents):
        recalls = [c for c in read_conversations(FOLLOW_UPS) if c.name == "recall_name"]
        rng, wording = random.Random(0), small_talk.ENGLISH.wording
        maker = FollowUpMaker(intents, recalls, read_slots(), TRAIN, rng, wording)
        names = {row["name"].lower() for table in read_slots() for row in table if "name" in row}
        for row in maker.make_follow_ups(50):
            assert any(name in row.asked.lower() for name in names & set(words(row.answer)))

    def test_anything_may_come_before(self, intents):
        thanks = [c for c in read_conversations(FOLLOW_UPS) if c.name == "after_all_thanks"]
        rng, wording = random.Random(0), small_talk.ENGLISH.wording
        maker = FollowUpMaker(intents, thanks, read_slots(), TRAIN, rng, wording)
        rows = maker.make_follow_ups(50)
        assert len({row.asked for row in rows}) > 40
        assert {row.answer for row in rows} == set(intents["thanks"].answers)

    def test_conversations_refer_to_intents(self, intents):
        for conversation in read_conversations(FOLLOW_UPS):
            first, second = conversation.exchanges
            texts = [*first.questions, *first.answers, *second.questions, *second.answers]
            assert {t[1:] for t in texts if t.startswith("@")} <= {*intents, "*", ""}


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

    def test_spread_has_every_option_in_as_few_texts_as_can_be(self):
        texts = spread("(a|b|c) (1|2)(|!|?) x", random.Random(0))
        assert len(texts) == 3
        assert {text[0].lower() for text in texts} == set("abc")
        assert {text[2] for text in texts} == set("12")
        assert set(texts) <= set(expand("(a|b|c) (1|2)(|!|?) x"))

    def test_phrasings_come_from_all_lines(self, intents):
        lines = lines_of(intents["wait"], TRAIN)
        drawn = set(spread_phrasings(lines, random.Random(0)))
        for line in lines:
            assert drawn & set(expand(line))

    def test_all_intents_have_held_out_phrasings(self, intents):
        for intent, split in product(intents.values(), (DEV, TEST)):
            assert expand_all(lines_of(intent, split))

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
        assert casual("What's up, Nemo?") == "what's up, nemo"
        assert casual("?!") == "?!"

    def test_apostrophes_are_often_left_out(self):
        rng = random.Random(0)
        forms = {typed("What's up?", {}, rng) for _ in range(100)}
        assert {"What's up?", "what's up", "whats up"} <= forms

    def test_only_questions_are_asked_for(self):
        rng = random.Random(0)
        for _ in range(300):
            assert "may i ask" not in addressed("I am Anna.", rng)
        assert any(addressed("Who are you?", rng).startswith("may i ask") for _ in range(300))

    def test_an_address_leaves_the_sentence_whole(self):
        rng = random.Random(0)
        for _ in range(100):
            assert "who are you" in addressed("Who are you?", rng).lower()

    def test_reworded(self):
        rng = random.Random(0)
        forms = {reworded("Thank you.", rng) for _ in range(100)}
        assert {"Thank you.", "thx.", "ty."} <= forms

    def test_a_slip_changes_a_word_a_little(self):
        rng = random.Random(0)
        for _ in range(300):
            assert abs(len(slip("favourite", rng)) - 9) <= 1
        assert any(mistyped("Do you know my name?", rng) != "Do you know my name?" for _ in "aaaaa")

    def test_a_word_may_be_written_as_it_sounds(self):
        rng = random.Random(0)
        heard = {by_ear("speak", rng) for _ in range(100)}
        assert {"speek", "spek", "speac"} <= heard
        assert {by_ear("I", rng), by_ear("who", rng)} <= {"I", "wo", "hwo"}

    def test_a_space_may_be_forgotten(self):
        rng = random.Random(0)
        texts = {misspelt("do not go", rng) for _ in range(300)}
        assert {text.replace(" ", "") for text in texts if text.count(" ") == 1}
        assert all(len(text) <= len("do not go") + 3 for text in texts)

    def test_slots_are_never_mistyped(self):
        rng = random.Random(0)
        values = {"name": "Quentin", "colour": "purple"}
        for _ in range(300):
            text = typed("My name is {name} and I like {colour} colours.", values, rng).lower()
            assert "quentin" in text
            assert "purple" in text

    def test_retold_keeps_slots_and_questions(self):
        rng = random.Random(0)
        told = {retold("Hello {name}! I'm Nemo. How are you?", rng) for _ in range(200)}
        assert len(told) > 20
        assert all("{name}" in text and text.endswith("?") for text in told)

    def test_outside_slots(self):
        assert outside_slots("one {two} three", str.upper) == "ONE {two} THREE"


def test_a_gap_is_filled_with_an_exchange_about_something_else(intents):
    memory = [c for c in read_conversations() if c.name == "name_memory"]
    maker = dialogue_maker(intents, memory)
    lengths = {len(turns) for turns in maker.make(50)}
    assert lengths == {4, 6}
