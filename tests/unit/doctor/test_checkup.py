"""What a check-up says of whole corpora: formats, files that are wrong, traits, repeats."""

import gzip
import json
import random

import pytest

from nmt_cli.config.reading import load_config
from nmt_cli.doctor.checkup import check_up
from nmt_cli.doctor.cleaning import clean
from nmt_cli.text.corpus import Corpora

WORDS = ["one", "two", "house", "garden", "tree", "river", "stone", "bird", "cloud", "bread"]


def sentence(number: int) -> str:
    """A line unlike all others."""
    draw = random.Random(number)
    return (
        " ".join(draw.choices(WORDS, k=draw.randint(4, 12))) + f" {chr(97 + number % 26)}{number}"
    )


PAIRS = [(sentence(i), f"das {sentence(i).upper()} ist gut") for i in range(300)]


@pytest.fixture
def examine(tmp_path):
    """A function that checks the files of a folder by `data.train` and returns the report.

    `more` are further lines of the configuration, `settings` keys that change.
    """

    def examine(
        train: str,
        *,
        task: str = "translation",
        dev: str = "[{rows: 10}]",
        more: str = "",
        settings: list[str] | None = None,
        **files,
    ):
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            (tmp_path / name.replace("__", ".")).write_bytes(data)
        (tmp_path / "c.yaml").write_text(
            f"name: x\ntask: {task}\ndata: {{train: {train}, dev: {dev}}}\n"
            f"tokenizer: {{vocab_size: 400}}\n{more}\n"
        )
        loaded = load_config(str(tmp_path / "c.yaml"), settings)
        return check_up(loaded, None, on_progress=lambda *_: None)

    return examine


def tell(report, *severities: str) -> list[tuple[str, str | None, int | None]]:
    """The findings of some severities as (check, file, line), those of size left out."""
    return [
        (f.check, f.file and f.file.name, f.line)
        for f in report.findings
        if f.severity in severities and f.check != "size"
    ]


def tsv(pairs) -> str:
    return "".join(f"{source}\t{target}\n" for source, target in pairs)


def jsonl(pairs) -> str:
    return "".join(json.dumps({"source": s, "target": t}) + "\n" for s, t in pairs)


class TestFormats:
    def test_every_wrong_row_of_a_table_is_told(self, examine):
        text = tsv(PAIRS[:50]) + "only one\n" + tsv(PAIRS[50:]) + "another\n"
        report = examine("[{file: a.tsv}]", a__tsv=text)
        assert tell(report, "error") == [("format", "a.tsv", 51), ("format", "a.tsv", 302)]
        assert len(report.corpora[0]) == 300

    def test_heading_and_blank_lines_do_not_shift_the_numbers(self, examine):
        text = "en\tde\n" + tsv(PAIRS[:9]) + "\n\n" + "x <b>y</b>\tz\n" + tsv(PAIRS[9:])
        report = examine("[{file: a.tsv, columns: [en, de]}]", a__tsv=text)
        assert ("markup", "a.tsv", 13) in tell(report, "warning")

    def test_a_missing_column_is_one_sentence(self, examine):
        report = examine("[{file: a.tsv, columns: [fr, de]}]", a__tsv="en\tde\n" + tsv(PAIRS))
        told = [f.message for f in report.findings if f.check == "files"]
        assert told == ["no column 'fr' in the heading line; its columns are: en, de"]

    def test_rows_of_a_csv_over_several_lines(self, examine):
        rows = [f'"{s}\n{s}","{t}\n{t}"\n' for s, t in PAIRS]
        rows[10] = 'a,"b"c\n'
        rows[20] = '"x &amp; y",z\n'
        report = examine("[{file: a.csv}]", a__csv="".join(rows))
        first = 1 + sum(row.count("\n") for row in rows[:10])
        assert tell(report, "error")[0] == ("format", "a.csv", first)
        assert ("markup", "a.csv", 1 + sum(row.count("\n") for row in rows[:20])) in tell(
            report, "warning"
        )

    def test_wrong_json_lines(self, examine):
        bad = ["{", "[1]", '{"source": "a"}', '{"source": "\\ud800", "target": "b"}']
        lines = jsonl(PAIRS).splitlines()
        lines[5:5] = bad
        report = examine("[{file: a.jsonl}]", a__jsonl="\n".join(lines))
        assert tell(report, "error") == [("format", "a.jsonl", n) for n in (6, 7, 8, 9)]

    def test_bytes_that_are_not_utf8_in_any_format(self, examine):
        for name, text in (("a.tsv", tsv(PAIRS)), ("a.jsonl", jsonl(PAIRS))):
            lines = text.encode().splitlines()
            lines[7] = lines[7].replace(b"das", b"d\xffas", 1)
            report = examine(f"[{{file: {name}}}]", **{name.replace(".", "__"): b"\n".join(lines)})
            assert tell(report, "error") == [("encoding", name, 8)]


