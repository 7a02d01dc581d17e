"""Tests of the Korean small-talk corpus: what is written, what is made of it, its particles."""

import json
import random
import re
from collections import Counter, defaultdict
from itertools import chain, product

import pytest
from generators.korean_particles import FORMS, choose_particles, final_consonant
from generators.small_talk import DATA_DIR, make_corpus
from generators.small_talk_dialogues import follow_up_conversations
from generators.small_talk_ko import KOREAN
from generators.small_talk_ko_style import joined, lively, misspelt
from generators.small_talk_rows import DEV, TEST, TRAIN, first_phrasings, lines_of
from generators.small_talk_script import (
    expand,
    fill,
    fold,
    read_conversations,
    read_intents,
    read_slots,
)

SPLITS = (TRAIN, DEV, TEST)


def letters(text):
    """Return what is left of a text when people leave out marks and spaces and add a smile."""
    return fold(text).removesuffix(" ㅎㅎ").replace(" ", "")


def phrasings(intent, split):
    return first_phrasings(lines_of(intent, split), random.Random(0))


@pytest.fixture(scope="module")
def corpus():
    return make_corpus(sample=KOREAN)


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
    return read_intents(KOREAN.text_dir)


@pytest.fixture(scope="module")
def answers(rows, dialogues):
    answers = {row[1] for split in SPLITS for row in rows[split]}
    return answers | {turn for turns in chain(*dialogues.values()) for turn in turns[1::2]}


def test_the_committed_files_are_what_the_generator_makes(corpus):
    folder = DATA_DIR / KOREAN.name
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        name: content.encode() for name, content in corpus.items()
    }


def test_it_is_below_a_megabyte(corpus):
    assert sum(len(content.encode()) for content in corpus.values()) < 1_000_000


class TestRows:
    @pytest.mark.parametrize(("split", "at_least"), [(TRAIN, 5000), (DEV, 250), (TEST, 200)])
    def test_size(self, rows, split, at_least):
        assert len(rows[split]) >= at_least

    def test_three_cells_none_empty_or_padded(self, rows):
        for row in chain(*rows.values()):
            assert len(row) == 3
            assert all(cell and cell == cell.strip() for cell in row)

    def test_held_out_questions_are_nowhere_in_training(self, rows, dialogues):
        held_out = {letters(row[0]) for split in (DEV, TEST) for row in rows[split]}
        asked = {letters(row[0]) for row in rows[TRAIN]}
        asked |= {letters(turn) for turns in dialogues[TRAIN] for turn in turns[::2]}
        assert held_out & asked == set()

    def test_dev_and_test_share_no_question(self, rows):
        dev, test = ({letters(row[0]) for row in rows[split]} for split in (DEV, TEST))
        assert dev & test == set()

    def test_all_splits_have_all_intents(self, rows, intents):
        assert len(intents) >= 120
        for split in SPLITS:
            assert {row[2] for row in rows[split]} == set(intents)

    def test_no_answer_dominates(self, rows):
        ((_, count),) = Counter(row[1] for row in rows[TRAIN]).most_common(1)
        assert count < 0.01 * len(rows[TRAIN])


class TestText:
    def test_every_intent_has_many_phrasings_and_several_answers(self, intents):
        for intent in intents.values():
            assert len(phrasings(intent, TRAIN)) >= 12, intent.name
            assert phrasings(intent, DEV), intent.name
            assert phrasings(intent, TEST), intent.name
            assert len(set(intent.answers)) >= 4, intent.name

    def test_no_question_is_written_twice(self, intents):
        tables = read_slots(KOREAN.text_dir / "slots.txt")
        table_of = {column: table for table in tables for column in table[0]}
        written = defaultdict(set)
        for intent, split in product(intents.values(), SPLITS):
            for phrasing in phrasings(intent, split):
                slot = re.search(r"{(\w+)}", phrasing)
                for row in table_of[slot[1]] if slot else [{}]:
                    written[letters(fill(phrasing, row))].add((intent.name, split))
        assert {text: where for text, where in written.items() if len(where) > 1} == {}

    def test_conversations_refer_to_intents(self, intents):
        conversations = read_conversations(KOREAN.text_dir / "dialogues.txt")
        for conversation in [*conversations, *follow_up_conversations(intents)]:
            for exchange in conversation.exchanges:
                texts = exchange.questions + exchange.answers
                assert exchange.questions, conversation.name
                assert exchange.answers, conversation.name
                assert {t[1:] for t in texts if t.startswith("@")} <= set(intents)

    def test_users_do_not_mix_저_with_반말(self, rows):
        """저 and 제 are polite words, so the sentence ends politely, too."""
        polite = re.compile(r"(요|요일|니다|니까|세요|죠|라고|여|용)[\s.!?~ㅎ]*$")
        humble = [
            row[0] for row in rows[TRAIN] if re.match(r"(저는|제가|저를|저랑|저한테) ", row[0])
        ]
        assert len(humble) > 100
        assert [text for text in humble if not polite.search(text)] == []


