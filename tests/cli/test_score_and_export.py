"""`nmt score` and `nmt export` as subprocesses."""

import json
import shutil

import pytest


def score(run_nmt, bundle, *arguments, cwd):
    done = run_nmt("score", "-m", str(bundle), *arguments, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_search_and_a_forced_score_agree(run_nmt, toy_bundle, tmp_path):
    """What `translate --json` found has, given back to `score`, the same score and tokens.

    CTranslate2 takes the control tokens out before the softmax when it searches, and leaves them in
    when it scores. Label smoothing gives them some 0.1/330 each in this tiny vocabulary.
    """
    done = run_nmt("translate", "-m", str(toy_bundle), "--json", "a dog", cwd=tmp_path)
    found = json.loads(done.stdout)["hypotheses"][0]
    assert found["tokens"][-1] == "</s>"
    (line,) = score(run_nmt, toy_bundle, "a dog", found["text"], "--json", cwd=tmp_path)
    forced = json.loads(line)
    assert forced["tokens"] == found["tokens"]
    assert forced["score"] == pytest.approx(found["score"], abs=5e-3)
    assert sum(forced["log_probs"]) / len(forced["tokens"]) == pytest.approx(forced["score"])


@pytest.mark.parametrize("engine", ["ctranslate2", "tensorflow"])
def test_files_give_a_line_a_pair(run_nmt, toy_bundle, tmp_path, engine):
    (tmp_path / "s").write_text("a dog\n\nthe cat sees a bird\n")
    (tmp_path / "t").write_text("x\n\n" + "very long " * 60 + "\n")
    files = ("--input", "s", "--reference", "t", "--engine", engine)
    done = run_nmt("score", "-m", str(toy_bundle), *files, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert len([float(line) for line in done.stdout.splitlines()]) == 3
    assert "pair 3 is longer than" in done.stderr


def test_plain_log_probabilities(run_nmt, toy_bundle, tmp_path):
    pair = ("a dog", "a dog")
    (plain,) = score(run_nmt, toy_bundle, *pair, "--length-penalty", "0", cwd=tmp_path)
    (detail,) = score(run_nmt, toy_bundle, *pair, "--json", cwd=tmp_path)
    assert float(plain) == pytest.approx(sum(json.loads(detail)["log_probs"]), abs=1e-3)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ((), 2, "give either a sentence and its translation, or --input and --reference"),
        (("a",), 2, "give one sentence and one translation (not 1 text)"),
        (("a", "b", "--input", "s", "--reference", "t"), 2, "give either"),
        (("--input", "s"), 2, "give either"),
        (("--input", "s", "--reference", "t"), 3, "s has 2 lines, t has 1"),
        (("--input", "t", "--reference", "s"), 3, "t has 1 line, s has 2"),
        (("a", "b", "--engine", "tensorflwo"), 2, "Did you mean 'tensorflow'?"),
        (("a", "b", "--threads", "0"), 2, "--threads must be 1 to 512"),
        (("a", "b", "--threads", "x"), 2, "'x' is not a whole number"),
    ],
)
def test_what_is_wrong_is_told(run_nmt, toy_bundle, tmp_path, arguments, code, message):
    (tmp_path / "s").write_text("a\nb\n")
    (tmp_path / "t").write_text("a\n")
    done = run_nmt("score", "-m", str(toy_bundle), *arguments, cwd=tmp_path)
    assert done.returncode == code
    assert message in done.stderr