class TestFiles:
    def test_every_missing_file_is_told(self, examine):
        report = examine("[{source: a.en, target: a.de}, {file: b.tsv}]", b__tsv=tsv(PAIRS))
        assert tell(report, "error") == [("files", "a.en", None), ("files", "a.de", None)]
        assert len(report.corpora) == 1

    def test_a_missing_glossary_is_told(self, examine):
        report = examine("[{file: a.tsv}], glossary: terms.tsv", a__tsv=tsv(PAIRS))
        assert tell(report, "error") == [("files", "terms.tsv", None)]

    def test_a_damaged_archive(self, examine):
        data = gzip.compress(tsv(PAIRS).encode())
        report = examine("[{file: a.tsv.gz}]", a__tsv__gz=data[:-20])
        assert tell(report, "error")[0] == ("files", "a.tsv.gz", None)

    @pytest.mark.parametrize("encoding", ["cp850", "utf-16", "utf-16le"])
    def test_a_file_in_another_encoding_is_told_by_its_name(self, examine, encoding):
        """What follows from it is not: that there is no such column, and no row."""
        text = "quelle\tziel\n" + tsv([(f"Größe {s} für Mädchen", t) for s, t in PAIRS])
        report = examine(
            "[{file: a.tsv, columns: [quelle, ziel]}]", a__tsv=text.encode(encoding, "replace")
        )
        told = [f for f in report.findings if f.severity == "error" and f.line is None]
        assert [f.check for f in told] == ["files"]
        assert f"it is {encoding.upper()}" in told[0].message
        assert f"set data.encoding: {encoding}, or iconv -f {encoding.upper()}" in told[0].message

    def test_the_file_in_another_encoding_is_named_and_not_its_partner(self, examine):
        texts = {
            "a__en": "\n".join(source for source, _ in PAIRS),
            "a__de": "\n".join(f"Größe für Mädchen {t}" for _, t in PAIRS).encode("cp1252"),
        }
        report = examine("[{source: a.en, target: a.de}]", **texts)
        assert ("files", "a.de", None) in tell(report, "error")
        assert {name for _, name, _ in tell(report, "error")} == {"a.de"}

    def test_a_spreadsheet_of_another_name_is_in_no_encoding(self, examine):
        report = examine("[{file: a.csv}]", a__csv=b"PK\x03\x04" + bytes(range(256)))
        (message,) = [f.message for f in report.findings if f.check == "files"]
        assert message.startswith("holds a spreadsheet or an archive; save it as CSV")

    @pytest.mark.parametrize("other", ["cp949", "utf-8"])
    def test_two_files_in_different_encodings_are_read_with_auto(self, examine, other):
        texts = {
            "a__ko": "\n".join(f"안녕하세요 반갑습니다 {n}" for n in range(300)).encode("cp949"),
            "a__de": "\n".join(f"„Größe“ für Mädchen {t}" for _, t in PAIRS),
        }
        more = f"data.encoding={other}"
        report = examine("[{source: a.ko, target: a.de}]", settings=[more], **texts)
        ((name, message),) = [
            (f.file.name, f.message) for f in report.findings if f.check == "files"
        ]
        assert name == {"cp949": "a.de", "utf-8": "a.ko"}[other]
        assert "set data.encoding: auto" in message
        assert "-f UTF-8" not in message

    def test_more_rows_held_out_than_there_are(self, examine):
        report = examine("[{file: a.tsv}]", a__tsv=tsv(PAIRS), dev="[{rows: 300}]")
        assert "dev takes 300 rows out of train, which has only 300" in [
            f.message for f in report.findings if f.severity == "error"
        ]

    def test_nothing_at_all(self, examine):
        report = examine("[{file: a.tsv}]", a__tsv="\n\n")
        assert [f.message for f in report.findings] == ["train has no rows"]
        assert report.has_errors

    @pytest.mark.parametrize("lost", [40, 200, 290])
    def test_where_two_files_get_out_of_step(self, examine, lost):
        sources = [source for source, _ in PAIRS]
        targets = [target for _, target in PAIRS]
        del targets[lost]
        texts = {"a__en": "\n".join(sources), "a__de": "\n".join(targets)}
        report = examine("[{source: a.en, target: a.de}]", **texts)
        ((check, _, line),) = tell(report, "error")
        assert check == "line-counts"
        assert "a.en has 300 lines" in report.findings[0].message
        assert abs(line - (lost + 1)) <= 3
        assert "1 line is missing from a.de at about line" in report.findings[0].message

    def test_where_files_sorted_by_length_get_out_of_step_is_not_known(self, examine):
        sources, targets = map(list, zip(*sorted(PAIRS, key=lambda p: len(p[0])), strict=True))
        del targets[150]
        texts = {"a__en": "\n".join(sources), "a__de": "\n".join(targets)}
        report = examine("[{source: a.en, target: a.de}]", **texts)
        assert tell(report, "error") == [("line-counts", "a.en", None)]
        assert "where they get out of step is not known" in report.findings[0].message

    @pytest.mark.parametrize(
        ("lost", "where"), [(slice(0, 4), "at its beginning"), (slice(-4, None), "at its end")]
    )
    def test_lines_that_are_missing_at_an_end(self, examine, lost, where):
        sources = [source for source, _ in PAIRS]
        targets = [target for _, target in PAIRS]
        del sources[lost]
        texts = {"a__en": "\n".join(sources), "a__de": "\n".join(targets)}
        report = examine("[{source: a.en, target: a.de}]", **texts)
        assert f"4 lines are missing from a.en {where}" in report.findings[0].message

    def test_one_odd_pair_before_the_end_does_not_hide_what_is_missing_there(self, examine):
        sources = [source for source, _ in PAIRS]
        targets = [target for _, target in PAIRS][:-3]
        sources[-1] = targets[-1] = "a house in a garden by the river " * 3
        texts = {"a__en": "\n".join(sources), "a__de": "\n".join(targets)}
        report = examine("[{source: a.en, target: a.de}]", **texts)
        assert "3 lines are missing from a.de at its end" in report.findings[0].message


