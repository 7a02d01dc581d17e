"""Tests of nmt_cli/metrics.py against sacreBLEU's own corpus functions."""

import pytest
import sacrebleu

from nmt_cli.metrics import Score, corpus_scores, diversity, has_loop

GERMAN = (
    ["Der Hund schläft im Garten.", "Ein Mann, der liest, sitzt dort!", "Sie geht nach Hause."],
    ["Der Hund schläft im Garten.", "Ein Mann, der las, saß dort!", "Sie ging schnell nach Hause."],
)
KOREAN = (
    ["저는 학교에 갑니다.", "오늘 날씨가 좋네요"],
    ["나는 학교에 갑니다.", "오늘은 날씨가 좋아요"],
)
CHINESE = (["我今天去学校上课。", "他们在公园里散步。"], ["我今天去学校学习。", "他在公园散步。"])


@pytest.mark.parametrize(
    ("language", "tokenizer", "texts"),
    [
        ("de", "13a", GERMAN),
        ("", "13a", GERMAN),
        ("xx", "13a", GERMAN),
        ("ko", "char", KOREAN),
        ("ko-KR", "char", KOREAN),
        ("KO", "char", KOREAN),
        ("zh", "zh", CHINESE),
        ("zh_CN", "zh", CHINESE),
        ("zh-Hans", "zh", CHINESE),
        ("ja", "char", CHINESE),
        ("th", "char", CHINESE),
    ],
)
def test_equal_those_of_sacrebleu(language, tokenizer, texts):
    hypotheses, references = texts
    scores = corpus_scores(hypotheses, references, language)
    bleu = sacrebleu.corpus_bleu(hypotheses, [references], tokenize=tokenizer)
    chrf = sacrebleu.corpus_chrf(hypotheses, [references])
    assert set(scores) == {"bleu", "chrf"}
    assert scores["bleu"].score == bleu.score
    assert scores["chrf"].score == chrf.score
    assert 0 < bleu.score < 100  # or the comparison says nothing
    assert f"|tok:{tokenizer}|" in scores["bleu"].signature


def test_the_tokenizer_matters_for_korean_and_chinese():
    for language, (hypotheses, references) in (("ko", KOREAN), ("zh", CHINESE)):
        split = corpus_scores(hypotheses, references, language)["bleu"].score
        unsplit = corpus_scores(hypotheses, references, "en")["bleu"].score
        assert split > 1.4 * unsplit


def test_the_signatures_say_every_setting():
    scores = corpus_scores(*GERMAN, "de")
    version = f"version:{sacrebleu.__version__}"
    assert scores["bleu"].signature == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|{version}"
    assert scores["chrf"].signature == f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|{version}"


def test_equal_texts_score_100_and_case_counts():
    lines = ["Der Hund schläft im Garten."]
    assert corpus_scores(lines, lines, "de")["bleu"].score == pytest.approx(100)
    assert corpus_scores(lines, lines, "de")["chrf"].score == pytest.approx(100)
    assert corpus_scores([lines[0].lower()], lines, "de")["bleu"].score < 90


def test_takes_any_sequence_and_leaves_it_alone():
    hypotheses, references = map(tuple, GERMAN)
    assert corpus_scores(hypotheses, references, "de") == corpus_scores(*GERMAN, "de")


def test_a_score_as_json():
    assert Score(12.5, "nrefs:1").as_json() == {"score": 12.5, "signature": "nrefs:1"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no no no no", True),
        ("no no no", False),
        ("x the dog the dog the dog the dog", True),
        ("the dog the dog the dog the cat", False),
        ("it a b c a b c a b c a b c d", True),
        ("a b c d a b c d a b c d a b c d", True),
        ("a b c d e " * 6, False),  # five words: a refrain
        ("", False),
        ("ha ha and ha ha and", False),
    ],
)
def test_a_loop_is_a_few_words_four_times_in_a_row(text, expected):
    assert has_loop(text) == expected
    assert has_loop(f"before {text} after") == expected


def test_diversity_of_outputs_counted_by_hand():
    found = diversity(["I do not know", "I do not know", "no no no no", "Yes"])
    assert found.distinct_1 == 6 / 13  # i do not know no yes
    assert found.distinct_2 == 4 / 13  # i-do do-not not-know no-no
    assert found.mean_words == 13 / 4
    assert (found.most_frequent, found.most_frequent_share) == ("I do not know", 0.5)
    assert found.loop_share == 0.25


def test_outputs_without_a_word_are_not_varied():
    found = diversity(["", " "])
    assert (found.distinct_1, found.distinct_2, found.mean_words) == (0, 0, 0)
