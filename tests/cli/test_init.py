"""init as a process: folders that nobody prepared, presets, tasks, the schema for editors."""

import json
import re
import shlex

import pytest
import yaml

from nmt_cli.config.reading import load_config

GERMAN = [f"Der alte Mann liest heute {n} Bücher im Garten." for n in range(200)]
ENGLISH = [f"The old man reads {n} books in the garden today." for n in range(200)]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "books").mkdir()
    (tmp_path / "books" / "de.txt").write_text("\n".join(GERMAN) + "\n")
    (tmp_path / "books" / "en.txt").write_text("\n".join(ENGLISH) + "\n")
    return tmp_path / "books"


def test_two_files_become_a_configuration_that_trains(run_nmt, folder):
    done = run_nmt("init", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert "translation: de -> en" in done.stderr
    assert "test: 10 rows taken out of train" in done.stderr
    assert done.stderr.splitlines()[-1] == "next: nmt check nmt.yaml"
    config = load_config(str(folder / "nmt.yaml")).config
    assert config.name == "books"
    assert (config.data.source_lang, config.data.target_lang) == ("de", "en")
    assert config.data.dev[0].rows == config.data.test[0].rows == 10
    done = run_nmt("train", "nmt.yaml", "--dry-run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "train: 180 pairs" in done.stderr
    assert "test: 10 pairs" in done.stderr


def test_the_other_way_round_is_the_command_that_it_prints(run_nmt, folder):
    done = run_nmt("init", "my.yaml", "--data-dir", "books", cwd=folder.parent)
    (line,) = [
        line for line in done.stderr.splitlines() if line.startswith("for the other direction: ")
    ]
    command = shlex.split(line.removeprefix("for the other direction: nmt "))
    assert run_nmt(*command, cwd=folder.parent).returncode == 0
    values = yaml.safe_load((folder.parent / "my.yaml").read_text())
    assert (values["data"]["source_lang"], values["data"]["target_lang"]) == ("en", "de")
    assert values["data"]["train"] == [{"source": "en.txt", "target": "de.txt"}]
    assert values["data"]["dir"] == "books"


def test_every_key_has_its_type_unit_range_and_default(run_nmt, folder):
    assert run_nmt("init", cwd=folder).returncode == 0
    text = (folder / "nmt.yaml").read_text()
    (line,) = [line for line in text.splitlines() if "warmup_steps:" in line]
    assert line.endswith("(int or auto, optimizer steps, >= 1, default 1000)")


@pytest.mark.parametrize("preset", ["small-transformer", "chat-ko", "auto"])
def test_a_preset_brings_the_sizes_of_a_bundled_configuration(run_nmt, folder, preset):
    done = run_nmt("init", "my.yaml", "--preset", preset, cwd=folder)
    assert done.returncode == 0, done.stderr
    loaded = load_config(str(folder / "my.yaml"))
    assert bool(loaded.auto) is (preset == "auto")
    if preset != "auto":
        bundled = load_config(preset).config
        assert loaded.config.model == bundled.model
        assert loaded.config.train == bundled.train
        assert loaded.config.tokenizer == bundled.tokenizer


def test_a_preset_of_another_task_brings_nothing_but_sizes(run_nmt, folder):
    done = run_nmt("init", "--preset", "chat", cwd=folder)
    assert done.returncode == 0
    assert "warning: chat is for chat, this is translation: only its sizes" in done.stderr
    assert "say --task chat" in done.stderr
    config = load_config(str(folder / "nmt.yaml")).config
    chat = load_config("chat").config.model
    assert config.model == chat.model_copy(update={"turn_embeddings": False})
    assert not config.decode.sample
    done = run_nmt("init", "--preset", "quickstart", "--task", "chat", "--yes", cwd=folder)
    assert done.returncode == 0
    config = load_config(str(folder / "nmt.yaml")).config
    assert config.decode.sample
    assert config.model.turn_embeddings


def test_a_preset_of_the_same_task_is_taken_whole(run_nmt, folder):
    """One without history has no use for turn embeddings."""
    for preset in ("chat", "chat-ko"):
        done = run_nmt("init", "--preset", preset, "--task", "chat", "--yes", cwd=folder)
        assert done.returncode == 0
        config, bundled = (load_config(str(p)).config for p in (folder / "nmt.yaml", preset))
        assert (config.model, config.chat) == (bundled.model, bundled.chat)


def test_the_fast_recipe_gives_every_size_with_its_reason(run_nmt, folder):
    done = run_nmt("init", "my.yaml", "--recipe", "fast", cwd=folder)
    assert done.returncode == 0, done.stderr
    then = "nmt train my.yaml --time 5m"
    assert done.stderr.splitlines()[-1].startswith(f"then: {then}   # ")
    text = (folder / "my.yaml").read_text()
    assert f"#   nmt check my.yaml\n#   {then}   # " in text
    lines = text.splitlines()
    above = lines[next(n for n, line in enumerate(lines) if line.startswith("  d_model:")) - 1]
    assert above.startswith("  # d_model: 180 pairs on a ")
    assert "# Sources: Sennrich & Zhang 2019, arXiv 1905.11901" in lines
    assert not load_config(str(folder / "my.yaml")).auto


@pytest.mark.parametrize("name", ["my $(touch x).yaml", "a\nb.yaml", "e\x1bc.yaml"])
def test_a_name_of_a_file_stays_within_its_command_and_its_comment(run_nmt, folder, name):
    done = run_nmt("init", name, "--yes", cwd=folder)
    assert done.returncode == 0, done.stderr
    second = (folder / name).read_text().splitlines()[1]
    shown = re.sub(r"[\n\x1b]", "\ufffd", name)
    check = f"# Check the text with nmt check '{shown}'"
    assert second == f"{check}, then train with nmt train '{shown}'"
    load_config(str(folder / name))


def test_the_best_recipe_is_a_chain_with_its_time(run_nmt, folder):
    done = run_nmt("init", "my.yaml", "--recipe", "best", cwd=folder)
    assert done.returncode == 0, done.stderr
    check, augment, train = done.stderr.splitlines()[-3:]
    assert check == "next: nmt check my.yaml"
    assert augment.startswith("then: nmt augment my.yaml --copies 2   # about ")
    assert augment.endswith("(Nguyen et al. 2020, arXiv 1911.01986)")
    assert train.startswith("then: nmt train my-augmented.yaml   # up to ")
    text = (folder / "my.yaml").read_text()
    assert all(f"#   {line.removeprefix('then: ')}\n" in text for line in (augment, train))
    assert load_config(str(folder / "my.yaml")).auto
    done = run_nmt("augment", "my.yaml", "--copies", "2", "--dry-run", cwd=folder)
    assert done.returncode == 0, done.stderr


def test_the_fast_recipe_is_for_every_task(run_nmt, folder):
    done = run_nmt("init", "--task", "chat", "--recipe", "fast", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert not load_config(str(folder / "nmt.yaml")).auto


def test_noise_is_a_switch(run_nmt, folder):
    done = run_nmt("init", "--noise", cwd=folder)
    assert done.returncode == 0, done.stderr
    noise = load_config(str(folder / "nmt.yaml")).config.data.noise
    assert noise.keys() == {"lower_case", "final_punctuation", "typos"}
    assert sum(noise.values()) < 0.5


def test_the_task_can_be_said(run_nmt, folder):
    assert run_nmt("init", "--task", "chat", cwd=folder).returncode == 0
    config = load_config(str(folder / "nmt.yaml")).config
    assert config.task == "chat"
    assert config.decode.sample


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["--task", "transation"], 2, "Did you mean 'translation'?"),
        (["--task", "chat", "--reverse"], 2, "--reverse is for translation"),
        (["--preset", "quickstrat"], 2, "Did you mean 'quickstart'?"),
        (["--recipe", "bst"], 2, "--recipe bst: not one of best, fast. Did you mean 'best'?"),
        (
            ["--recipe", "best", "--task", "chat"],
            2,
            "--recipe best is for translation; this is chat",
        ),
        (["--recipe", "best", "--preset", "auto"], 2, "cannot be combined with --preset"),
        (["--data", "nowhere"], 3, "--data-dir nowhere: no such folder"),
        (["--dev", "de.txt", "en.txt"], 2, "--dev and --test need --train"),
        (["--train", "de.txt", "fr.txt"], 3, "fr.txt: no such file"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_written(run_nmt, folder, arguments, code, told):
    done = run_nmt("init", *arguments, cwd=folder)
    assert done.returncode == code
    assert told in done.stderr
    assert not (folder / "nmt.yaml").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("\n".join(ENGLISH[:-3]).encode(), "de.txt has 200 lines, en.txt has 197"),
        (
            "\n".join(ENGLISH).encode().replace(b"7 books", b"7 b\xfccher", 1),
            "en.txt:8: not valid UTF-8",
        ),
    ],
)
def test_what_only_a_check_can_tell_is_a_warning(run_nmt, folder, content, told):
    (folder / "en.txt").write_bytes(content)
    done = run_nmt("init", cwd=folder)
    assert done.returncode == 0, done.stderr
    (warning,) = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    assert told in warning
    assert done.stderr.splitlines()[-1] == "next: nmt check nmt.yaml"
    done = run_nmt("check", "nmt.yaml", "--json", cwd=folder)
    findings = json.loads(done.stdout)["findings"]
    assert {"line-counts", "encoding"} & {finding["check"] for finding in findings}


def test_labelled_text_becomes_a_classifier_that_trains(run_nmt, tmp_path):
    rows = [f'"{line} ({n})",{("bad", "fine")[n % 2]}' for n, line in enumerate(ENGLISH)]
    (tmp_path / "reviews.csv").write_text("\n".join(["text,label", *rows]) + "\n")
    done = run_nmt("init", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "classification: 2 labels (bad, fine) of text in en" in done.stderr
    done = run_nmt("train", "nmt.yaml", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "train: 180 " in done.stderr


def test_lists_of_labels_are_several_and_joined_ones_are_asked_about(run_nmt, tmp_path):
    names = ("culture", "money", "sport")
    labels = [[names[n % 3], names[(n + 1) % 3]][: 1 + n % 2] for n in range(len(ENGLISH))]
    pairs = [
        (f"{line} ({n})", of) for n, (line, of) in enumerate(zip(ENGLISH, labels, strict=True))
    ]
    (tmp_path / "a.jsonl").write_text(
        "".join(json.dumps({"text": text, "label": of}) + "\n" for text, of in pairs)
    )
    done = run_nmt("init", cwd=tmp_path)
    assert "a text may have several (classification.multi_label)" in done.stderr
    assert "classification: 3 labels (culture, money, sport)" in done.stderr
    done = run_nmt("train", "nmt.yaml", "--dry-run", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "multi_label: true" in (tmp_path / "nmt.yaml").read_text()
    (tmp_path / "a.jsonl").unlink()
    rows = "".join(f'"{text}","{"; ".join(of)}"\n' for text, of in pairs)
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}")
    done = run_nmt("init", "--yes", cwd=tmp_path)
    assert "is taken for one label; if it is several, set" in done.stderr


def test_labels_as_the_source_would_leave_nothing_to_test_on(run_nmt, folder):
    (folder / "labels.txt").write_text("good\nbad\n" * 100)
    names = ["--train", "labels.txt", "en.txt", "--task", "translation"]
    done = run_nmt("init", *names, cwd=folder)
    assert done.returncode == 3
    assert "rows with one source stay together, and 100 have" in done.stderr
    assert not (folder / "nmt.yaml").exists()


def test_two_files_of_one_language_are_a_guess_that_is_told(run_nmt, tmp_path):
    (tmp_path / "neg.txt").write_text("\n".join(ENGLISH))
    (tmp_path / "pos.txt").write_text("\n".join(reversed(ENGLISH)))
    done = run_nmt("init", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "warning: neg.txt and pos.txt: taken as questions" in done.stderr
    assert "if their names are labels" in done.stderr
    done = run_nmt("init", "--task", "chat", "--yes", cwd=tmp_path)
    assert "warning" not in done.stderr


def test_two_pairs_are_too_few(run_nmt, folder):
    (folder / "en.txt").write_text("one\ntwo\n")
    (folder / "de.txt").write_text("eins\nzwei\n")
    done = run_nmt("init", cwd=folder)
    assert done.returncode == 3
    assert "only 2 pairs" in done.stderr


def test_the_schema_is_for_editors(run_nmt, tmp_path):
    done = run_nmt("init", "--json-schema", cwd=tmp_path)
    assert done.returncode == 0
    assert list(tmp_path.iterdir()) == []
    schema = json.loads(done.stdout)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert {"name", "data"} <= set(schema["required"])


def test_one_table_after_train(run_nmt, tmp_path):
    rows = [f"word {n} is here\tWort {n} ist hier" for n in range(300)]
    (tmp_path / "in").mkdir()
    for name in ("pairs", "held"):
        (tmp_path / "in" / f"{name}.tsv").write_text("en\tde\n" + "\n".join(rows) + "\n")
    (tmp_path / "in/other.txt").write_text("x\n")
    done = run_nmt("init", "c/my.yaml", "--train", "in/pairs.tsv", "--task", "translation",
                   cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "other.txt" not in done.stderr
    text = (tmp_path / "c/my.yaml").read_text()
    assert 'train: [{file: "../in/pairs.tsv", columns: ["en", "de"]}]' in text
    done = run_nmt("init", "b.yaml", "--train", "in/pairs.tsv", "--dev", "in/held.tsv",
                   cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (
        'dev: [{file: "in/held.tsv", columns: ["en", "de"]}]' in (tmp_path / "b.yaml").read_text()
    )
    for arguments, told in (
        (["--train", "in/pairs.tsv", "--dev", "a", "b"], "--dev a b: give one table"),
        (["--train", "in/pairs.tsv", "in/held.tsv", "--dev", "a"], "--dev a: give two files"),
        (["--train", "none.tsv"], "none.tsv: no such file"),
    ):
        done = run_nmt("init", "c.yaml", *arguments, cwd=tmp_path)
        assert done.returncode in (2, 3)
        assert told in done.stderr