class TestLabels:
    def messages(self, report) -> list[tuple[str, str]]:
        return [(f.severity, f.message) for f in report.findings if f.check == "labels"]

    def test_the_balance_of_classes_takes_the_place_of_targets(self, examine):
        pairs = [(s, ["calm", "glad", "calm"][n % 3]) for n, (s, _) in enumerate(PAIRS)]
        report = examine("[{file: a.tsv}]", a__tsv=tsv(pairs), task="classification")
        assert self.messages(report) == [("info", "2 labels in train: calm 66.7%, glad 33.3%")]
        told = " ".join(f.message for f in report.findings)
        assert "target" not in told

    def test_batches_are_those_of_labels(self, examine):
        pairs = [(s, ["calm", "glad"][n % 2]) for n, (s, _) in enumerate(PAIRS)]
        of_train, known = (
            [f.message for f in examine(
                "[{file: a.tsv}]", a__tsv=tsv([*pairs, ("x y z", "")]), task="classification",
                more=f"classification: {{labels: {labels}}}\ntrain: auto",
            ).findings if f.check in ("padding", "empty", "labels")]
            for labels in ("null", "[calm, glad]")
        )  # fmt: skip
        assert of_train == known
        assert "no label" in known
        assert "2 labels in train: calm 49.8%, glad 49.8%" in known

    def test_labels_that_are_hard_to_learn_or_to_judge(self, examine):
        pairs = [(s, "calm") for s, _ in PAIRS[:250]] + [(s, "Calm") for s, _ in PAIRS[250:265]]
        pairs += [(s, "glad") for s, _ in PAIRS[265:268]] + [(PAIRS[7][0] + "!", "Calm")]
        dev = tsv([(s, "sad") for s, _ in PAIRS[270:]])
        report = examine(
            "[{file: a.tsv}]",
            a__tsv=tsv(pairs), d__tsv=dev, dev="[{file: d.tsv}]", task="classification",
        )  # fmt: skip
        assert self.messages(report) == [
            ("error", "labels of dev that are not in train: sad"),
            ("warning", "93% of train has the label 'calm': a model that always gives it is right "
             "as often; judge by macro-F1"),
            ("warning", "labels with fewer than 10 rows in train: glad (3)"),
            ("warning", "labels that look like one: 'Calm', 'calm'"),
            ("warning", "texts of train with different labels: 1, such as a.tsv:8 and a.tsv:269"),
            ("info", "3 labels in train: calm 92.9%, Calm 5.9%, glad 1.1%"),
        ]  # fmt: skip

    def test_a_text_with_two_labels(self, examine):
        pairs = [(s, ["calm", "glad"][n % 2]) for n, (s, _) in enumerate(PAIRS)]
        pairs.append((PAIRS[7][0] + "!", "calm"))
        report = examine("[{file: a.tsv}]", a__tsv=tsv(pairs), task="classification")
        (_, message), _ = self.messages(report)
        places = "a.tsv:8 and a.tsv:301"
        assert message == f"texts of train with different labels: 1, such as {places}"

    @pytest.mark.parametrize("other", [["-1", "1"], ["?", "??"], ["C", "C#"]])
    def test_labels_that_differ_in_signs_only_are_two(self, examine, other):
        pairs = [(s, other[n % 2]) for n, (s, _) in enumerate(PAIRS)]
        pairs.append((PAIRS[7][0], other[0]))
        report = examine("[{file: a.tsv}]", a__tsv=tsv(pairs), task="classification")
        assert "duplicate" not in {f.check for f in report.findings}
        assert self.messages(report)[0][1].startswith("texts of train with different labels: 1,")

    def test_text_of_one_label_is_an_error(self, examine):
        pairs = [(s, "calm") for s, _ in PAIRS]
        report = examine("[{file: a.tsv}]", a__tsv=tsv(pairs), task="classification")
        errors = [f.message for f in report.findings if f.severity == "error"]
        assert errors == ["train has 1 label: there is nothing to distinguish"]

    def test_a_label_that_looks_like_several_is_told(self, examine):
        pairs = [(s, ["calm; glad", "sad"][n % 2]) for n, (s, _) in enumerate(PAIRS)]
        report = examine("[{file: a.tsv}]", a__tsv=tsv(pairs), task="classification")
        (severity, message), _ = self.messages(report)
        assert severity == "warning"
        assert message.startswith("'calm; glad' is taken for one label; if it is several, set")

    def test_several_labels_are_the_same_in_any_order(self, examine):
        pairs = [(s, ["calm;glad", "sad"][n % 2]) for n, (s, _) in enumerate(PAIRS)]
        pairs.append((PAIRS[0][0], "glad; calm"))
        report = examine(
            "[{file: a.tsv}]",
            a__tsv=tsv(pairs), task="classification", more="classification: {multi_label: true}",
        )  # fmt: skip
        assert ("duplicate", "a.tsv", 301) in tell(report, "warning")
        assert [severity for severity, _ in self.messages(report)] == ["info"]

    @pytest.mark.parametrize("rare", ["?", "중립적인", "<b>none</b>", "so so so so", "x" * 99])
    def test_a_rare_label_is_no_fault_whatever_it_is_made_of(self, examine, rare):
        pairs = [(s, ["positive", "negative"][n % 2]) for n, (s, _) in enumerate(PAIRS)]
        pairs[::30] = [(s, rare) for s, _ in pairs[::30]]
        report = examine(
            "[{file: a.tsv}], target_lang: en",
            a__tsv=tsv(pairs), task="classification", more="model: {max_length: 50}",
        )  # fmt: skip
        assert tell(report, "error", "warning") == []
        assert not report.corpora[0].flagged.any()

    def test_a_text_needs_a_label_unless_it_may_have_several(self, examine, tmp_path):
        pairs = [(s, ["", "calm", "glad;calm"][n % 3]) for n, (s, _) in enumerate(PAIRS)]
        files = {"a__tsv": tsv([*pairs, pairs[0]]), "d__tsv": tsv(pairs[1:90])}
        one = examine("[{file: a.tsv}]", task="classification", **files)
        assert [line for check, _, line in tell(one, "warning") if check == "empty"][:2] == [1, 4]
        several = examine(
            "[{file: a.tsv}]",
            dev="[{file: d.tsv}]",
            task="classification",
            more="classification: {multi_label: true}",
            **files,
        )
        assert not {"empty", "no-words"} & {f.check for f in several.findings}
        assert ("duplicate", "a.tsv", 301) in tell(several, "warning")
        loaded = load_config(str(tmp_path / "c.yaml"))
        clean(loaded.config, several, loaded.data_dir, tmp_path / "out")
        assert (tmp_path / "out" / "d.tsv").read_text() == files["d__tsv"]


