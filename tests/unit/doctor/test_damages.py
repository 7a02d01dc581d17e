"""2,000 clean pairs, damaged in 25 and more known ways: all are found, at the right line."""

import shutil
from pathlib import Path

import pytest

from nmt_cli.config.reading import load_config
from nmt_cli.doctor.checkup import check_up
from nmt_cli.doctor.cleaning import DROPPED, clean
from nmt_cli.files import read_lines
from nmt_cli.text.corpus import Corpora

SAMPLE = Path(__file__).parents[3] / "data" / "en-de"
SIZE = 2000
FALSE_ALARMS = 0.02  # share of clean rows

# name -> (check, the damaged side, (source, target) -> damaged (source, target))
DAMAGES = {
    "no source": ("empty", "en", lambda s, t: ("", t)),
    "blank target": ("empty", "de", lambda s, t: (s, " \u3000 ")),
    "broken UTF-8": ("encoding", "de", lambda s, t: (s, b"Die T\xfcr ist offen, sagte er.")),
    "control character": ("control-characters", "en", lambda s, t: (f"{s[:4]}\x07{s[4:]}", t)),
    "zero-width space": ("control-characters", "de", lambda s, t: (s, f"{t[:5]}\u200b{t[5:]}")),
    "byte order mark": ("control-characters", "en", lambda s, t: (f"\ufeff{s}", t)),
    "private use": ("control-characters", "de", lambda s, t: (s, f"{t} \ue123")),
    "mojibake": ("mojibake", "de", lambda s, t: (s, f"{t} Für Jörg.".encode().decode("cp1252"))),
    "mojibake twice": (
        "mojibake",
        "de",
        lambda s, t: (s, f"{t} Grüße.".encode().decode("latin-1").encode().decode("latin-1")),
    ),
    "mojibake quotes": (
        "mojibake",
        "en",
        lambda s, t: ("It\u2019s: ".encode().decode("cp1252") + s, t),
    ),
    "lost character": ("mojibake", "de", lambda s, t: (s, f"{t} Sch\ufffdn.")),
    "lost letter": ("mojibake", "de", lambda s, t: (s, f"{t} Sehr sch?n.")),
    "tag": ("markup", "en", lambda s, t: (f"<b>{s}</b>", t)),
    "entity": ("markup", "de", lambda s, t: (s, f"{t} &quot;Ja&quot;")),
    "wiki": ("markup", "en", lambda s, t: (f"{s} [[Category:Books]]", t)),
    "cut off": ("length-ratio", "en", lambda s, t: (s, t.split()[0])),
    "too much": ("length-ratio", "en", lambda s, t: (" ".join((s, *OTHERS[:3])), t)),
    "too long": ("too-long", "en", lambda s, t: (" ".join(OTHERS), " ".join(OTHERS_DE))),
    "wrong script": ("script", "de", lambda s, t: (s, "Вчера мы были в большом городе.")),
    "lookalike": ("script", "de", lambda s, t: (s, t.replace("e", "\u0435", 1))),
    "swapped": ("language", "en", lambda s, t: (t, s)),
    "untranslated": ("identical", "de", lambda s, t: (s, s)),
    "third language": (
        "language",
        "de",
        lambda s, t: (s, "Le vieil homme est dans la maison avec son chien."),
    ),
    "other number": ("numbers", "en", lambda s, t: (f"{s} It was 1994.", f"{t} Es war 1949.")),
    "other address": ("links", "en", lambda s, t: (f"{s} www.a.org", f"{t} www.b.org")),
    "repeated word": ("repetition", "de", lambda s, t: (s, f"{t} so so so so so")),
    "no words": ("no-words", "de", lambda s, t: (s, "?! ... ?! ... ?! ... ?! ...")),
    "spaces in a row": ("white-space", "de", lambda s, t: (s, t.replace(" ", "   "))),
    "tab": ("white-space", "en", lambda s, t: (s.replace(" ", "\t", 1), t)),
    "spaces at the ends": ("white-space", "de", lambda s, t: (s, f" {t}  ")),
    "duplicate": ("duplicate", "en", lambda s, t: CLEAN[2]),
    "leaked target": ("leakage", "de", lambda s, t: (s, DEV[1][1])),
    "repeated words": ("repetition", "en", lambda s, t: (" ".join(["the men"] * 12), t)),
    "leak": ("leakage", "en", lambda s, t: (DEV[0][0].upper(), DEV[0][1])),
}  # fmt: skip


