"""`nmt plot` and `--attention` of `nmt translate` and `nmt chat` as processes."""

import base64
import json
import re

import numpy as np
import pytest

from nmt_cli.report.attention import KINDS
from nmt_cli.text.special_tokens import EOS_ID

SENTENCE = "big dog sees cat"


def page_data(path) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', path.read_text())
    return json.loads(found[1])


def test_the_pages_weights_are_the_engines(run_nmt, toy_bundle, translate_toy_line, tmp_path):
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.search.tensorflow_engine import load_engine
    from nmt_cli.text.vocabulary import Vocabularies

    arguments = ["plot", "attention", SENTENCE, "-m", str(toy_bundle), "-o", "a.html"]
    done = run_nmt(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (done.stdout, done.stderr) == ("", "the picture is in a.html\n")
    words = Vocabularies.load(toy_bundle)
    source = [*words.source.encode(SENTENCE), EOS_ID]
    target = [*words.target.encode(translate_toy_line(SENTENCE)), EOS_ID]
    expected = load_engine(open_bundle(toy_bundle)).attention_by_kind(source, target)
    for kind, stored in zip(KINDS, page_data(tmp_path / "a.html")["kinds"], strict=True):
        words_level, tokens = stored["levels"]
        weights = np.frombuffer(base64.b64decode(tokens["weights"]), "<f4")
        # Another process with other threads may add up in another order.
        np.testing.assert_allclose(weights, expected[kind].ravel(), atol=1e-6)
        assert words_level["columns"][-1] != tokens["columns"][0]

    forced = run_nmt(*arguments[:3], translate_toy_line(SENTENCE), *arguments[3:], cwd=tmp_path)
    assert forced.returncode == 0, forced.stderr
    data = page_data(tmp_path / "a.html")
    assert data["kinds"][0]["levels"][0]["rows"] == [*translate_toy_line(SENTENCE).split(), "</s>"]


def classifier_arrays(bundle, text: str) -> np.ndarray:
    """Return the native scorer's attention for the ids that `nmt classify` reads."""
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.search.loading import EngineOptions, load_labeller
    from nmt_cli.search.tensorflow_engine import TensorFlowScorer, load_model

    opened = open_bundle(bundle)
    (ids,) = load_labeller(opened, EngineOptions()).encode([tuple(text.split("\t"))])
    return TensorFlowScorer(load_model(opened)).attention_by_kind(ids)["encoder"]


@pytest.mark.parametrize(
    ("fixture", "command", "text", "words"),
    [
        ("label_bundle", ["plot", "attention", "-o"], "the dog was sad", "the dog was sad </s>"),
        ("label_bundle", ["classify", "--attention"], "the dog was sad", "the dog was sad </s>"),
        ("pair_bundle", ["plot", "attention", "-o"], "big dog\tcat", "<s> big dog </s> cat </s>"),
        ("pair_bundle", ["classify", "--attention"], "big dog\tcat", "<s> big dog </s> cat </s>"),
    ],
)
def test_a_classifiers_weights_are_the_scorers(
    run_nmt, request, tmp_path, fixture, command, text, words
):
    bundle = request.getfixturevalue(fixture)
    arguments = [*command, "a.html", "-m", str(bundle)]
    done = run_nmt(*arguments, text, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (kind,) = page_data(tmp_path / "a.html")["kinds"]
    by_word, tokens = kind["levels"]
    assert by_word["rows"] == by_word["columns"] == words.split()
    expected = classifier_arrays(bundle, text)
    weights = np.frombuffer(base64.b64decode(tokens["weights"]), "<f4").reshape(expected.shape)
    np.testing.assert_allclose(weights, expected, atol=1e-6)
    np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-6)
    label = run_nmt("classify", text, "-m", str(bundle), cwd=tmp_path).stdout.strip()
    assert f"<h1>{text.replace(chr(9), ' / ')} → {label}</h1>" in (tmp_path / "a.html").read_text()
    if command[0] == "plot":
        two = [part for part in text.split("\t") if part]
        again = run_nmt(*arguments[:-3], "b.html", *arguments[-2:], *two, cwd=tmp_path)
        assert again.returncode == 0, again.stderr
        assert (tmp_path / "a.html").read_text() == (tmp_path / "b.html").read_text()


@pytest.mark.parametrize(
    ("fixture", "arguments", "code", "said"),
    [
        ("label_bundle", ["plot", "attention", " "], 2, "the text is blank"),
        ("label_bundle", ["plot", "attention", "a", "b"], 2, "this model reads one text, not two"),
        ("label_bundle", ["plot", "attention", "a", "--kind", "cross"], 2, "must be encoder"),
        ("label_bundle", ["plot", "attention", "a", "--layer", "2"], 2, "from 1 to 1"),
        ("pair_bundle", ["plot", "attention", "a"], 3, "with a tab between them"),
        ("label_bundle", ["classify", "a", "b", "--attention", "a.png"], 2, "draws one text"),
        ("label_bundle", ["classify", "a", "--attention", "a.pdf"], 2, "must end in .png"),
    ],
)
def test_what_a_classifier_cannot_draw_is_said(
    run_nmt, request, tmp_path, fixture, arguments, code, said
):
    bundle = request.getfixturevalue(fixture)
    done = run_nmt(*arguments, "-m", str(bundle), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr


def test_a_classifier_has_positions_and_a_diagram(run_nmt, label_bundle, pair_bundle, tmp_path):
    sinusoids = run_nmt("plot", "positions", "-m", str(label_bundle), cwd=tmp_path).stdout
    assert "\nsinusoidal, from -1 to 1\n" in sinusoids
    learned = run_nmt("plot", "positions", "-m", str(pair_bundle), cwd=tmp_path).stdout
    assert "\nlearned, encoder, from" in learned
    assert "decoder" not in learned
    drawn = run_nmt("plot", "model", "-m", str(pair_bundle), cwd=tmp_path).stdout
    parts = ["embedding", "self-attention", "feed-forward", "pooling", "head and softmax"]
    assert [part for part in parts if part in drawn] == parts
    assert "the position of <s>" in drawn


def test_labels_have_no_length(run_nmt, label_corpus, tmp_path):
    options = ["--set", f"data.dir={label_corpus}"]
    config = str(label_corpus / "labels.yaml")
    done = run_nmt("plot", "lengths", config, *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "target" not in done.stdout
    assert "\ntext\nmean 4.0, median 4" in done.stdout


def test_translate_draws_what_it_translated(run_nmt, toy_bundle, translate_toy_line, tmp_path):
    done = run_nmt(
        "translate", SENTENCE, "-m", str(toy_bundle), "--attention", "a.svg", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == translate_toy_line(SENTENCE) + "\n"
    svg = (tmp_path / "a.svg").read_text()
    for word in (*SENTENCE.split(), *translate_toy_line(SENTENCE).split()):
        assert f">{word}</text>" in svg


def test_a_chat_models_attention_has_the_speaker(run_nmt, toy_chat, tmp_path):
    done = run_nmt("plot", "attention", "hi", "hello", "-m", str(toy_chat), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()
    assert rows[0].startswith("Cross-attention, layer 1 of 1, mean of 2 heads")
    assert [row.split()[0] for row in rows[-2:]] == ["hello", "</s>"]


def test_chat_draws_its_last_reply(run_nmt, toy_chat, tmp_path):
    command = ["chat", "-m", str(toy_chat), "--beam", "2", "--attention", "a.html"]
    done = run_nmt(*command, cwd=tmp_path, input="hi\nhow are you\n")
    assert done.returncode == 0, done.stderr
    first, reply = done.stdout.splitlines()
    cross, *_ = page_data(tmp_path / "a.html")["kinds"]
    words, _ = cross["levels"]
    assert words["rows"] == [*reply.split(), "</s>"]
    said = ["how", "are", "you", *first.split(), "hi"]  # the newest turn first
    assert [word for word in words["columns"] if word in said] == said
    (tmp_path / "a.html").unlink()
    done = run_nmt(*command, cwd=tmp_path, input="hi\n/reset\n")
    assert (done.returncode, (tmp_path / "a.html").exists()) == (0, False)
    assert "warning: there is no reply whose attention could be drawn" in done.stderr
    done = run_nmt(*command[:-1], "a.pdf", cwd=tmp_path, input="hi\n")
    assert (done.returncode, done.stdout) == (2, "")


@pytest.mark.parametrize(
    "what",
    [
        ["curves", "{run}"],
        ["model", "-m", "{run}"],
        ["positions", "-m", "{run}"],
        ["positions", "--d-model", "16"],
        ["schedule", "{run}"],
        ["lengths", "{corpus}", "--split", "dev"],
        ["lengths", "{run}", "--unit", "pieces", "--data-dir", "{dir}"],
    ],
    ids=" ".join,
)
def test_without_a_file_the_terminal_gets_text_and_tensorflow_stays_out(
    run_nmt, toy_bundle, toy_corpus, what
):
    run = toy_bundle.parent
    names = {"run": run, "corpus": toy_corpus / "toy.yaml", "dir": toy_corpus}
    arguments = [part.format(**names) for part in what]
    done = run_nmt("plot", *arguments, cwd=run.parent.parent)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) > 5
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["schedule", "-o", "a.gif"], 2, "a.gif: a picture's name must end in .png, .svg or .html"),
        (["curves"], 4, "no run below runs/"),
        (["curves", "nowhere"], 4, "nowhere: no run with an events.jsonl."),
        (["positions", "--d-model", "7"], 2, "need an even number"),
        (["positions", "--d-model", "8", "--length", "0"], 2, "--length must be from 1"),
        (["positions", "--d-model=8", "--length=99999999"], 2, "must be from 1 to 10,000 (it"),
        (["positions", "--d-model", "99999998"], 2, "--d-model must be from 2 to 10,000 (it"),
        (["lengths", "--unit", "word"], 2, "Did you mean 'words'?"),
        (["lengths", "--unit", "pieces"], 4, "runs/quickstart: there is no vocabulary"),
        (["attention", " "], 4, "no model below runs/"),
        (["model", "-m", "nowhere"], 4, "nowhere: no such folder"),
    ],
)
def test_what_cannot_be_drawn_is_said_in_one_line(run_nmt, tmp_path, arguments, code, said):
    done = run_nmt("plot", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (code, "")
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert said in line


def test_a_run_without_a_step_has_no_curves_yet(run_nmt, tmp_path):
    (tmp_path / "events.jsonl").write_text('{"event": "Started", "step": 0}\n')
    done = run_nmt("plot", "curves", str(tmp_path), cwd=tmp_path)
    assert done.returncode == 3
    assert "no steps are logged yet" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plot", "attention", " "], "the source is blank"),
        (["plot", "attention", "dog", "--kind", "crss"], "Did you mean 'cross'?"),
        (["plot", "attention", "dog", "--layer", "2"], "--layer must be from 1 to 1"),
        (["plot", "attention", "dog " * 50], "tokens; the model reads 24"),
        (["translate", "a", "b", "--attention", "a.png"], "--attention draws one text"),
        (["translate", "a", "--attention", "a.pdf"], "must end in .png, .svg or .html"),
    ],
)
def test_attention_needs_one_sentence(run_nmt, toy_bundle, tmp_path, arguments, said):
    done = run_nmt(*arguments, "-m", str(toy_bundle), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr
