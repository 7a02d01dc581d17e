"""`nmt import`, and every command on what it writes."""

import ctypes
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from fake_hub import COMMIT, fake_hub
from serving import serving

import nmt_cli

PUBLISHED = Path(__file__).parents[1] / "data" / "pretrained"


@pytest.fixture(scope="module")
def folder(run_nmt, tmp_path_factory):
    """A working folder in which a Marian model was imported, and some text."""
    folder = tmp_path_factory.mktemp("import")
    shutil.make_archive(str(folder / "opus-en-de"), "zip", PUBLISHED, "marian")
    done = run_nmt("import", "opus-en-de.zip", cwd=folder)
    assert done.returncode == 0, done.stderr
    for language in ("en", "de"):
        (folder / f"test.{language}").write_text("A red dog.\nTwo cats.\n")
    return folder


def test_it_says_what_it_found_and_what_comes_next(run_nmt, tmp_path):
    done = run_nmt("import", str(PUBLISHED / "marian"), "here", cwd=tmp_path)
    assert done.stdout == ""
    first, licence, size, following = done.stderr.splitlines()
    assert first.startswith("Marian, OPUS-MT: translation en -> de, 2+1 layers, width 16, 18,993")
    assert licence == "licence: not stated; look where the model is from"
    assert size.startswith("here: 1 MB, of which float32")
    assert following == "next: nmt translate -m here 'Hello!'"
    again = run_nmt("import", str(PUBLISHED / "marian"), "here", "--json", cwd=tmp_path)
    found = json.loads(again.stdout)
    assert found.items() >= {"path": "here", "family": "marian", "languages": ["en", "de"]}.items()


