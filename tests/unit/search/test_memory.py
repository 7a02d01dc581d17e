"""Translation memories: what is read of TMX, tables and JSON lines, and which texts are alike."""

import gzip
import pickle

import pytest

from nmt_cli.errors import DataError
from nmt_cli.search.memory import Matches, Memory
from nmt_cli.search.tmx import CODE
from nmt_cli.search.translator import Match

HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "http://nowhere.invalid/tmx14.dtd">
<tmx version="1.4"><header srclang="en-US" datatype="html"/><body>
"""
TMX = f"""{HEAD}
<tu><note>no text</note><tuv xml:lang="en-US"><seg> The old
  man </seg></tuv><tuv xml:lang="de-DE"><seg>Der alte Mann</seg></tuv>
<tuv xml:lang="fr"><seg>Le vieil homme</seg></tuv></tu>
<tu><tuv xml:lang="EN"><seg>A <bpt i="1">&lt;b&gt;</bpt>red<ept i="1">&lt;/b&gt;</ept>
<hi>car</hi><!-- x --></seg></tuv>
<tuv xml:lang="de_AT"><seg>Ein <bpt i="1">x</bpt>rotes<ept i="1"/> Auto</seg></tuv></tu>
<tu><tuv lang="de"><seg>Ein Mann</seg></tuv><tuv lang="en"><seg>The old man</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>allein</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>x</seg></tuv><tuv xml:lang="de"><seg>y<ph/></seg></tuv></tu>
<tu><tuv xml:lang="en"><seg/></tuv><tuv xml:lang="de"><seg>leer</seg></tuv></tu>
</body></tmx>
"""


@pytest.fixture
def write(tmp_path):
    def made(text, name="m.tmx"):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return made


@pytest.mark.parametrize("name", ["m.tmx", "m.tmx.gz"])
def test_a_tmx(write, name):
    memory = Memory.read(write(TMX, name), ("en", "de"))
    car = f"A {CODE}red{CODE} car"
    assert memory.targets == {
        "The old man": "Der alte Mann",
        car: f"Ein {CODE}rotes{CODE} Auto",
    }
    assert memory.num_doubtful == 1
    assert memory.exact("  The old \n man") == "Der alte Mann"
    assert memory.exact("the old man") is None
    assert pickle.loads(pickle.dumps(memory)).targets == memory.targets


@pytest.mark.parametrize(
    ("way", "source", "target"),
    [
        (("", ""), "The old man", "Der alte Mann"),  # the file's source, and the first other one
        (("en-US", "fr"), "The old man", "Le vieil homme"),
        (("de", "en"), "Der alte Mann", "The old man"),
        (("", "fr"), "The old man", "Le vieil homme"),
        (("de", ""), "Ein Mann", "The old man"),
    ],
)
def test_the_languages_of_a_tmx(write, way, source, target):
    assert Memory.read(write(TMX), way).exact(source) == target


def test_an_exact_code_comes_before_a_region(write):
    unit = "".join(
        f'<tuv xml:lang="{code}"><seg>{code}</seg></tuv>' for code in ("en", "pt-PT", "pt-BR", "pt")
    )
    path = write(f"{HEAD}<tu>{unit}</tu></body></tmx>")
    assert Memory.read(path, ("en", "pt")).targets == {"en": "pt"}
    assert Memory.read(path, ("en", "pt_BR")).targets == {"en": "pt-BR"}
    assert Memory.read(path, ("en", "pt")).num_doubtful == 1


def test_entities_name_no_files(write, tmp_path):
    (tmp_path / "secret").write_text("secret")
    head = f'<!DOCTYPE tmx [<!ENTITY x SYSTEM "{tmp_path}/secret"><!ENTITY y "yyy">]>\n'
    unit = (
        '<tu><tuv xml:lang="en"><seg>a&x;&y;</seg></tuv><tuv xml:lang="de"><seg>b</seg></tuv></tu>'
    )
    memory = Memory.read(write(f"{head}<tmx><body>{unit}</body></tmx>"), ("en", "de"))
    assert memory.targets == {"a": "b"}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("m.tsv", "old man\talter Mann\n\n a  dog \tein Hund\n"),
        ("m.csv", '"old man",alter Mann\na dog,ein Hund\n'),
        ("m.jsonl", '{"source": "old man", "target": "alter Mann"}\n'
         '{"source": "a dog", "target": "ein Hund"}\n'),
    ],
)  # fmt: skip
def test_tables_and_json_lines(write, name, text):
    memory = Memory.read(write(text, name))
    assert memory.targets == {"old man": "alter Mann", "a dog": "ein Hund"}


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("m.tmx", TMX[:700], "m.tmx:12: not valid XML: "),
        ("m.tmx", "", "m.tmx:1: not valid XML: "),
        ("m.tmx", TMX.replace("</hi>", ""), "m.tmx:9: not valid XML: "),
        ("m.tmx", f"{HEAD}</body></tmx>", "m.tmx: has no unit from en to de; its languages: none"),
        ("m.tmx", TMX.replace("de", "ja"), "its languages: en-us, ja-de, fr, en, ja-at, ja"),
        ("m.tmx", "<html><p>x</p></html>", "m.tmx: has no unit from en to de"),
        ("m.tmx.gz", None, "m.tmx.gz: cannot be read: "),
        ("m.tsv", "a\tb\nc\n", "m.tsv:2: needs two columns, source and target; it has 1"),
        ("m.tsv", "\n", "m.tsv: has no text with a translation"),
        ("m.jsonl", '{"source": "a"}\n', "m.jsonl:1: needs text in the keys source and target"),
        ("m.txt", "a", "m.txt: the name of a memory ends in .tmx, .tsv, .csv or .jsonl"),
    ],
)
def test_what_is_no_memory_is_told(write, tmp_path, name, text, told):
    path = tmp_path / name if text is None else write(text, name)
    with pytest.raises(DataError) as found:
        Memory.read(path, ("en", "de"))
    assert told in str(found.value)
    assert "\n" not in str(found.value)


def test_what_is_alike():
    memory = Memory({
        "The old man reads a book.": "Der alte Mann liest ein Buch.",
        "A man": "Ein Mann",
        "赤い車があります": "Es gibt ein rotes Auto",
    })  # fmt: skip
    near = memory.near("The old man reads a red book.")
    assert near == Match("The old man reads a book.", "Der alte Mann liest ein Buch.", 92)
    assert memory.near("青い車があります").target == "Es gibt ein rotes Auto"
    assert memory.near("Nothing is like this") is None
    assert memory.near("...") is None


def test_matches_are_counted():
    matches = Matches()
    for match in (None, Match("a", "b", 100), *[Match("a", "b", 80)] * 7):
        matches.add("text", match)
    assert (matches.taken, matches.near, len(matches.first)) == (1, 7, 5)
