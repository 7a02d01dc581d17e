"""`--memory` of `nmt translate`, with a model that knows ten words."""

import json
import subprocess
import sys

import pytest

import nmt_cli

TMX = """<tmx version="1.4"><header srclang="en"/><body>
<tu><tuv xml:lang="en-GB"><seg>red cat</seg></tuv>
<tuv xml:lang="de"><seg>Katze, rot</seg></tuv></tu>
<tu><tuv xml:lang="en-GB"><seg>big dog eats old cat</seg></tuv>
<tuv xml:lang="de"><seg>FRISST</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>cat <bpt i="1"/>sees<ept i="1"/> bird</seg></tuv>
<tuv xml:lang="de"><seg>Sie <bpt i="1"/>sieht<ept i="1"/> ihn</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>red cat</seg></tuv><tuv xml:lang="de"><seg>anders</seg></tuv></tu>
</body></tmx>
"""


@pytest.fixture(autouse=True)
def folder(tmp_path):
    (tmp_path / "m.tmx").write_text(TMX)
    (tmp_path / "in.txt").write_text("dog\n\n red cat\t\nbig dog eats old bird\n")
    (tmp_path / "in.md").write_text("# dog\n\ncat *sees* bird\n\n- red cat\n")
    return tmp_path


def test_lines(translate):
    done = translate("-i", "in.txt", "--memory", "m.tmx")
    assert done.stdout == "hund\n\n Katze, rot\t\ndick hund isst alt vogel\n", done.stderr
    assert done.stderr == (
        "warning: m.tmx: 1 of 3 texts have several translations; the first is taken\n"
        "memory: 1 taken, 1 near\n"
        "memory: 82 %: 'big dog eats old bird' is like "
        "'big dog eats old cat': 'FRISST'\n"
    )


@pytest.mark.parametrize("protect", [(), ("--protect", "auto")])
def test_json_tells_of_each_line(translate, protect):
    done = translate("-i", "in.txt", "--memory", "m.tmx", "--json", *protect)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["memory"] and one["memory"]["percent"] for one in records] == [None, None, 100, 82]
    assert records[2]["hypotheses"][0]["text"] == " Katze, rot\t"
    assert "memory" not in json.loads(translate("dog", "--json").stdout)


def test_a_document(translate, folder):
    done = translate("in.md", "-o", "out.md", "--memory", "m.tmx")
    assert (folder / "out.md").read_text() == "# hund\n\nSie *sieht* ihn\n\n- Katze, rot\n"
    assert done.stderr.endswith("wrote out.md: 3 texts\nmemory: 2 taken, 0 near\n")


def test_a_share_depends_on_the_memory(translate, folder):
    arguments = ("-i", "in.txt", "-o", "out.txt", "--shard", "1/1", "--memory", "m.tmx")
    assert translate(*arguments).returncode == 0
    assert "exists already" in translate(*arguments).stderr
    (folder / "m.tmx").write_text(TMX.replace("rot", "ROT"))
    assert "exists already" not in translate(*arguments).stderr


def test_lines_are_taken_as_they_arrive(toy_bundle, folder):
    program = [sys.executable, "-m", "nmt_cli", "translate"]
    command = [*program, "-m", str(toy_bundle), "--memory", "m.tmx"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=folder) as process:
        for line, wanted in (("red cat\n", "Katze, rot\n"), ("red dog\n", "rot hund\n")):
            process.stdin.write(line)
            process.stdin.flush()
            assert process.stdout.readline() == wanted


def test_a_damaged_memory_is_one_line(translate, folder):
    (folder / "m.tmx").write_text(TMX[:110])
    done = translate("dog", "--memory", "m.tmx")
    assert (done.returncode, done.stdout) == (3, "")
    first, second, _ = done.stderr.split("\n")
    assert first.startswith("error: m.tmx:3: not valid XML: ")
    assert second.startswith("hint: save it again")


def test_there_is_no_attention_in_a_memory(translate):
    done = translate("red cat", "--memory", "m.tmx", "--attention", "a.html")
    assert (done.returncode, "--attention: no effect with --memory" in done.stderr) == (2, True)


def test_from_python(toy_bundle, folder):
    with nmt_cli.load(toy_bundle) as model:
        taken, other = model.translate(["red cat", "dog"], memory=folder / "m.tmx")
        assert (taken.text, taken.match.percent, other.match) == ("Katze, rot", 100, None)
        memory = nmt_cli.Memory.read(folder / "m.tmx", ("en", "de"))
        outcome = nmt_cli.translate_document(
            folder / "in.md", folder / "out.md", model, memory=memory
        )
        assert [number for number, _ in outcome.matches] == [2, 3]
