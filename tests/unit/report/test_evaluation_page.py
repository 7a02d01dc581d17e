"""The page of an evaluation, beside what sacreBLEU itself says of the same text."""

import re
from dataclasses import asdict

import numpy as np
import sacrebleu
from html_page import Page

from nmt_cli.evaluation.comparison import Corpus, Evaluation, Result
from nmt_cli.evaluation.label_judging import Judged, LabelComparison, corpus_of
from nmt_cli.evaluation.scores import diversity
from nmt_cli.report.evaluation_page import evaluation_page
from nmt_cli.report.picture import SERIES
from nmt_cli.search.labeller import label_flags
from nmt_cli.text.corpus import Example
from nmt_cli.text.labels import Labels

SIZE = 45
REFERENCES = [f"The cat number {i} sat <b>down</b> &amp; slept{' well' * i}" for i in range(SIZE)]
SOURCES = [f"Katze {i}{' gut' * i}" for i in range(SIZE)]
GOOD = [r if i % 3 else r.replace("cat", "dog") for i, r in enumerate(REFERENCES)]
BAD = [r.replace("sat", "ran away") if i != 7 else "nothing" for i, r in enumerate(REFERENCES)]


def page_of(*results: Result, sources=SOURCES) -> Page:
    return Page(evaluation_page(Evaluation(results, Corpus(sources, REFERENCES, "en"))))


def test_one_system_with_its_scores_and_segments():
    page = page_of(Result("bad", BAD, settings={"file": "bad.txt"}))
    parts = ["Scores", "By length", "Samples", "Worst segments", "Best segments", "Settings"]
    assert page.of("section", "h2") == page.of("nav", "a") == parts
    assert set(page.links) <= page.ids
    bleu = sacrebleu.corpus_bleu(BAD, [REFERENCES])
    assert page.of("section", "td")[:2] == ["bleu", f"{bleu.score:.2f}"]
    headings = page.of("section", "h3")
    chrf = sacrebleu.sentence_chrf("nothing", [REFERENCES[7]], word_order=2).score
    assert headings.count(f"Line 8: chrF++ {chrf:.1f}") >= 1
    assert len([h for h in headings if h.startswith("Line ")]) == 60  # samples, worst, best
    told = page.of("section", "dd")
    at = told.index("nothing")
    assert told[at - 2 : at] == [SOURCES[7], REFERENCES[7]]
    assert told[-1] == "bad.txt"


def test_the_words_for_replies_are_explained():
    facts = {**asdict(diversity(GOOD)), "latency_ms": 3.0}
    told = page_of(Result("chat", GOOD, facts)).of("section", "dt")
    assert {"distinct 1", "most frequent share", "loop share", "latency ms"} <= set(told)


def test_the_chart_is_bleu_by_length():
    page = page_of(Result("bad", BAD))
    short = [i for i, s in enumerate(SOURCES) if len(s.split()) <= 5]
    bleu = sacrebleu.corpus_bleu([BAD[i] for i in short], [[REFERENCES[i] for i in short]])
    assert page.of("figcaption") == ["BLEU by words of the source"]
    (drawing,) = [a for name, a in page.elements if name == "svg"]
    assert f"bad 1-5 {bleu.score:.3g}, " in drawing["aria-label"]
    corners = [
        [float(y) for y in re.findall(r"[ML] [\d.]+ ([\d.]+)", a["d"] or "")]
        for name, a in page.elements
        if name == "path" and f"fill: {SERIES[0]}" in (a.get("style") or "")
    ]
    bars = [max(ys) - min(ys) for ys in corners]
    rows = page.of("section", "tbody", "td")
    bleus = [float(text) for text in rows[rows.index("1 to 5") + 2 :: 3]]
    assert len(bars) == len(bleus) == 6
    assert round(max(bars)) == 170  # from the axis to the top
    for bar, value in zip(bars, bleus, strict=True):
        assert abs(bar / max(bars) - value / max(bleus)) < 0.01
    assert page_of(Result("bad", BAD), sources=None).of("figcaption") == [
        "BLEU by words of the reference"
    ]


def test_of_several_directions_there_is_no_chart():
    ways = [("de", "en"), ("en", "de")] * SIZE
    corpus = Corpus(SOURCES, REFERENCES, "", ways[:SIZE])
    page = Page(evaluation_page(Evaluation([Result("bad", BAD)], corpus)))
    assert page.of("nav", "a")[:2] == ["Scores", "Samples"]