def test_the_next_command_of_a_model_of_many_languages_reads_english(run_nmt, tmp_path):
    source = Path(shutil.copytree(PUBLISHED / "m2m_100", tmp_path / "m2m"))
    told = source / "special_tokens_map.json"
    tags = json.loads(told.read_text())["additional_special_tokens"]
    tags.append(tags.pop(tags.index("__en__")))
    told.write_text(json.dumps({"additional_special_tokens": tags}))
    last = tags[-2].strip("_")
    following = run_nmt("import", "m2m", cwd=tmp_path).stderr.splitlines()[-1]
    assert following == f"next: nmt translate --to {last} --from en 'Hello!'"
    done = run_nmt(*shlex.split(following.removeprefix("next: nmt ")), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    unready = run_nmt("translate", "-m", "m2m", "Hello!", cwd=tmp_path)
    assert unready.returncode == 4
    assert "hint: if it is a published model, import it first: nmt import m2m" in unready.stderr


@pytest.mark.parametrize(
    "command",
    [
        ("translate", "A red dog"),
        ("translate", "--engine", "tensorflow", "A red dog"),
        ("score", "A red dog", "Ein Hund"),
        ("evaluate", "-i", "test.en", "--reference", "test.de"),
        ("bench", "-i", "test.en"),
        ("export", "--format", "int8"),
        ("export", "--share", "given.zip"),
        ("info", "--verify"),
        ("plot", "attention", "A red dog"),
        ("plot", "positions"),
        ("plot", "model"),
    ],
    ids=lambda command: " ".join(command[:3]),
)
def test_every_command_uses_it_as_the_newest_model(run_nmt, folder, command):
    done = run_nmt(*command, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout or command[1] == "--share"


@pytest.mark.parametrize("name", ["blenderbot-small", "blenderbot"])
def test_chat_models_hold_a_conversation_and_stream(run_nmt, tmp_path, name):
    imported = run_nmt("import", str(PUBLISHED / name), cwd=tmp_path)
    first, *_, following = imported.stderr.splitlines()
    assert (": chat en, " in first, following) == (True, "next: nmt chat")
    said = run_nmt("chat", "--beam", "1", input="Hi!\nAnd you?\n", cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert len(said.stdout.splitlines()) == 2
    alone = run_nmt("chat", "--beam", "1", input="And you?\n", cwd=tmp_path)
    assert len(alone.stdout.splitlines()) == 1
    with nmt_cli.load(tmp_path / f"runs/{name}") as model:
        talk = model.chat(beam_size=1, stream=True)
        first = "".join(talk.stream("Hi!"))
        source, _ = talk.last_ids()
        "".join(talk.stream("And you?"))
        longer, _ = talk.last_ids()
    assert first == said.stdout.splitlines()[0]
    end = -1 if name == "blenderbot" else None
    assert longer[: len(source[:end])] == source[:end]  # what was said before stands in front


def test_it_is_served(folder):
    with serving("-q", cwd=folder) as (_, url):
        body = {"q": "A red dog", "source": "en", "target": "de"}
        assert httpx.post(f"{url}/translate", json=body).json()["translatedText"]


def test_neither_tensorflow_nor_pytorch_is_loaded(tmp_path):
    code = (
        "import sys, nmt_cli; nmt_cli.import_model(*sys.argv[1:]);"
        "assert not {'tensorflow', 'keras', 'torch', 'transformers'} & {*sys.modules}"
    )
    command = [sys.executable, "-c", code, str(PUBLISHED / "marian"), str(tmp_path / "model")]
    subprocess.run(command, check=True)


def offline(cache: Path, **changes: str) -> dict[str, str]:
    """Return an environment whose hub is what lies in a cache."""
    return {**os.environ, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "1", **changes}


@pytest.fixture
def cache(tmp_path):
    """A cache of the hub that holds the Marian model."""
    repository = tmp_path / "cache" / "hub" / "models--nobody--opus-mt-en-de"
    shutil.copytree(PUBLISHED / "marian", repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    card = "---\nlicense: cc-by-4.0\nlanguage: [en, de]\n---\n"
    (repository / "snapshots" / COMMIT / "README.md").write_text(card)
    return tmp_path / "cache"


def test_a_name_of_the_hub_comes_from_its_cache_with_licence_and_revision(run_nmt, cache, tmp_path):
    arguments = ("import", "nobody/opus-mt-en-de", "--json")
    done = run_nmt(*arguments, cwd=tmp_path, env=offline(cache))
    found = json.loads(done.stdout)
    assert found["path"] == "runs/opus-mt-en-de/model"
    assert found["revision"] == COMMIT
    assert found["licence"] == "cc-by-4.0"
    card = (tmp_path / found["path"] / "README.md").read_text()
    assert 'base_model: "nobody/opus-mt-en-de"' in card
    assert f"imported with nmt 0.1.0 from nobody/opus-mt-en-de, revision {COMMIT}" in card
    branch = run_nmt(*arguments, "--revision", "old", cwd=tmp_path, env=offline(cache))
    assert branch.returncode == 4


def test_only_what_is_needed_is_downloaded(run_nmt, tmp_path):
    """The configuration first; the pickled weights only where there are no others."""
    repository = Path(shutil.copytree(PUBLISHED / "marian", tmp_path / "repository"))
    (repository / "tf_model.h5").write_bytes(b"large")
    with fake_hub("nobody/opus", repository) as (address, sent):
        env = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        done = run_nmt("import", "nobody/opus", "--json", cwd=tmp_path, env=env)
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["revision"] == COMMIT
        files = [file for file in sent if file]
        assert files[0] == "config.json"
        assert not {"tf_model.h5", "pytorch_model.bin", "answers.json"} & {*files}
        sent.clear()
        assert run_nmt("import", "nobody/opus", cwd=tmp_path, env=env).returncode == 0
        assert [file for file in sent if file] == []  # all is in the cache
        (repository / "model.safetensors").unlink()
        env["HF_HOME"] = str(tmp_path / "other")
        assert run_nmt("import", "nobody/opus", cwd=tmp_path, env=env).returncode == 0
        assert "pytorch_model.bin" in sent
        for arguments, problem in (
            (
                ("nobody/else",),
                "nobody/else: no such folder, and no such model on the Hugging Face hub",
            ),
            (("nobody/opus", "--revision", "v9"), "nobody/opus: has no such revision"),
        ):
            done = run_nmt("import", *arguments, cwd=tmp_path, env=env)
            assert error_of(done) == problem
            assert done.returncode == 4


def test_a_killed_download_leaves_no_model_and_the_same_command_fetches_the_rest(run_nmt, tmp_path):
    halting = {"model.safetensors"}
    command = [sys.executable, "-m", "nmt_cli", "import", "nobody/opus"]
    with fake_hub("nobody/opus", PUBLISHED / "marian", halting) as (address, sent):
        env = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        with subprocess.Popen(command, cwd=tmp_path, env=env, stderr=subprocess.PIPE) as process:
            while "model.safetensors" not in sent:
                assert process.poll() is None
                time.sleep(0.05)
            process.kill()
        assert not (tmp_path / "runs").exists()
        came_whole = {*sent} - halting - {""}
        halting.clear()
        sent.clear()
        again = run_nmt("import", "nobody/opus", cwd=tmp_path, env=env)
        assert again.returncode == 0, again.stderr
        assert "model.safetensors" in sent
        assert "config.json" in came_whole - {*sent}
    assert run_nmt("info", "--verify", cwd=tmp_path).returncode == 0


def test_ctrl_c_ends_a_download_at_once(run_nmt, tmp_path):
    halting = {"model.safetensors"}
    command = [sys.executable, "-m", "nmt_cli", "import", "nobody/opus"]
    with fake_hub("nobody/opus", PUBLISHED / "marian", halting) as (address, sent):
        env = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        with subprocess.Popen(
            command, cwd=tmp_path, env=env, stderr=subprocess.PIPE, text=True
        ) as process:
            while "model.safetensors" not in sent:
                assert process.poll() is None
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            try:
                _, told = process.communicate(timeout=60)
            finally:
                halting.clear()
    assert process.returncode == 130
    assert told.splitlines()[1:] == ["stopped: no model was written"]
    assert not (tmp_path / "runs").exists()
    assert list(tmp_path.rglob("*.incomplete")) == []
    again = run_nmt("import", "nobody/opus", cwd=tmp_path, env=offline(tmp_path / "home"))
    assert error_of(again) == "nobody/opus: the Hugging Face hub cannot be reached"


@pytest.mark.parametrize("is_old_there", [False, True])
def test_ctrl_c_while_a_model_is_written_leaves_what_was_there(run_nmt, tmp_path, is_old_there):
    if is_old_there:
        assert run_nmt("import", str(PUBLISHED / "bert"), "model", cwd=tmp_path).returncode == 0
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}
    code = (
        "import os, signal, time, nmt_cli.bundle.model_card as card;"
        "card.model_card = lambda _: (os.kill(os.getpid(), signal.SIGINT), time.sleep(60));"
        "from nmt_cli.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "import", str(PUBLISHED / "marian"), "model"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr.splitlines() == ["stopped: no model was written"]
    assert done.stdout == ""
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["model"] * is_old_there


def test_what_a_killed_import_had_half_written_is_gone_after_the_next(run_nmt, tmp_path):
    """It has a name of its own, under which nothing looks for a model."""
    code = (
        "import os, signal, nmt_cli.bundle.model_card as card;"
        "card.model_card = lambda _: os.kill(os.getpid(), signal.SIGKILL);"
        "from nmt_cli.cli import main; main()"
    )
    arguments = ["import", str(PUBLISHED / "marian"), "models/en-de"]
    done = subprocess.run([sys.executable, "-c", code, *arguments], cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    (half,) = (tmp_path / "models").iterdir()
    assert half.name.startswith(".en-de.writing-")
    (tmp_path / "models" / ".fr-de.writing-elsewhere").mkdir()
    assert run_nmt("info", "models/en-de", cwd=tmp_path).returncode == 4
    assert run_nmt(*arguments, cwd=tmp_path).returncode == 0
    found = {path.name for path in (tmp_path / "models").iterdir()}
    assert found == {"en-de", ".fr-de.writing-elsewhere"}


def test_what_cannot_be_imported_is_not_downloaded(run_nmt, tmp_path):
    (tmp_path / "repository").mkdir()
    (tmp_path / "repository" / "config.json").write_text('{"model_type": "t5"}')
    (tmp_path / "repository" / "model.safetensors").write_bytes(b"large")
    with fake_hub("nobody/t5", tmp_path / "repository") as (address, sent):
        env = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        done = run_nmt("import", "nobody/t5", cwd=tmp_path, env=env)
        assert "nobody/t5: models of type t5 are not supported" in error_of(done)
        (tmp_path / "repository" / "config.json").unlink()
        env["HF_HOME"] = str(tmp_path / "other")
        done = run_nmt("import", "nobody/t5", cwd=tmp_path, env=env)
        assert error_of(done) == "nobody/t5: holds no config.json"
        assert done.returncode == 4
    assert "model.safetensors" not in sent


def error_of(done) -> str:
    """Return the one error of a command that has no other output but notes and a hint."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("asking")]
    assert lines[0].startswith("error: ")
    assert all(line.startswith("hint: ") for line in lines[1:])
    assert len(lines) <= 2
    assert done.stdout == ""
    return lines[0].removeprefix("error: ")


def test_no_network_is_one_line(run_nmt, tmp_path):
    done = run_nmt("import", "nobody/nothing", cwd=tmp_path, env=offline(tmp_path / "empty"))
    assert error_of(done) == "nobody/nothing: the Hugging Face hub cannot be reached"
    assert done.returncode == 4
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("source", "code", "problem"),
    [
        ("nothing", 2, "nothing: neither a folder nor an archive, nor a name on the Hugging Face"),
        ("", 2, "the name of the model to import is empty"),
        ("empty", 4, "empty: holds neither config.json nor a .npz of Marian's"),
        ("t5", 4, "t5: models of type t5 are not supported"),
        ("text.zip", 4, "text.zip: not a shared model"),
    ],
)
def test_what_is_no_model_is_one_line_and_leaves_nothing(run_nmt, tmp_path, source, code, problem):
    (tmp_path / "empty").mkdir()
    (tmp_path / "t5").mkdir()
    (tmp_path / "t5" / "config.json").write_text('{"model_type": "t5"}')
    (tmp_path / "text.zip").write_text("no archive")
    done = run_nmt("import", source, "model", cwd=tmp_path)
    assert error_of(done).removeprefix(f"{tmp_path}/").startswith(problem)
    assert done.returncode == code
    assert not (tmp_path / "model").exists()
    if source == "t5":
        assert "hint: supported are: marian" in done.stderr


def test_other_folders_are_not_replaced(run_nmt, tmp_path, toy_bundle):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "a.txt").write_text("dear")
    shutil.copytree(toy_bundle, tmp_path / "trained")
    for name, problem in (("letters", "is not a model"), ("trained", "a trained model")):
        done = run_nmt("import", str(PUBLISHED / "marian"), name, cwd=tmp_path)
        assert problem in error_of(done)
        assert done.returncode == 2
    assert (tmp_path / "letters" / "a.txt").read_text() == "dear"


def as_anybody() -> None:
    """Let permissions of files count for a new process of root's, too."""
    libc, drop_from_bounding_set = ctypes.CDLL(None), 24
    for override in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        libc.prctl(drop_from_bounding_set, override)


@pytest.mark.skipif(sys.platform != "linux", reason="root may read and write everywhere")
@pytest.mark.parametrize(
    ("closed", "target", "problem"),
    [
        ("model", "model/new", "model/new: cannot be written"),
        ("model", "model/new/model", "marian: cannot be imported ("),
        ("marian", "new", "marian: cannot be imported ("),
        ("marian/config.json", "new", "marian/config.json: cannot be read: Permission denied"),
        ("marian/model.safetensors", "new", "model.safetensors: cannot be read: Permission denied"),
        ("marian/pytorch_model.bin", "new", "pytorch_model.bin: cannot be read: Permission denied"),
        ("marian/source.spm", "new", "marian/source.spm: cannot be read: Permission denied"),
    ],
)
def test_what_may_not_be_read_or_written_is_one_line(run_nmt, tmp_path, closed, target, problem):
    shutil.copytree(PUBLISHED / "marian", tmp_path / "marian")
    (tmp_path / "model").mkdir()
    if "pytorch" in closed:
        (tmp_path / "marian" / "model.safetensors").unlink()
    (tmp_path / closed).chmod(0o555 if target == "model/new" else 0)
    done = run_nmt("import", "marian", target, cwd=tmp_path, preexec_fn=as_anybody)
    (tmp_path / closed).chmod(0o777)
    assert problem in error_of(done)
    assert done.returncode == 4
    assert not (tmp_path / target).exists()


def test_warnings_of_the_hubs_library_are_not_shown(tmp_path):
    """For each file it warns of a disk that is nearly full; one that is full is an error anyway."""
    code = (
        "import shutil, sys, types;"
        "shutil.disk_usage = lambda _: types.SimpleNamespace(free=1);"
        "from nmt_cli.cli import main; main()"
    )
    command = [sys.executable, "-c", code, "import", "nobody/opus"]
    with fake_hub("nobody/opus", PUBLISHED / "marian") as (address, _):
        env = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home")}
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert "Warning" not in done.stderr
    assert len(done.stderr.splitlines()) == 5  # all of it is what a success says
    assert done.returncode == 0


def test_a_full_disk_is_one_line_and_leaves_nothing(run_nmt, tmp_path):
    def limited():
        import resource
        import signal

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))

    unmeasured = {k: v for k, v in os.environ.items() if not k.startswith("COVERAGE")}
    command = ("import", str(PUBLISHED / "marian"), "model")
    done = run_nmt(*command, cwd=tmp_path, env=unmeasured, preexec_fn=limited)
    assert "model: cannot be written" in error_of(done)
    assert done.returncode == 4
    assert list(tmp_path.iterdir()) == []
