"""init, tokenize, train, evaluate and info as processes."""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time

import pytest
import yaml
from html_page import Page

from nmt_cli.config.schema import NOISES

SMALL = ["--set", "tokenizer.vocab_size=300", "--set", "model.d_model=8", "--set", "model.d_ff=8",
         "--set", "model.num_heads=2", "--set", "model.encoder_layers=1", "--set",
         "model.decoder_layers=1", "--set", "train.tokens_per_batch=64"]  # fmt: skip


@pytest.fixture
def texts(tmp_path):
    lines = "".join(f"a b c {i}\n" for i in range(40))
    for name in ("train.en", "train.de"):
        (tmp_path / name).write_text(lines)
    return tmp_path


def test_init_writes_every_key_and_prints_the_command_that_then_works(run_nmt, texts):
    done = run_nmt("init", "conf/my.yaml", "--train", "train.en", "train.de", "--yes", cwd=texts)
    assert done.returncode == 0, done.stderr
    text = (texts / "conf/my.yaml").read_text()
    assert "# " in text
    values = yaml.safe_load(text)
    assert values["name"] == "my"
    assert values["data"]["train"] == [{"source": "../train.en", "target": "../train.de"}]
    assert (values["data"]["source_lang"], values["data"]["target_lang"]) == ("en", "de")
    assert values["data"]["dev"] == values["data"]["test"] == [{"rows": 2}]
    assert values["tokenizer"]["vocab_size"] == values["model"] == values["train"] == "auto"
    assert done.stderr.splitlines()[-1] == "next: nmt check conf/my.yaml"
    assert run_nmt("train", "conf/my.yaml", "--dry-run", *SMALL, cwd=texts).returncode == 0


def test_a_model_is_fine_tuned_with_what_init_wrote(run_nmt, texts, toy_bundle):
    assert run_nmt("init", "my.yaml", "--train", "train.en", "train.de", cwd=texts).returncode == 0
    done = run_nmt("train", "my.yaml", "--from", str(toy_bundle), "--dry-run", cwd=texts)
    assert done.returncode == 0, done.stderr
    assert f"tokens (of {toy_bundle})" in done.stderr
    assert "that has learned already" in done.stderr
    assert done.stderr.splitlines()[-1].endswith(f"nmt train my.yaml --from {toy_bundle}")
    done = run_nmt("train", "my.yaml", "--from", "elsewhere", cwd=texts)
    assert done.returncode == 4
    assert "elsewhere: no such folder" in done.stderr


def test_init_does_not_replace_a_file_unasked(run_nmt, texts):
    (texts / "my.yaml").write_text("precious")
    done = run_nmt("init", "my.yaml", "--train", "train.en", "train.de", cwd=texts)
    assert done.returncode == 2
    assert (texts / "my.yaml").read_text() == "precious"


def test_tokenize_trains_once_and_shows_tokens(run_nmt, texts):
    assert run_nmt("init", "my.yaml", "--train", "train.en", "train.de", cwd=texts).returncode == 0
    show = ["tokenize", "my.yaml", *SMALL[:2], "--show", "a b </s>"]
    first, second = (run_nmt(*show, cwd=texts) for _ in range(2))
    assert "(trained)" in first.stderr
    assert "(reused)" in second.stderr
    tokens, ids = first.stdout.splitlines()
    assert len(tokens.split()) == len(ids.split())
    assert "</s>" not in tokens.split()
    record = json.loads(run_nmt(*show, "--json", cwd=texts).stdout)
    assert record["pieces"] == tokens.split()


