"""Tests of nmt_cli/evaluation/scores.py against sacreBLEU's own corpus functions."""

import json
import random
import subprocess
import sys

import pytest
import sacrebleu

from nmt_cli.evaluation.scores import (
    ALL,
    Score,
    bootstrap_signature,
    corpus_scores,
    p_values,
    scores_by_length,
    segment_scores,
)

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


def test_all_scores_equal_those_of_sacrebleu():
    hypotheses, references = GERMAN
    scores = corpus_scores(hypotheses, references, "de", ALL)
    assert list(scores) == ["bleu", "chrf", "chrf++", "ter"]
    chrf = sacrebleu.corpus_chrf(hypotheses, [references], word_order=2)
    assert scores["chrf++"].score == chrf.score
    assert scores["ter"].score == sacrebleu.corpus_ter(hypotheses, [references]).score
    assert "nw:2" in scores["chrf++"].signature


def test_the_sacrebleu_command_gives_the_same_digits(tmp_path):
    hypotheses, references = GERMAN
    (tmp_path / "hyp").write_text("\n".join(hypotheses) + "\n", encoding="utf-8")
    (tmp_path / "ref").write_text("\n".join(references) + "\n", encoding="utf-8")
    command = ["ref", "-i", "hyp", "-m", "bleu", "chrf", "ter", "--chrf-word-order", "2", "-w", "9"]
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *command],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    scores = corpus_scores(hypotheses, references, "de", ("bleu", "chrf++", "ter"))
    for record, score in zip(json.loads(done.stdout), scores.values(), strict=True):
        assert record["score"] == round(score.score, 9)
        assert record["signature"] == score.signature


def test_p_values_are_those_of_the_sacrebleu_command(tmp_path):
    rng = random.Random(1)
    words = [f"w{i}" for i in range(30)]
    references = [" ".join(rng.choices(words, k=12)) for _ in range(60)]

    def worse(share: float) -> list[str]:
        return [
            " ".join(w if rng.random() > share else "x" for w in line.split())
            for line in references
        ]

    systems = [worse(0.2), worse(0.2), worse(0.4)]
    for name, lines in zip(("ref", "a", "b", "c"), (references, *systems), strict=True):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    command = ["ref", "-i", "a", "b", "c", "-m", "bleu", "--paired-bs"]
    done = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *command],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    )  # fmt: skip
    expected = [record["BLEU"]["p_value"] for record in json.loads(done.stdout)[1:]]
    found = p_values(systems[0], systems[1:], references, "", ("bleu",))
    assert [values["bleu"] for values in found] == pytest.approx(expected, abs=1e-12)
    assert found[0]["bleu"] > 0.05 > found[1]["bleu"]
    assert p_values(systems[0], systems[:1], references, "", ("bleu",)) == [{"bleu": 1.0}]
    text = subprocess.run(
        [sys.executable, "-m", "sacrebleu", *command, "-f", "text"],
        cwd=tmp_path, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert bootstrap_signature() in text


def test_tokenised_text_is_not_told_by_sacrebleu_itself(caplog):
    lines = ["a dog , a cat ."] * 200
    corpus_scores(lines, lines, "de")
    assert not caplog.records


def test_scores_by_length_are_those_of_the_segments_of_that_length():
    sources = ["a b", "a b c d e f", "a b c d e", " ".join("a" * 60), ""]
    hypotheses = ["one two three four", "five", "six seven eight nine ten", "x y z u v", ""]
    references = ["one two three four", "four", "six seven eight nine one", "x y z u w", ""]
    short, longer, longest = scores_by_length(sources, hypotheses, references, "")
    assert (short.shortest, short.longest, short.segments) == (1, 5, 2)
    picked = ([hypotheses[0], hypotheses[2]], [references[0], references[2]])
    assert short.bleu == corpus_scores(*picked, "")["bleu"].score
    assert (longer.shortest, longer.longest, longer.segments) == (6, 10, 1)
    assert (longest.shortest, longest.longest, longest.segments) == (51, None, 1)


def test_segment_scores_are_chrf_of_each():
    hypotheses, references = GERMAN
    expected = [
        sacrebleu.sentence_chrf(hypothesis, [reference], word_order=2).score
        for hypothesis, reference in zip(hypotheses, references, strict=True)
    ]
    assert segment_scores(hypotheses, references) == expected