def test_two_systems_have_p_values_and_stand_side_by_side():
    results = [Result("good", GOOD), Result("bad", BAD), Result("copy", GOOD)]
    page = page_of(*results)
    name, first, second, third = page.of("section", "td")[:4]
    assert name == "bleu"
    assert first == f"{sacrebleu.corpus_bleu(GOOD, [REFERENCES]).score:.2f}"
    assert " (p = 0." in second
    assert third == f"{first} (the same)"
    assert "bs:1000|seed:12345" in page.of("section", "dd")
    assert page.of("ul", "li")[-3:] == ["good", "bad", "copy"]
    assert page.of("section", "dt")[-5:] == ["source", "reference", "good", "bad", "copy"]
    assert page.of("body", "p")[:2] == ["compared with bad", "compared with copy"]


def test_what_misleads_is_told_first():
    lower = [output.lower() for output in GOOD]
    page = Page(evaluation_page(Evaluation([Result("x", lower)], Corpus(None, REFERENCES, "en"))))
    assert page.of("section", "h2")[0] == "Warnings"
    assert "lower case" in page.of("section", "p")[0]


def test_facts_of_a_model_come_before_scores_with_one_reference():
    facts = {"perplexity": 12.5, "most_frequent": "<hi>", "loop_share": 0.25}
    page = page_of(Result("chat", GOOD, facts))
    assert page.of("section", "td")[:6] == [
        "perplexity", "12.50", "most frequent", "<hi>", "loop share", "25.0%",
    ]  # fmt: skip
    assert page.of("section", "p")[0].startswith("A good reply can differ")


# --- classifiers ----------------------------------------------------------------------------------

LABELS = Labels(("bad", "<good>"), None)
TEXTS = [(f"text {i}", "two") for i in range(8)]
GIVEN = ["bad", "bad", "<good>", "<good>", "bad", "bad", "bad", "<good>"]
RIGHT = ["bad", "bad", "<good>", "bad", "bad", "bad", "<good>", "<good>"]


def label_page(*others: Result, labels=LABELS) -> Page:
    probabilities = np.full((8, 2), 0.3, np.float32)
    probabilities[[3, 6], 0] = 0.25, 0.9  # the surest mistake is the last
    first = Judged(
        [Example(texts, label) for texts, label in zip(TEXTS, RIGHT, strict=True)],
        labels,
        probabilities,
        label_flags(RIGHT, labels),
        label_flags(GIVEN, labels),
    )
    results = [Result("mine", first.outputs(), settings={"model": "m"}), *others]
    return Page(evaluation_page(LabelComparison(results, corpus_of(first), first)))


def test_a_classifiers_page_has_its_confusion_and_mistakes():
    page = label_page()
    wanted = ["Scores", "Labels", "Confusion", "Surest mistakes", "Settings"]
    assert page.of("section", "h2") == wanted
    assert page.of("section", "td")[:4] == ["accuracy", "75.00", "macro f1", "73.33"]
    assert page.of("section", "tr", "td")[4:9] == ["bad", "5", "80.00", "80.00", "80.00"]
    assert [h for h in page.of("h3") if h.startswith("Example")] == [
        "Example 7: probability 0.90", "Example 4: probability 0.30",
    ]  # fmt: skip
    assert page.of("dl", "dd")[-7:-4] == ["text 6 / two", "<good>", "bad"]
    assert page.of("details", "td") == ["bad", "4", "1", "<good>", "1", "2"]
    assert {"4", "1", "2"} <= set(page.of("svg", "text"))


def test_classifiers_beside_each_other_have_p_values_and_differences():
    page = label_page(Result("right", RIGHT), Result("copy", GIVEN))
    name, mine, right, copy = page.of("section", "td")[:4]
    assert (name, mine, copy) == ("accuracy", "75.00", "75.00 (the same)")
    assert right.startswith("100.00 (p = 0.")
    assert "samples of the examples" in page.of("section", "p")[0]
    heads = page.of("section", "th")
    assert [head for head in heads if head.startswith("f1")] == ["f1", "f1 of right", "f1 of copy"]
    shown = page.of("h3")
    assert [h for h in shown if h in ("mine", "right", "copy")][:3] == ["mine", "right", "copy"]
    assert [h for h in shown if h in ("Example 4", "Example 7")] == ["Example 4", "Example 7"]
    assert page.of("dl", "dt")[-6:-1] == ["source", "reference", "mine", "right", "copy"]


def test_several_labels_have_no_confusion():
    page = label_page(labels=Labels(LABELS.names, ";"))
    assert page.of("section", "h2") == ["Scores", "Labels", "Surest mistakes", "Settings"]
    assert "micro f1" in page.of("section", "td")