class TestAnswers:
    def test_are_polite_sentences(self, answers):
        """Each ends in 요 or 다, or is an exclamation or an example of a sound or a word."""
        assert [a for a in answers if not re.search(r"[.!?]$", a)] == []
        polite = [a for a in answers if re.search(r"(요|니다|죠|세요|답니다)[.!?]", a)]
        assert len(polite) >= 0.95 * len(answers)

    def test_are_short(self, answers):
        assert max(map(len, answers)) <= 60

    def test_have_no_open_slots_choices_or_particles(self, answers):
        assert [a for a in answers if re.search(r"[{}()|@<>/]", a)] == []


class TestDialogues:
    @pytest.mark.parametrize(("split", "at_least"), [(TRAIN, 300), (DEV, 60)])
    def test_number(self, dialogues, split, at_least):
        assert len({tuple(turns) for turns in dialogues[split]}) >= at_least

    def test_user_and_bot_alternate(self, dialogues):
        for turns in chain(*dialogues.values()):
            assert len(turns) in {4, 6, 8, 10}
            assert all(turns)

    @pytest.mark.parametrize("intent", ["and_you", "why", "really", "more", "another", "yes", "no"])
    def test_follow_ups_are_answered_in_context(self, dialogues, intents, intent):
        follow_ups = {letters(text) for text in phrasings(intents[intent], TRAIN)}
        answers = {
            turns[i + 1]
            for turns in dialogues[TRAIN]
            for i in range(2, len(turns), 2)
            if letters(turns[i]) in follow_ups
        }
        assert len(answers) >= 2
        assert answers.isdisjoint(intents[intent].answers)

    def test_the_bot_remembers_names(self, dialogues, intents):
        questions = {letters(text) for text in phrasings(intents["ask_my_name"], TRAIN)}
        names = {
            row["name"]
            for table in read_slots(KOREAN.text_dir / "slots.txt")
            for row in table
            if "name" in row
        }
        recalled = 0
        for turns in dialogues[TRAIN]:
            told = {name for name in names if name in " ".join(turns[:-1:2])}
            if told and letters(turns[-2]) in questions:
                assert any(name in turns[-1] for name in told)
                recalled += 1
        assert recalled >= 10


class TestParticles:
    @pytest.mark.parametrize(
        ("text", "chosen"),
        [
            ("피자을/를 먹고 밥을/를 남겨요", "피자를 먹고 밥을 남겨요"),
            ("민수이야/야, 지영이야/야", "민수야, 지영이야"),
            ("파리이에요/예요. 서울이에요/예요.", "파리예요. 서울이에요."),
            ("서울으로/로, 부산으로/로, 제주으로/로", "서울로, 부산으로, 제주로"),
            ("커피과/와 빵과/와 물", "커피와 빵과 물"),
            ("'크다'은/는", "'크다'는"),
            ("1/2 and/or 가/나", "1/2 and/or 가/나"),
        ],
    )
    def test_form(self, text, chosen):
        assert choose_particles(text) == chosen

    def test_digits_are_taken_as_they_are_read(self):
        readings = "영일이삼사오육칠팔구"
        assert [final_consonant(str(digit)) for digit in range(10)] == [
            final_consonant(syllable) for syllable in readings
        ]

    def test_every_form_is_chosen_after_both_kinds_of_words(self):
        for after_consonant, after_vowel in FORMS.items():
            particle = f"{after_consonant}/{after_vowel}"
            assert choose_particles(f"밥{particle} 차{particle}") == (
                f"밥{after_consonant} 차{after_vowel}"
            )

    def test_slots_and_choices(self):
        (template,) = expand("{food}(을/를) 좋아해요")
        assert fill(template, {"food": "김밥"}) == "김밥을 좋아해요."
        assert fill(template, {"food": "피자"}) == "피자를 좋아해요."


class TestStyle:
    def test_joined(self):
        texts = {joined("지금 뭐 해요?", random.Random(seed)) for seed in range(20)}
        assert texts == {"지금뭐해요", "지금뭐 해요", "지금 뭐해요"}

    def test_lively_questions_stay_questions(self):
        rng = random.Random(0)
        assert all("?" in lively("뭐 해?", rng) for _ in range(20))

    def test_one_word_is_misspelt(self):
        assert misspelt("뭐 좋아해?", random.Random(0)) in {"머 좋아해", "모 좋아해", "뭐 조아해"}
        assert misspelt("네!", random.Random(0)) == "네"

    def test_laughing_gets_no_full_stop(self):
        assert expand("ㅋㅋㅋ") == ["ㅋㅋㅋ"]