def pairs_of(name: str, count: int) -> list[tuple[str, str]]:
    sides = (read_lines(SAMPLE / f"{name}.{language}") for language in ("en", "de"))
    return [pair for _, pair in zip(range(count), zip(*sides, strict=True), strict=False)]


CLEAN = pairs_of("train", SIZE)
DEV = pairs_of("dev", 200)
OTHERS, OTHERS_DE = zip(*pairs_of("test", 40), strict=True)
LINES = {name: 50 + 55 * number for number, name in enumerate(DAMAGES)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the damaged corpus and its configuration."""
    folder = tmp_path_factory.mktemp("damaged")
    pairs: list[tuple] = list(CLEAN)
    for name, (_, _, damage) in DAMAGES.items():
        pairs[LINES[name] - 1] = damage(*pairs[LINES[name] - 1])
    for side, language in enumerate(("en", "de")):
        lines = [pair[side] for pair in pairs]
        raw = [line if isinstance(line, bytes) else line.encode() for line in lines]
        (folder / f"train.{language}").write_bytes(b"\n".join(raw) + b"\n")
        (folder / f"dev.{language}").write_text("".join(f"{pair[side]}\n" for pair in DEV))
    (folder / "c.yaml").write_text(
        "name: damaged\n"
        "data: {source_lang: en, target_lang: de, train: [{source: train.en, target: train.de}],\n"
        "       dev: [{source: dev.en, target: dev.de}]}\n"
        "tokenizer: {vocab_size: auto}\n"
        "model: auto\n"
    )
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return check_up(load_config(str(folder / "c.yaml")), None, on_progress=lambda *_: None)


@pytest.fixture(scope="module")
def places(report):
    return {(f.check, f.file.name, f.line) for f in report.findings if f.line is not None}


def test_there_are_25_ways(report):
    assert len(DAMAGES) >= 25
    assert [len(corpus) for corpus in report.corpora] == [SIZE, len(DEV)]


@pytest.mark.parametrize("name", DAMAGES)
def test_every_damage_is_found_at_its_line(places, name):
    check, language, _ = DAMAGES[name]
    assert (check, f"train.{language}", LINES[name]) in places


def test_few_clean_rows_are_flagged(report):
    damaged = set(LINES.values())
    train, dev = report.corpora
    wrong = [int(line) for line in train.rows["line"][train.flagged] if int(line) not in damaged]
    assert len(wrong) <= FALSE_ALARMS * SIZE, wrong
    assert int(dev.flagged.sum()) <= FALSE_ALARMS * len(DEV)


def test_what_is_broken_makes_an_error(report):
    errors = [f for f in report.findings if f.severity == "error"]
    assert [(f.check, f.line) for f in errors] == [("encoding", LINES["broken UTF-8"])]
    assert report.has_errors


def test_the_cleaned_copy_lacks_what_was_wrong_and_nothing_else(folder, report, tmp_path):
    loaded = load_config(str(folder / "c.yaml"))
    config, dropped, _ = clean(loaded.config, report, loaded.data_dir, tmp_path)
    kept = list(Corpora(config, tmp_path).iter_split("train"))
    clean_pairs = {pair for i, pair in enumerate(CLEAN, 1) if i not in LINES.values()}
    found = {(example.source[0], example.target) for example in kept}
    assert len(clean_pairs - found) <= FALSE_ALARMS * SIZE
    mended = found - clean_pairs
    assert {
        CLEAN[LINES["control character"] - 1],
        CLEAN[LINES["zero-width space"] - 1],
        CLEAN[LINES["byte order mark"] - 1],
        CLEAN[LINES["spaces in a row"] - 1],
        CLEAN[LINES["tab"] - 1],
        CLEAN[LINES["spaces at the ends"] - 1],
    } <= mended
    source, target = CLEAN[LINES["mojibake"] - 1]
    assert (source, f"{target} Für Jörg.") in mended
    assert len(mended) <= 11
    log = (tmp_path / DROPPED).read_text().splitlines()
    assert len(log) == dropped + 1 == SIZE - len(kept) + 1
    assert (tmp_path / "dev.en").read_text() == (folder / "dev.en").read_text()


def test_a_cleaned_copy_is_healthy(folder, report, tmp_path):
    loaded = load_config(str(folder / "c.yaml"))
    config, *_ = clean(loaded.config, report, loaded.data_dir, tmp_path)
    shutil.copy(folder / "c.yaml", tmp_path / "c.yaml")
    again = check_up(load_config(str(tmp_path / "c.yaml")), None, on_progress=lambda *_: None)
    assert config.name == "damaged-clean"
    assert not [f for f in again.findings if f.line is not None]
