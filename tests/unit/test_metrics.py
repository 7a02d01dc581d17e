"""Tests of nmt_cli/metrics.py against sacreBLEU's own corpus functions."""

import pytest
import sacrebleu

from nmt_cli.metrics import Score, corpus_scores

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
