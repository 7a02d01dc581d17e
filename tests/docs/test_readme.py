"""The pages tell the truth: their commands run, their tables and links are right."""

import functools
import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer

from nmt_cli.api import functions
from nmt_cli.cli import app
from nmt_cli.config.reading import load_config, reference_markdown
from nmt_cli.doctor.findings import CHECKS
from nmt_cli.terminal.help_pages import TOPICS, topic_text

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGES = {
    page: (ROOT / page).read_text(encoding="utf-8")
    for page in (
        "README.md",
        "configs/README.md",
        "data/README.md",
        "nmt_cli/README.md",
        "nmt_cli/search/README.md",
        "nmt_cli/report/README.md",
        "nmt_cli/server/README.md",
        "nmt_cli/training/README.md",
        "nmt_cli/augmentation/README.md",
        "nmt_cli/documents/README.md",
        "nmt_cli/pretrained/README.md",
        "tests/benchmarks/README.md",
        "tests/benchmarks/EXPERIMENTS.md",
    )
}
COMMANDS = [
    line
    for text in PAGES.values()
    for block in re.findall(r"```sh\n(.*?)```", text, flags=re.DOTALL)
    for line in block.splitlines()
]
# What every training of the pages gets here, to take seconds instead of minutes.
SHORT = ["train.max_steps=4", "train.eval_steps=4", "train.checkpoint_steps=2", "model.d_model=16",
         "model.d_ff=16", "model.num_heads=2", "model.encoder_layers=1", "model.decoder_layers=1",
         "decode.max_length=8", "decode.beam_size=2"]  # fmt: skip


def test_the_configuration_reference_is_up_to_date():
    marker = "<!-- configuration reference: {} -->"
    page = PAGES["configs/README.md"]
    written = page.split(marker.format("begin") + "\n")[1].split(marker.format("end"))[0]
    assert written == reference_markdown()


def test_the_readme_is_short():
    assert len(README.encode()) <= 12_000


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_page_that_is_tested(page):
    links = re.findall(r"\]\(([^)#:]+)\)", PAGES[page])
    found = {str((ROOT / page).parent.joinpath(link).relative_to(ROOT)) for link in links}
    assert found <= set(PAGES)
    if page == "README.md":
        assert len(found) == len(PAGES) - 2  # itself, and the experiments


def test_every_check_is_in_the_table():
    table = PAGES["data/README.md"]
    assert [check.name for check in CHECKS if f"`{check.name}`" not in table] == []


def test_the_set_up_commands_are_the_known_ones():
    """The first is what a new user types; the second is what `.ci/run` calls, word for word."""
    set_up = [command for command in COMMANDS if "venv" in command]
    assert set_up == [
        "python3 -m venv .venv && .venv/bin/pip install . && .venv/bin/nmt train",
        "python3 -m venv .venv && .venv/bin/pip install '.[test]' && .venv/bin/pytest --cov -n 2",
    ]
    assert set_up[1] in (ROOT / ".ci" / "run").read_text()


def test_every_other_command_runs(run_nmt, tmp_path):
    """In the order of the pages, in one folder; trainings are shortened by --set."""
    write_user_files(tmp_path)
    set_up, *rest = COMMANDS
    assert set_up.endswith("nmt train")
    commands = ["nmt train", *(command for command in rest if "venv" not in command)]
    assert len(commands) >= 8
    for command in commands:
        program, *arguments = shlex.split(command)
        assert program == "nmt", command
        if arguments[0] in ("train", "augment"):
            arguments += [part for setting in SHORT for part in ("--set", setting)]
        options = {"input": "Hello!\n"} if arguments[0] == "chat" else {}
        done = run_nmt(*arguments, cwd=tmp_path, **options)
        assert done.returncode == 0, f"{command}\n{done.stderr}"


@pytest.mark.parametrize("page", PAGES)
def test_every_command_in_the_text_has_its_options(page):
    """Those in sentences, tables and sessions: the command exists, and so does each option."""
    top = typer.main.get_command(app)
    written = re.findall(r"`(nmt [a-z][^`\n]*)`", PAGES[page])
    written += re.findall(r"^(?:\S*\$ )?(nmt [a-z].*)$", PAGES[page], flags=re.MULTILINE)
    for line in written:
        _, name, *words = line.replace("`", "").split()
        if name in ("X", "help"):
            continue
        command = top.commands[name]
        if name in ("data", "plot") and words and words[0].islower():
            command = command.commands[words.pop(0)]
        known = {option for parameter in command.params for option in parameter.opts}
        options = {word.split("=")[0] for word in words if re.match("--?[a-z]", word)}
        assert options <= known | {"--help"}, line


def test_the_python_examples_run(toy_bundle, toy_chat, label_bundle, tmp_path, monkeypatch):
    """On models of the tests' own, in the names of the page's."""
    monkeypatch.chdir(tmp_path)
    for name, bundle in (("chat", toy_chat), ("sentiment", label_bundle)):
        shutil.copytree(bundle, tmp_path / "runs" / name / "model")
    short = dict(setting.split("=") for setting in SHORT)
    monkeypatch.setattr(functions, "configuration", functools.partial(_shortened, short))
    first, second = re.findall(r"```python\n(.*?)```", PAGES["nmt_cli/README.md"], flags=re.DOTALL)
    exec(first, {})
    exec(second, {})


def _shortened(short, config, settings=None, data_dir=None):
    changes = (settings or {}) | short
    return load_config(config, [f"{name}={value}" for name, value in changes.items()])


@pytest.mark.parametrize("name", TOPICS)
def test_every_topic_is_a_part_of_a_page(name):
    topic = TOPICS[name]
    assert topic.page in PAGES
    text = topic_text(topic)
    assert len(text) > 200
    assert text.startswith(f"## {topic.heading}\n" if topic.heading else "# ")
    assert text.count("\n## ") == (0 if topic.heading else PAGES[topic.page].count("\n## "))


def write_user_files(folder: Path) -> None:
    """Put the files that the pages' commands name into a folder."""
    for name, count in (("train", 400), ("dev", 20), ("test", 5)):
        for language in ("en", "de"):
            lines = (ROOT / "data" / "en-de" / f"{name}.{language}").read_text().splitlines()
            (folder / f"{name}.{language}").write_text("\n".join(lines[:count]) + "\n")
    published = ROOT / "tests" / "data" / "pretrained"
    shutil.copytree(published / "marian", folder / "downloads" / "opus-mt-en-de")
    shutil.make_archive(str(folder / "downloads" / "blenderbot"), "zip", published / "blenderbot")
    (folder / "notes.md").write_text("# A *dog*\n\nThe old man reads a book, see ACME-12.\n")
    (folder / "input.en").write_text("The old man reads a book.\n")


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 5])
def test_every_exit_code_is_in_the_table(code):
    assert re.search(rf"^\| {code} \|", README, flags=re.MULTILINE)