def test_chunks_and_processes_change_nothing(examine, monkeypatch):
    text = tsv([*PAIRS, ("x <b>y</b>", "z"), PAIRS[3]])
    whole = examine("[{file: a.tsv}]", a__tsv=text)
    monkeypatch.setattr("nmt_cli.doctor.checkup._CHUNK", 50)
    assert examine("[{file: a.tsv}]").findings == whole.findings


class TestTraits:
    def test_much_markup_is_one_line_of_information(self, examine):
        pairs = [(f"``{s}`` x", t) for s, t in PAIRS]
        report = examine("[{file: a.tsv}]", a__tsv=tsv(pairs))
        assert tell(report, "warning") == []
        assert tell(report, "info").count(("markup", "a.tsv", None)) == 1

    def test_a_trait_of_the_target_names_its_file(self, examine):
        texts = {"a__en": "".join(f"{s}\n" for s, _ in PAIRS)}
        texts["a__de"] = "".join(f"{t}  \n" for _, t in PAIRS)
        report = examine("[{source: a.en, target: a.de}]", **texts)
        assert tell(report, "info").count(("white-space", "a.de", None)) == 1
        assert not report.corpora[0].flagged.any()

    def test_stock_answers_are_one_line_of_information(self, examine):
        pairs = [(source, ("I see.", "Go on!")[i % 2]) for i, (source, _) in enumerate(PAIRS)]
        report = examine("[{file: a.tsv}]", task="chat", a__tsv=tsv(pairs))
        assert tell(report, "warning") == []
        (stock,) = [f for f in report.findings if f.check == "repeated-targets"]
        assert "100% of the targets" in stock.message
        assert "150 times" in stock.message

    def test_replies_are_no_translations(self, examine):
        pairs = [
            *PAIRS,
            ("Are there 500 of them?", "Yes, 700, all of them at www.a.org"),
        ]
        report = examine("[{file: a.tsv}]", task="chat", a__tsv=tsv(pairs))
        assert not {"numbers", "links", "length-ratio"} & {f.check for f in report.findings}

    def test_greetings_of_dialogues_may_repeat(self, examine):
        lines = [json.dumps({"turns": ["hi", "hello there", s, t]}) + "\n" for s, t in PAIRS]
        report = examine("[{file: a.jsonl}]", task="chat", a__jsonl="".join(lines))
        assert not {"duplicate", "leakage"} & {f.check for f in report.findings}