def test_dry_run_trains_nothing(run_nmt, tmp_path):
    done = run_nmt("train", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "parameters" in done.stderr
    assert not (tmp_path / "runs").exists()


def test_dry_run_tells_every_choice_that_auto_makes(run_nmt, texts):
    assert run_nmt("init", "my.yaml", "--train", "train.en", "train.de", cwd=texts).returncode == 0
    done = run_nmt("train", "my.yaml", "--dry-run", "--set", "model.d_model=8", cwd=texts)
    assert done.returncode == 0, done.stderr
    choices = [line for line in done.stderr.splitlines() if line.startswith("auto: ")]
    keys = [line.split()[1] for line in choices]
    expected = {"tokenizer.vocab_size", "model.d_ff", "train.max_steps", "train.precision"}
    assert expected <= set(keys)
    assert "model.d_model" not in keys
    assert all(line.endswith(")") and " = " in line for line in choices)
    assert not (texts / "runs").exists()


def test_a_time_limit_chooses_the_size_and_one_too_short_is_told_before_it_begins(run_nmt, texts):
    for name in ("train.en", "train.de"):
        lines = (f"{n % 97} {n % 89} {n % 83} {n % 79} {n}\n" for n in range(20_000))
        (texts / name).write_text("".join(lines))
    assert run_nmt("init", "my.yaml", "--train", "train.en", "train.de", cwd=texts).returncode == 0
    told = {}
    for limit in ("20s", "3m", "10h"):
        done = run_nmt("train", "my.yaml", "--dry-run", "--time", limit, cwd=texts)
        assert done.returncode == 0, done.stderr
        told[limit] = done.stderr
    layers = [told[limit].split("model.encoder_layers = ")[1][0] for limit in ("20s", "10h")]
    assert layers[0] < layers[1]
    assert "warning: --time 20s is too short to learn from " in told["20s"]
    assert told["20s"].endswith("\neverything but the time is fine\n")
    assert "is too short" not in told["3m"]
    assert "--time 3m is enough for about " in told["3m"]
    assert told["10h"].count("the run is expected to end after about ") == 1
    without = run_nmt("train", "my.yaml", "--dry-run", cwd=texts).stderr
    assert re.search(r"[0-9,]+ steps take about [0-9]+[smh] here", without)


@pytest.fixture
def pairs(tmp_path) -> list[str]:
    """Options that name a source and a reference of two lines."""
    (tmp_path / "s").write_text("a b c\nb c\n")
    (tmp_path / "r").write_text("a b c\nb c\n")
    return ["--input", "s", "--reference", "r"]


def test_evaluate_prints_scores_with_signatures(run_nmt, toy_bundle, pairs, tmp_path):
    command = ["evaluate", "-m", str(toy_bundle), *pairs, "--beam", "2"]
    done = run_nmt(*command, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    bleu, chrf, chrf_words, ter, blank, heading, *_ = done.stdout.splitlines()
    assert bleu.startswith("bleu ")
    assert "tok:13a" in bleu
    names = [line.split()[0] for line in (chrf, chrf_words, ter)]
    assert names == ["chrf", "chrf++", "ter"]
    assert blank == ""
    assert heading.split() == ["words", "of", "the", "source", "segments", "bleu"]
    record = json.loads(run_nmt(*command, "--json", cwd=tmp_path).stdout)
    assert record["segments"] == 2
    assert bleu.split()[1] == f"{record['bleu']['score']:.2f}"
    assert [length["segments"] for length in record["by_length"]] == [2]
    assert {segment["line"] for segment in record["worst"]} == {1, 2}
    assert record["worst"] == record["best"][::-1]


def test_a_table_has_source_and_reference(run_nmt, toy_bundle, tmp_path):
    (tmp_path / "it's.tsv").write_text("de\tid\ten\nrot hund\t1\tred dog\nrot\t2\tred\n")
    (tmp_path / "en").write_text("red dog\nred\n")
    (tmp_path / "de").write_text("rot hund\nrot\n")
    for command in (["evaluate", "--json"], ["score"]):
        found = [
            run_nmt(*command, "-m", str(toy_bundle), *files, cwd=tmp_path)
            for files in (
                ["-i", "en", "--reference", "de"],
                ["-i", "it's.tsv", "--column", "en,de"],
                ["-i", "it's.tsv", "--column", "en"],
                ["-i", "it's.tsv", "--column", "en,de", "--reference", "de"],
                ["-i", "en", "--column", "en,de"],
            )
        ]
        assert [done.returncode for done in found] == [0, 0, 2, 2, 2], found[1].stderr
        assert found[0].stdout == found[1].stdout
        assert "as in --column en,de" in found[2].stderr
        assert "leave --reference out" in found[3].stderr
        assert "needs --input with a .tsv or .csv" in found[4].stderr


def test_evaluate_scores_each_noise(run_nmt, toy_bundle, toy_corpus, tmp_path):
    """The words of the toy corpus have no upper case, and capitals are read in lower case."""
    files = ["-i", str(toy_corpus / "test.en"), "--reference", str(toy_corpus / "test.de")]
    done = run_nmt("evaluate", "-m", str(toy_bundle), *files, "--noise", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    clean, *noisy = record["systems"]
    scores = {system["name"]: system["bleu"]["score"] for system in noisy}
    for sample in record["samples"]:
        own = dict(zip([None, *scores], sample["own"], strict=True))
        assert own[None] == {}
        assert own["capitals"] == {"source": sample["source"].upper()}
        merged = own["merged"].get("reference", sample["reference"])  # the last has no next one
        assert merged.startswith(sample["reference"])
    assert [*scores] == [*NOISES]
    same = [scores[kind] for kind in ("lower_case", "capitals", "split")]
    assert same == [clean["bleu"]["score"]] * 3
    assert scores["typos"] < same[0]
    compared = {system["name"] for system in noisy if system["p_values"]}
    assert "lower_case" in compared
    assert "merged" not in compared


def test_evaluate_scores_a_file_of_outputs(run_nmt, pairs, tmp_path):
    (tmp_path / "h").write_text("a b c\nb b\n")
    record = json.loads(
        run_nmt("evaluate", *pairs, "--hypotheses", "h", "--json", cwd=tmp_path).stdout
    )
    assert [segment["line"] for segment in record["best"]] == [1, 2]
    assert record["best"][0]["chrf++"] == 100
    (tmp_path / "r.949").write_bytes("나 너\nb\n".encode("cp949"))
    of_pipe = ("evaluate", "--hypotheses", "-", "--reference", "r.949", "--encoding", "cp949")
    done = subprocess.run(
        [sys.executable, "-m", "nmt_cli", *of_pipe, "--json"],
        input=(tmp_path / "r.949").read_bytes(), capture_output=True, cwd=tmp_path, check=False,
    )  # fmt: skip
    assert json.loads(done.stdout)["chrf"]["score"] == 100, done.stderr
    done = run_nmt(
        "evaluate", "--reference", "r", "--hypotheses", "h", "--compare", "r", cwd=tmp_path
    )
    heading, *rows = done.stdout.splitlines()
    assert heading.split() == ["h", "r"]
    assert "(p = " in rows[0]
    assert "p: paired bootstrap, bs:1000|seed:12345" in rows


def test_evaluate_writes_a_page_of_what_it_prints(run_nmt, toy_bundle, pairs, tmp_path):
    command = ["evaluate", "-m", str(toy_bundle), *pairs]
    others = ["--compare", "beam_size=1,max_length=2", "--json", "--report", "pages/e.html"]
    done = run_nmt(*command, *others, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[-1] == "the report is in pages/e.html"
    first, cut = json.loads(done.stdout)["systems"]
    page = Page((tmp_path / "pages/e.html").read_text())
    assert page.of("h1") == [f"Evaluation of {toy_bundle}"]
    cells = page.of("section", "td")
    assert cells[:3] == [
        "bleu",
        f"{first['bleu']['score']:.2f}",
        f"{cut['bleu']['score']:.2f} (p = {cut['p_values']['bleu']:.3f})",
    ]
    told = page.of("section", "dd")
    assert first["ter"]["signature"] in told
    assert any(text.startswith("beam_size 1, ") and "max_length 2" in text for text in told)
    done = run_nmt(*command, "--report", "e.pdf", cwd=tmp_path)
    assert done.returncode == 2
    assert "--report e.pdf: the name must end in .html" in done.stderr
    (tmp_path / "file").write_text("")
    done = run_nmt(*command, "--report", "file/e.html", cwd=tmp_path)
    assert done.returncode == 3
    assert "file/e.html: cannot be written" in done.stderr


def test_evaluate_writes_a_page_for_a_chat_model(run_nmt, toy_chat, tmp_path):
    (tmp_path / "s").write_text("hello\nbye\n")
    command = ["evaluate", "-m", str(toy_chat), "--input", "s", "--reference", "s"]
    done = run_nmt(*command, "--json", "--report", "e.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = Page((tmp_path / "e.html").read_text())
    record = json.loads(done.stdout)
    cells = page.of("section", "td")
    assert cells[:2] == ["perplexity", f"{record['perplexity']:.2f}"]
    assert {"distinct 1", "most frequent", "loop share", "latency ms", "bleu"} <= set(cells)
    replies = {segment["output"] for segment in record["worst"]}
    assert replies <= set(page.of("section", "dd"))
    assert any(text.startswith("history_turns 3") for text in page.of("section", "dd"))


def test_evaluate_checks_that_files_fit(run_nmt, pairs, tmp_path):
    (tmp_path / "h").write_text("a b c\n")
    done = run_nmt("evaluate", *pairs, "--hypotheses", "h", cwd=tmp_path)
    assert done.returncode == 3
    assert "h has 1 line, the reference has 2" in done.stderr
    assert run_nmt("evaluate", "--hypotheses", "h", cwd=tmp_path).returncode == 2
    for to in ("--to", "--target-lang"):
        done = run_nmt("evaluate", *pairs, "--hypotheses", "r", to, "ko", "--json", cwd=tmp_path)
        assert "|tok:char|" in json.loads(done.stdout)["bleu"]["signature"]
        assert ("--target-lang is called --to now" in done.stderr) == (to != "--to")
    idle = ("--beam", "3", "--set", "top_k=3")
    done = run_nmt("evaluate", *pairs, "--hypotheses", "h", *idle, cwd=tmp_path)
    assert (done.returncode, "--beam, --set: no effect" in done.stderr) == (2, True)
    done = run_nmt("evaluate", *pairs, "--hypotheses", "h", "--split", "dev", cwd=tmp_path)
    assert done.returncode == 2
    assert "--split dev selects text of a model" in done.stderr


def test_blank_lines_of_files_keep_their_places(run_nmt, toy_bundle, tmp_path):
    (tmp_path / "s").write_text("red dog\n\nold cat\n")
    (tmp_path / "r").write_text("rot hund\n\nalt vogel\n")
    files = ("--input", "s", "--reference", "r", "--compare", "r", "--json")
    done = run_nmt("evaluate", "-m", str(toy_bundle), *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert record["segments"] == 3
    assert [sample["outputs"][1] for sample in record["samples"]] == ["rot hund", "", "alt vogel"]
    assert record["samples"][1]["outputs"][0] == ""
    for of in (("-m", str(toy_bundle)), ("--hypotheses", "r")):
        done = run_nmt("evaluate", *of, *files[:4], "--json", cwd=tmp_path)
        lines = [segment["line"] for segment in json.loads(done.stdout)["worst"]]
        assert sorted(lines) == [1, 3]  # in a blank line there is nothing to do badly


def test_a_chat_has_no_reply_to_a_blank_line(run_nmt, toy_chat, tmp_path):
    records = []
    for blank in ("", "\n"):
        (tmp_path / "s").write_text(f"hello\n{blank}bye\n")
        command = ["evaluate", "-m", str(toy_chat), "--input", "s", "--reference", "s"]
        greedy = ("--set", "sample=false", "--compare", "sample=false", "--json")
        done = run_nmt(*command, *greedy, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        records.append(json.loads(done.stdout))
    without, with_blank = records
    assert (without["segments"], with_blank["segments"]) == (2, 3)
    assert with_blank["samples"][1]["outputs"] == ["", ""]
    for fact in ("perplexity", "distinct_1", "mean_words", "most_frequent_share"):
        assert with_blank["systems"][0][fact] == without["systems"][0][fact]


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("", "x: has no lines"),
        ("\n \n", "x: no pair of lines has text on both sides"),
        ("a\tb\n", "x.tsv: has no rows"),
    ],
)
def test_files_with_nothing_to_score_are_told(run_nmt, toy_bundle, tmp_path, content, told):
    is_table = "\t" in content
    (tmp_path / ("x.tsv" if is_table else "x")).write_text(content)
    files = ("-i", "x.tsv", "--column", "a,b") if is_table else ("-i", "x", "--reference", "x")
    done = run_nmt("evaluate", "-m", str(toy_bundle), *files, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, f"error: {told}\n")
    if not content:
        files = ("--hypotheses", "x", "--reference", "x")
        done = run_nmt("evaluate", *files, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (3, f"error: {told}\n")


def test_files_of_outputs_are_in_the_encoding_that_is_given(run_nmt, toy_bundle, tmp_path):
    (tmp_path / "s").write_text("red dog\n")
    (tmp_path / "r").write_bytes("schöner Hund\n".encode("cp1252"))
    (tmp_path / "o").write_text("schöner Hund\n")  # as nmt writes it
    files = ("-i", "s", "--reference", "r", "--compare", "o", "--encoding", "cp1252", "--json")
    for of in (("-m", str(toy_bundle)), ("--hypotheses", "r")):
        done = run_nmt("evaluate", *of, *files, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (sample,) = json.loads(done.stdout)["samples"]
        assert sample["outputs"][1] == sample["reference"] == "schöner Hund"


def test_a_compared_setting_takes_the_place_of_a_flag(run_nmt, toy_bundle, pairs, tmp_path):
    command = ["evaluate", "-m", str(toy_bundle), *pairs, "--beam", "3", "--max-length", "9"]
    others = ["--compare", "beam_size=1,max_length=2", "--compare", "top_k=4", "--json"]
    done = run_nmt(*command, *others, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    outputs = [sample["outputs"] for sample in json.loads(done.stdout)["samples"]]
    assert max(len(whole.split()) for whole, *_ in outputs) > 2
    assert max(len(cut.split()) for _, cut, *_ in outputs) <= 2


def test_evaluate_puts_settings_side_by_side(run_nmt, toy_bundle, pairs, tmp_path):
    command = ["evaluate", "-m", str(toy_bundle), *pairs]
    others = ["--compare", "beam_size=1,max_length=2", "--compare", str(toy_bundle)]
    done = run_nmt(*command, *others, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    heading, bleu, *rest = done.stdout.splitlines()
    assert heading.split() == [str(toy_bundle), "beam_size=1,max_length=2", str(toy_bundle)]
    assert bleu.startswith("bleu ")
    assert bleu.count("(p = ") == 1
    assert bleu.endswith("(the same)")
    assert ["source", "a b c"] in [line.split(maxsplit=1) for line in rest]
    record = json.loads(run_nmt(*command, *others, "--json", cwd=tmp_path).stdout)
    first, cut, same = record["systems"]
    assert first["chrf"] == same["chrf"] != cut["chrf"]
    assert first["p_values"] is None
    assert set(cut["p_values"]) == {"bleu", "chrf", "chrf++", "ter"}
    assert [sample["source"] for sample in record["samples"]] == ["a b c", "b c"]
    assert all(len(sample["outputs"][1].split()) <= 2 for sample in record["samples"])


def test_evaluate_says_of_a_chat_model_what_bleu_does_not(run_nmt, toy_chat, tmp_path):
    (tmp_path / "s").write_text("hello\nbye\n")
    (tmp_path / "r").write_text("hello\nbye\n")
    command = ["evaluate", "-m", str(toy_chat), "--input", "s", "--reference", "r", "--json"]
    record = json.loads(run_nmt(*command, cwd=tmp_path).stdout)
    assert record["perplexity"] >= 1
    assert 0 <= record["distinct_1"] <= 1
    assert record["most_frequent_share"] in (0.5, 1)
    assert record["loop_share"] <= 1
    assert record["latency_ms"] > 0
    greedy = json.loads(run_nmt(*command, "--set", "sample=false", cwd=tmp_path).stdout)
    assert greedy["perplexity"] == record["perplexity"]
    (tmp_path / "r").write_text(2 * ("hello " * 1000 + "\n"))  # more than the model can hold
    assert "perplexity" not in json.loads(run_nmt(*command, cwd=tmp_path).stdout)
    (tmp_path / "r").write_text("hello\nbye\n")
    both = run_nmt(*command, "--beam", "2", "--set", "top_k=3", cwd=tmp_path)
    assert (both.returncode, both.stdout) == (2, "")
    assert "beam_size 2 cannot be combined with sampling" in both.stderr
    others = ("--set", "top_k=3", "--compare", "beam_size=2", "--compare", "temperature=0.5")
    done = run_nmt(*command, *others, cwd=tmp_path)
    assert len(json.loads(done.stdout)["systems"]) == 3, done.stderr


def test_evaluate_compares_only_models_of_one_task(run_nmt, toy_bundle, toy_chat, tmp_path):
    (tmp_path / "s").write_text("a\n")
    command = ["evaluate", "-m", str(toy_bundle), "--input", "s", "--reference", "s"]
    done = run_nmt(*command, "--compare", str(toy_chat), cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    assert "chat" in done.stderr
    done = run_nmt(*command, "--compare", "beem=1", cwd=tmp_path)
    assert done.returncode == 2
    several = run_nmt(*command, "--compare", "n_best=2", cwd=tmp_path)
    assert (several.returncode, "n_best: no effect" in several.stderr) == (2, True)
    message = "--compare beem=1: beem: unknown option. Did you mean 'beam_size'?"
    assert message in done.stderr


def test_info_tells_what_the_model_is(run_nmt, toy_bundle, tmp_path):
    text = run_nmt("info", str(toy_bundle), cwd=tmp_path).stdout
    assert "translation" in text
    assert "parameters" in text
    assert " lines/s (used)" in text
    assert re.search(r"^dev loss +\d\.\d{3} nats per token$", text, re.M)
    assert re.search(r"^dev bleu .*\(greedy\) ", text, re.M)
    assert re.search(r"^float32 .*dev bleu [\d.]+ \(beam \d\)", text, re.M)
    assert re.search(r"^licence +not stated", text, re.M)
    record = json.loads(run_nmt("info", str(toy_bundle), "--json", cwd=tmp_path).stdout)
    assert record["task"] == "translation"
    assert record["parameters"] == sum(record["parts"].values())
    assert {"encoder", "decoder"} <= record["parts"].keys()
    assert record["scores"]["dev"]["bleu"]["signature"]
    assert "verified" in run_nmt("info", str(toy_bundle), "--verify", cwd=tmp_path).stdout


def test_a_signal_before_the_first_step_ends_at_once(run_nmt, texts):
    assert run_nmt("init", "my.yaml", "--train", "train.en", "train.de", cwd=texts).returncode == 0
    command = ["train", "my.yaml", *SMALL, "--set", "train.max_steps=1"]
    with subprocess.Popen(
        [sys.executable, "-m", "nmt_cli", *command], cwd=texts, stderr=subprocess.PIPE, text=True
    ) as process:
        lines = iter(process.stderr.readline, "")
        assert any(line.startswith("vocabulary: ") for line in lines)
        process.send_signal(signal.SIGTERM)
        assert list(lines)[-1].startswith("stopped at once")
    assert process.returncode == 143
    assert not (texts / "runs/my/checkpoints").exists()
    assert run_nmt(*command, cwd=texts).returncode == 0


def test_info_of_a_chat_model_has_its_loss_and_size(run_nmt, toy_chat, tmp_path):
    text = run_nmt("info", str(toy_chat), cwd=tmp_path).stdout
    assert re.search(r"^dev loss +\d\.\d{3} nats per token$", text, re.M)
    size = sum(f.stat().st_size for f in (toy_chat / "ctranslate2" / "float32").iterdir())
    assert f"\nfloat32       {size / 1e6:.1f} MB (used)\n" in text


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_saves_and_the_same_command_goes_on(run_nmt, texts, number, code):
    assert run_nmt("init", "my.yaml", "--train", "train.en", "train.de", cwd=texts).returncode == 0
    command = ["train", "my.yaml", *SMALL, "--set", "train.max_steps=100000"]
    with subprocess.Popen(
        [sys.executable, "-m", "nmt_cli", *command],
        cwd=texts, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        events = texts / "runs/my/events.jsonl"
        deadline = time.monotonic() + 120
        while not (events.exists() and "StepDone" in events.read_text()):
            assert time.monotonic() < deadline
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.2)
        for more in ([], ["--fresh"]):
            second = run_nmt(*command, *more, cwd=texts)
            assert second.returncode == 2
            assert f"error: runs/my: process {process.pid} on " in second.stderr
        process.send_signal(number)
        output, problems = process.communicate(timeout=60)
    assert process.returncode == code
    assert output == ""
    assert "saved at step" in problems
    done = run_nmt("train", "my.yaml", *SMALL, "--set", "train.max_steps=1", cwd=texts)
    assert done.returncode == 0
    assert "resuming from step" in done.stderr


def test_a_closed_terminal_saves(run_nmt, texts):
    assert run_nmt("init", "my.yaml", "--train", "train.en", "train.de", cwd=texts).returncode == 0
    events, deadline = texts / "runs/my/events.jsonl", time.monotonic() + 120
    ours, theirs = os.openpty()
    script = (
        "import fcntl, os, signal, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL);"  # not so below nohup
        "os.execv(sys.executable, [sys.executable, '-m', 'nmt_cli', *sys.argv[1:]])"
    )
    command = ["train", "my.yaml", *SMALL, "--set", "train.max_steps=100000"]
    process = subprocess.Popen(
        [sys.executable, "-c", script, *command],
        cwd=texts, stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)
    while not (events.exists() and "StepDone" in events.read_text()):
        assert time.monotonic() < deadline
        if select.select([ours], [], [], 0.2)[0]:  # the terminal must not fill up
            os.read(ours, 65536)
    os.close(ours)
    assert process.wait(timeout=60) == 129
    assert json.loads(events.read_text().splitlines()[-1])["reason"] == "stopped"
    saved = max((texts / "runs/my/checkpoints").glob("step-*"))
    assert (saved / "state.json").is_file()


@pytest.mark.parametrize(
    ("command", "usage"),
    [
        ("init", "[FILE]"),
        ("train", "[CONFIG]"),
        ("translate", "[TEXT]..."),
        ("augment", "[CONFIG]"),
        ("evaluate", ""),
        ("import", "SOURCE [DIR]"),
        ("plot attention", "SOURCE [TARGET]"),
    ],
)
def test_help_shows_arguments_as_people_write_them(run_nmt, tmp_path, command, usage):
    text = run_nmt(*command.split(), "--help", cwd=tmp_path).stdout
    assert text.splitlines()[0].rstrip() == f"Usage: nmt {command} [OPTIONS] {usage}".rstrip()
    assert "str>" not in text  # a type of Python


def test_help_and_version_may_be_asked_for_in_several_ways(run_nmt, tmp_path):
    asked = [
        run_nmt(*command, cwd=tmp_path).stdout for command in (["help", "info"], ["info", "-h"])
    ]
    assert asked[0] == asked[1] == run_nmt("--debug", "help", "info", cwd=tmp_path).stdout != ""
    assert run_nmt("-V", cwd=tmp_path).stdout == run_nmt("--version", cwd=tmp_path).stdout
    assert "..." not in run_nmt("--help", cwd=tmp_path).stdout.partition("Commands:")[2]


_COMMANDS = {
    "augment", "bench", "chat", "check", "classify", "data", "evaluate", "export", "help", "import",
    "info", "init", "join", "plot", "score", "serve", "tokenize", "train", "translate",
}  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "proposed"),
    [
        ("nmt tr", {"train", "translate"}),
        ("nmt train quick", {"quickstart"}),
        ("nmt info --model run", {"runs/mine", "runs/번역"}),
        ("nmt train --set model.d_", {"model.d_model=", "model.d_ff="}),
        ("nmt translate --set top", {"top_k=", "top_p="}),
        ("nmt chat --set hist", {"history_turns="}),
        ("nmt chat --set n", {"no_repeat_ngram_size="}),  # and not n_best
        ("nmt init --preset quick", {"quickstart"}),
        ("nmt train --dry", {"--dry-run"}),
        ("nmt help tr", {"train", "translate"}),
        ("nmt help con", {"config"}),
        ("nmt he", {"help"}),
        ("nmt --de", {"--debug"}),
        ("nmt -V ", _COMMANDS),  # and prints no version
        ("nmt --install-completion ", _COMMANDS),  # and installs nothing
        ("nmt evaluate --source x --sp", {"--split"}),
        ("nmt data get multi30k-en", {"multi30k-en-de", "multi30k-en-fr"}),
        ("nmt train --from run", {"runs/mine", "runs/번역"}),
        ("nmt train --from = runs/m", {"runs/mine"}),  # bash takes "=" for a word
        ("nmt train --set seed =", set()),
        ("nmt train --set seed = q", set()),
        ("nmt augment -m runs/m", {"runs/mine"}),
        ("nmt evaluate --compare runs/m", {"runs/mine"}),
        ("nmt evaluate --backward runs/m", {"runs/mine"}),
        ("nmt plot curves runs/m", {"runs/mine"}),
    ],
)
def test_tab_proposes_commands_options_and_values(run_nmt, tmp_path, typed, proposed):
    for name in ("mine", "번역", "x$(touch y)", "a b"):  # the last two are for the shell to quote
        (tmp_path / "runs" / name / "model").mkdir(parents=True)
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    environment = {**os.environ, "_NMT_COMPLETE": "complete_bash", **words}
    done = run_nmt(cwd=tmp_path, env=environment | {"HOME": str(tmp_path)})
    assert (set(done.stdout.split()), done.stderr) == (proposed, "")
    assert [path.name for path in tmp_path.iterdir()] == ["runs"]
    script = run_nmt("--show-completion", "zsh", cwd=tmp_path).stdout
    assert "#compdef nmt" in script


def test_what_a_person_means_is_taken(run_nmt, toy_bundle, toy_chat, tmp_path):
    model = ("-m", str(toy_bundle))
    for text in ("-5 dog", "-5"):
        done = run_nmt("translate", *model, text, cwd=tmp_path)
        assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    done = run_nmt("translate", *model, "--align", "a dog", "-5 dog", "b", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("\n")) == (0, 3), done.stderr
    lines = run_nmt("translate", *model, "--align", input="a dog\n-5 dog\nb\n", cwd=tmp_path)
    assert done.stdout == lines.stdout  # in the same order
    done = run_nmt("score", *model, "-5", "-5", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    drawn = {
        run_nmt(
            "translate", *model, "--set", "top_k=50", "--set", f"seed={n}", "a", cwd=tmp_path
        ).stdout
        for n in range(4)
    }
    assert len(drawn) > 1
    done = run_nmt("chat", "-m", str(toy_chat), "hi", cwd=tmp_path)
    assert (done.returncode, done.stdout.count("\n")) == (0, 1), done.stderr
    done = run_nmt("chat", "-m", str(toy_chat), "red dog " * 1000, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning: the message has" in done.stderr
    commands = ("/set temperature 0", "/save ~nobody-is-called-so/x", "/load a\0b")
    typed = "\n".join([*commands, f"/load {'x' * 300}", "hi", ""])
    done = run_nmt("chat", "-m", str(toy_chat), cwd=tmp_path, input=typed)
    assert done.returncode == 0
    assert done.stderr.count("error: ") == 3
    assert "sample" in done.stderr
    assert done.stdout.strip()
    named = run_nmt("info", "-m", str(toy_bundle / "bundle.json"), cwd=tmp_path)
    assert named.returncode == 0, named.stderr
    assert run_nmt("info", "runs/x", "-m", "/no", cwd=tmp_path).returncode == 2


def test_a_run_remembers_where_its_text_is(run_nmt, texts, tmp_path):
    arguments = ("--train", "train.en", "train.de", "--preset", "quickstart")
    assert run_nmt("init", "my.yaml", *arguments, cwd=texts).returncode == 0
    steps = [f"--set=train.{key}=2" for key in ("max_steps", "eval_steps")]
    done = run_nmt("train", "my.yaml", *SMALL, *steps, cwd=texts)
    assert done.returncode == 0, done.stderr
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    command = ("evaluate", "-m", str(texts / "runs" / "my"), "--beam", "1")
    for name in ("train.en", "train.de"):
        os.utime(texts / name, (1e9, 1e9))
    done = run_nmt(*command, cwd=elsewhere)
    assert (done.returncode, "changed" in done.stderr) == (0, False), done.stderr
    with (texts / "train.en").open("a") as english, (texts / "train.de").open("a") as german:
        english.write("one more\n")
        german.write("eins mehr\n")
    done = run_nmt(*command, cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    assert f"{texts / 'train.en'}: this text has changed since training" in done.stderr
    for name in ("train.en", "train.de"):
        (texts / name).rename(texts / f"moved-{name}")
    done = run_nmt(*command, cwd=elsewhere)
    assert done.returncode == 3
    assert f"--data-dir (now {texts})" in done.stderr