def test_export_adds_formats_that_translate_alike(run_nmt, toy_bundle, toy_corpus, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(toy_bundle, model)
    formats = ("--format", "int8", "--format", "int8_float32")
    options = (*formats, "--data-dir", str(toy_corpus), "--json")
    done = run_nmt("export", "-m", str(model), *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    rows = {row["number_format"]: row for row in result["formats"]}
    assert rows.keys() == {"float32", "int8", "int8_float32"}
    assert rows["int8"]["megabytes"] < rows["float32"]["megabytes"]
    assert all(row["bleu"] > 80 and row["lines_per_second"] > 0 for row in rows.values())
    assert rows[result["auto"]]["bleu"] >= rows["float32"]["bleu"] - 0.2
    assert run_nmt("info", str(model), "--verify", cwd=tmp_path).returncode == 0
    texts = {
        run_nmt("translate", "-m", str(model), "--format", name, "red dog", cwd=tmp_path).stdout
        for name in rows
    }
    assert len(texts) == 1


def test_export_without_dev_data_says_so_and_keeps_the_choice(run_nmt, toy_bundle, tmp_path):
    model = tmp_path / "model"
    shutil.copytree(toy_bundle, model)
    done = run_nmt(
        "export", "-m", str(model), "--format", "float16", "--data-dir", "/nowhere", cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert "no development data: " in done.stderr
    formats = [line.split()[0] for line in done.stdout.splitlines()]
    assert formats == ["float32", "int8", "float16"]
    manifest = json.loads((model / "bundle.json").read_text())
    assert "ctranslate2/float16/model.bin" in manifest["files"]
    assert (
        manifest["ctranslate2"]["auto"]
        == json.loads((toy_bundle / "bundle.json").read_text())["ctranslate2"]["auto"]
    )


def test_a_format_that_is_none_or_is_missing(run_nmt, toy_bundle, tmp_path):
    done = run_nmt("export", "-m", str(toy_bundle), "--format", "int9", cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'int8'?" in done.stderr
    used = run_nmt("translate", "-m", str(toy_bundle), "--format", "int9", "a", cwd=tmp_path)
    assert (used.returncode, used.stderr) == (2, done.stderr)
    done = run_nmt("translate", "-m", str(toy_bundle), "--format", "bfloat16", "a", cwd=tmp_path)
    assert done.returncode == 4
    assert "nmt export" in done.stderr
    assert "--format bfloat16" in done.stderr


def test_a_saved_model_is_written_and_scored(run_nmt, toy_bundle, toy_corpus, tmp_path):
    options = ("--saved-model", "serving/1", "--data-dir", str(toy_corpus), "--json")
    for _ in range(2):  # the second one replaces the first
        done = run_nmt("export", "-m", str(toy_bundle), *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        facts = json.loads(done.stdout)
        assert facts["path"] == "serving/1"
        assert facts["megabytes"] > 0.1
        assert 0 <= facts["bleu"] < 100.1
        assert (tmp_path / "serving/1/saved_model.pb").is_file()


def test_a_model_is_written_for_transformers(run_nmt, toy_bundle, tmp_path):
    for _ in range(2):  # the second one replaces the first
        options = ("--huggingface", "hub", "--json")
        done = run_nmt("export", "-m", str(toy_bundle), *options, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "a PegasusForConditionalGeneration for transformers" in done.stderr
        record = json.loads(done.stdout)
        assert (record["path"], record["model"]) == ("hub", "PegasusForConditionalGeneration")
        size = sum(file.stat().st_size for file in (tmp_path / "hub").iterdir())
        assert record["megabytes"] == size / 1e6
    names = {"config.json", "generation_config.json", "model.safetensors", "README.md"}
    names |= {"tokenizer.json", "tokenizer_config.json"}
    assert {file.name for file in (tmp_path / "hub").iterdir()} == names


@pytest.mark.parametrize("target", ["m.zip", "m"])
def test_what_is_shared_has_a_path_and_a_size(run_nmt, toy_bundle, tmp_path, target):
    options = ("--share", target, "--format", "float32", "--json")
    done = run_nmt("export", "-m", str(toy_bundle), *options, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    record = json.loads(done.stdout)
    assert (record["path"], record["number_format"]) == (target, "float32")
    assert f"{target}: {record['megabytes']:.1f} MB, float32" in done.stderr
    assert record["has_weights"] is False
    told = run_nmt("info", "-m", target, cwd=tmp_path)
    assert told.stdout.splitlines()[0].split()[:2] == ["model", target]


def test_no_format_is_added_to_a_shared_file(run_nmt, toy_bundle, toy_corpus, tmp_path):
    """It would be added to the copy in the cache, and the file would be another model here."""

    def export(model, *options):
        return run_nmt("export", "-m", model, *options, cwd=tmp_path)

    assert export(str(toy_bundle), "--share", "m.zip", "--with-weights").returncode == 0
    done = export("m.zip", "--format", "int16")
    assert done.returncode == 2
    assert "m.zip: no format can be added to a shared file" in done.stderr
    assert "nmt export -m m.zip --share FOLDER --with-weights" in " ".join(done.stderr.split())
    told = run_nmt("translate", "a b", "-m", "m.zip", "--format", "int16", cwd=tmp_path)
    assert told.returncode == 4
    hint = " ".join(told.stderr.split())
    assert "nmt export --model m.zip --share FILE --format int16" in hint
    assert export("m.zip", "--share", "FOLDER", "--with-weights").returncode == 0
    done = export("FOLDER", "--format", "int16", "--data-dir", str(toy_corpus))
    assert done.returncode == 0, done.stderr
    assert "FOLDER now uses" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--saved-model", "."), "--saved-model .: exists already and is not a SavedModel"),
        (("--saved-model", "file"), "--saved-model file: exists already"),
        (("--saved-model", "new", "--format", "int8"), "cannot be combined"),
        (("--with-weights",), "--with-weights goes with --share FILE"),
        (("--with-weights", "--app", "new.pyz"), "--with-weights goes with --share FILE"),
        (("--huggingface", "."), "--huggingface .: exists already and is not such a model"),
        (
            ("--huggingface", "new", "--share", "new.zip"),
            "--huggingface and --share cannot be combined",
        ),
    ],
)
def test_a_saved_model_replaces_nothing_else(run_nmt, toy_bundle, tmp_path, arguments, message):
    (tmp_path / "file").write_text("precious")
    done = run_nmt("export", "-m", str(toy_bundle), *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert message in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