class TestLanguages:
    def test_each_direction_is_tested_by_its_own_text(self, examine):
        korean = [(s, f"오늘은 날씨가 참 좋네요 {s.split()[-1]}") for s, _ in PAIRS]
        korean[9] = (korean[9][0], "Das ist heute aber ein schönes Wetter")
        files = {"a__tsv": tsv(PAIRS), "b__tsv": tsv(korean), "d__tsv": tsv([("drei", "셋")])}
        report = examine(
            "[{file: a.tsv, source_lang: en, target_lang: de},"
            " {file: b.tsv, source_lang: en, target_lang: ko}]",
            dev="[{file: d.tsv, source_lang: de, target_lang: ko}]",  # a way that train has not
            **files,
        )
        found = [finding for finding in tell(report, "warning", "info") if finding[0] == "script"]
        assert found == [("script", "b.tsv", 10)]

    def test_a_direction_whose_sides_are_swapped(self, examine):
        korean = [(s, f"오늘은 날씨가 참 좋네요 {s.split()[-1]}") for s, _ in PAIRS]
        report = examine(
            "[{file: a.tsv, source_lang: en, target_lang: de},"
            " {file: b.tsv, source_lang: ko, target_lang: en}]",
            a__tsv=tsv(PAIRS), b__tsv=tsv(korean),
        )  # fmt: skip
        told = [f.message for f in report.findings if f.message.startswith("source_lang is ko")]
        assert len(told) == 1
        assert told[0].endswith("of its letters are Latin; are the sides swapped?")


class TestRepeats:
    def test_duplicates_name_the_first(self, examine):
        pairs = [*PAIRS, (PAIRS[4][0].upper() + "!", PAIRS[4][1]), (PAIRS[5][0], "other")]
        report = examine("[{file: a.tsv}]", a__tsv=tsv(pairs))
        (duplicate,) = [f for f in report.findings if f.check == "duplicate"]
        assert (duplicate.line, duplicate.message) == (301, "as a.tsv:5")

    def test_duplicates_over_several_corpora(self, examine):
        report = examine(
            "[{file: a.tsv}, {file: b.tsv}]", a__tsv=tsv(PAIRS), b__tsv="x\ty\n" + tsv(PAIRS[7:8])
        )
        assert ("duplicate", "b.tsv", 2) in tell(report, "warning")

    def test_leakage_is_told_where_it_can_be_mended(self, examine):
        dev = [(f"dev {s}", f"dev {t}") for s, t in PAIRS[:150]]
        train = [*PAIRS, (dev[9][0] + " ...", "another translation")]
        report = examine(
            "[{file: a.tsv}]", dev="[{file: d.tsv}]", a__tsv=tsv(train), d__tsv=tsv(dev)
        )
        (leak,) = [f for f in report.findings if f.check == "leakage"]
        assert (leak.file.name, leak.line) == ("a.tsv", 301)
        assert leak.message.endswith("d.tsv:10")

    def test_a_target_leaks_alone_unless_it_is_short_or_stock(self, examine):
        dev = [
            *((f"dev {s}", f"dev {t}") for s, t in PAIRS[:150]),
            ("d1", "Ja. 123"),
            ("d2", "Das geht wohl so."),
        ]
        train = [*PAIRS, ("a", "Dev: " + dev[9][1][4:]), ("b", dev[150][1])]
        train += [(f"{i} c", "Das geht wohl so!") for i in range(4)]
        texts = {"a__en": "\n".join(s for s, _ in train), "a__de": "\n".join(t for _, t in train)}
        texts |= {"d__en": "\n".join(s for s, _ in dev), "d__de": "\n".join(t for _, t in dev)}
        sides = "[{source: X.en, target: X.de}]"
        files = {"train": sides.replace("X", "a"), "dev": sides.replace("X", "d")}
        (leak,) = [f for f in examine(**files, **texts).findings if f.check == "leakage"]
        assert (leak.file.name, leak.line, leak.severity) == ("a.de", 301, "warning")
        assert leak.message.startswith("the target is also ")
        assert leak.message.endswith("d.de:10")
        chat = examine(**files, task="chat", **texts)
        assert not [f for f in chat.findings if f.check == "leakage"]

    def test_a_leaked_pair_is_told_once(self, examine):
        dev = [(f"dev {s}", f"dev {t}") for s, t in PAIRS[:150]]
        texts = {"a__tsv": tsv([*PAIRS, dev[9]]), "d__tsv": tsv(dev)}
        report = examine("[{file: a.tsv}]", dev="[{file: d.tsv}]", **texts)
        (leak,) = [f for f in report.findings if f.check == "leakage"]
        assert leak.message.startswith("the source is also ")

    def test_much_leakage_is_an_error(self, examine):
        report = examine(
            "[{file: a.tsv}]", dev="[{file: d.tsv}]", a__tsv=tsv(PAIRS), d__tsv=tsv(PAIRS[:100])
        )
        assert ("leakage", None, None) in tell(report, "error")


class TestCleaning:
    @pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
    def test_one_file_keeps_its_format(self, examine, tmp_path, kind):
        comma = {"tsv": "\t", "csv": ","}.get(kind)
        pairs = [*PAIRS, ("a\x07b house", "das ist B"), ("", "leer"), ("<i>x</i> tree", "x")]
        if comma:
            lines = [
                f"id{comma}en{comma}de",
                *(f"7{comma}{s}{comma}{t}" for s, t in pairs),
                "short",
            ]
            corpus = {"file": f"a.{kind}", "columns": ["en", "de"]}
        else:
            lines = [json.dumps({"id": 7, "source": s, "target": t}) for s, t in pairs] + ["{"]
            corpus = {"file": f"a.{kind}"}
        report = examine(json.dumps([corpus]), **{f"a__{kind}": "\n".join(lines)})
        loaded = load_config(str(tmp_path / "c.yaml"))
        config, dropped, mended = clean(loaded.config, report, loaded.data_dir, tmp_path / "out")
        text = (tmp_path / "out" / f"a.{kind}").read_text()
        assert (dropped, mended) == (3, 1)
        expected = [lines[0], *lines[1:301]] if comma else lines[:300]
        assert text.splitlines()[: len(expected)] == expected
        assert "ab house" in text.splitlines()[-1]
        assert "7" in text.splitlines()[-1]
        rows = list(Corpora(config, tmp_path / "out").iter_split("train"))
        assert len(rows) + 10 == 301

    def test_a_file_that_is_read_twice_has_two_copies(self, examine, tmp_path):
        text = tsv([*PAIRS, ("", "leer")])
        report = examine("[{file: a.tsv}]", dev="[{file: a.tsv, columns: [2, 1]}]", a__tsv=text)
        loaded = load_config(str(tmp_path / "c.yaml"))
        config, *_ = clean(loaded.config, report, loaded.data_dir, tmp_path / "out")
        assert [config.data.train[0].file, config.data.dev[0].file] == ["a.tsv", "2-a.tsv"]
        assert (tmp_path / "out" / "2-a.tsv").read_text() == tsv(PAIRS)

    def test_dialogues_of_a_text_file_stay_whole(self, examine, tmp_path):
        dialogues = [
            [s, f"I see, {n} times.", f"Why so {n}?", t] for n, (s, t) in enumerate(PAIRS[:100])
        ]
        for number, turn in ((3, "I <b>see</b>"), (5, "a\x07b house"), (7, "c  d house")):
            dialogues[number][1] = turn
        dialogues[8].append("A turn that nobody answers.")
        text = "\n\n\n".join("\n".join(turns) for turns in dialogues)
        dev = "Hello.\n\u200b\nAre you there?\nYes.\n\n"  # without its mark, a line is blank
        report = examine(
            "[{file: a.txt}]", dev="[{file: d.txt}]", task="chat", a__txt=f"\n{text}", d__txt=dev
        )
        loaded = load_config(str(tmp_path / "c.yaml"))
        _, dropped, mended = clean(loaded.config, report, loaded.data_dir, tmp_path / "out")
        assert (dropped, mended) == (1, 2)
        dialogues[5][1], dialogues[7][1] = "ab house", "c d house"
        del dialogues[3]
        copy = (tmp_path / "out" / "a.txt").read_text()
        assert copy == "".join("\n".join(turns) + "\n\n" for turns in dialogues)
        assert (tmp_path / "out" / "d.txt").read_text() == dev
        (told,) = (tmp_path / "out" / "dropped.tsv").read_text().splitlines()[1:]
        assert told.split("\t")[1:3] == ["20", "markup"]

    def test_the_glossary_comes_along(self, examine, tmp_path):
        files = {"a__tsv": tsv(PAIRS), "terms__tsv": "house\tHaus\n"}
        report = examine(f"[{{file: a.tsv}}], glossary: {tmp_path / 'terms.tsv'}", **files)
        loaded = load_config(str(tmp_path / "c.yaml"))
        config, *_ = clean(loaded.config, report, loaded.data_dir, tmp_path / "out")
        assert config.data.glossary == "terms.tsv"
        Corpora(config, tmp_path / "out").check_files()
        assert (tmp_path / "out" / "terms.tsv").read_text() == files["terms__tsv"]

    def test_files_out_of_step_are_not_touched(self, examine, tmp_path):
        from nmt_cli.errors import DataError

        report = examine("[{source: a.en, target: a.de}]", a__en="a\nb\n", a__de="a\n")
        loaded = load_config(str(tmp_path / "c.yaml"))
        with pytest.raises(DataError, match=r"a\.en has 2 lines"):
            clean(loaded.config, report, loaded.data_dir, tmp_path / "out")
        assert not (tmp_path / "out").exists()
