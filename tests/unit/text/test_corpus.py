"""Tests of nmt_cli/text/corpus.py: every format, and what is wrong with which line."""

import gzip
import json
import random

import pytest

from nmt_cli.config.schema import Config
from nmt_cli.errors import DataError
from nmt_cli.text.corpus import Corpora, Example, texts


@pytest.fixture
def put(tmp_path):
    """A function that writes a file; a name that ends in `.gz` is compressed."""

    def put(name: str, content: str | bytes) -> str:
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return name

    return put


@pytest.fixture
def corpora(tmp_path):
    """A function that makes `Corpora` of the files in the temporary folder."""

    def corpora(*train: dict, dev=None, test=(), task="translation", seed=1, history=3) -> Corpora:
        data = {"train": list(train), "dev": dev or list(train), "test": list(test)}
        tree = {"name": "x", "task": task, "seed": seed, "data": data}
        config = Config.model_validate({**tree, "chat": {"history_turns": history}})
        return Corpora(config, tmp_path)

    return corpora


@pytest.fixture
def read(corpora):
    """A function that returns the training pairs of one corpus."""

    def read(**corpus) -> list[tuple[str, ...]]:
        return [
            (*example.source, example.target) for example in corpora(corpus).iter_split("train")
        ]

    return read


@pytest.fixture
def problem(read, tmp_path):
    """A function that returns the message and hint of a wrong corpus, its folder cut off."""

    def problem(**corpus) -> tuple[str, str | None]:
        with pytest.raises(DataError) as caught:
            read(**corpus)
        assert caught.value.exit_code == 3
        return str(caught.value).replace(f"{tmp_path}/", ""), caught.value.hint

    return problem


ODD = ["\u2028", "\u2029", "\u0085", "\v", "\f", "\x1c", "\u00a0"]


class TestParallelFiles:
    def test_line_n_is_the_translation_of_line_n(self, put, read):
        put("a.en", "one\n two \nthree\n")
        put("a.de", "eins\nzwei\ndrei")
        assert read(source="a.en", target="a.de") == [
            ("one", "eins"),
            (" two ", "zwei"),
            ("three", "drei"),
        ]

    def test_gz_crlf_and_bom(self, put, read):
        put("a.en.gz", b"\xef\xbb\xbfone\r\ntwo\r\n")
        put("a.de", b"\xef\xbb\xbfeins\nzwei\n")
        assert read(source="a.en.gz", target="a.de") == [("one", "eins"), ("two", "zwei")]

    @pytest.mark.parametrize("odd", ODD)
    def test_only_newlines_end_lines(self, put, read, odd):
        put("a.en", f"one{odd}two\nthree\n")
        put("a.de", f"eins\ndrei{odd}!\n")
        assert read(source="a.en", target="a.de") == [
            (f"one{odd}two", "eins"),
            ("three", f"drei{odd}!"),
        ]

    def test_pairs_with_a_blank_side_are_left_out(self, put, read):
        put("a.en", "one\n\n \t\nfour\nfive\n")
        put("a.de", "eins\nzwei\ndrei\n\u3000\nfünf\n")
        assert read(source="a.en", target="a.de") == [("one", "eins"), ("five", "fünf")]

    @pytest.mark.parametrize(("left", "right"), [(2, 5), (5, 2), (0, 1), (3, 0)])
    def test_different_line_counts_are_told_with_both(self, put, problem, left, right):
        put("a.en", "x\n" * left)
        put("a.de", "y\n" * right)
        message, hint = problem(source="a.en", target="a.de")
        assert message == f"a.en has {left} lines, a.de has {right}"
        assert hint == "line N of one file must be the translation of line N of the other"

    def test_invalid_utf8_is_told_with_file_and_line(self, put, problem):
        put("a.en", "one\ntwo\n")
        put("a.de", b"eins\nzw\xf6lf\n")
        assert problem(source="a.en", target="a.de")[0] == (
            "a.de:2: not valid UTF-8 (byte 3 of the line)"
        )


class TestTables:
    def test_tsv_without_heading(self, put, read):
        put("a.tsv", "one\teins\textra\n\ntwo\tzwei\n")
        assert read(file="a.tsv") == [("one", "eins"), ("two", "zwei")]

    def test_tsv_columns_by_number(self, put, read):
        put("a.tsv", "1\teins\tone\n2\tzwei\ttwo\n")
        assert read(file="a.tsv", columns=[3, 2]) == [("one", "eins"), ("two", "zwei")]

    def test_tsv_with_heading(self, put, read):
        put("a.tsv.gz", b"\xef\xbb\xbfid\tde\ten\r\n1\teins\tone\r\n")
        assert read(file="a.tsv.gz", columns=["en", "de"]) == [("one", "eins")]
        assert read(file="a.tsv.gz", columns=["id", 2]) == [("1", "eins")]

    def test_tsv_has_no_quotes(self, put, read):
        put("a.tsv", 'say "hi"\t"eins\n"\tx\n')
        assert read(file="a.tsv") == [('say "hi"', '"eins'), ('"', "x")]

    @pytest.mark.parametrize("odd", ODD)
    @pytest.mark.parametrize("kind", ["tsv", "csv"])
    def test_only_newlines_end_lines(self, put, read, odd, kind):
        put(
            f"a.{kind}", f"one{odd}two,eins{odd}zwei\n".replace(",", "\t" if kind == "tsv" else ",")
        )
        assert read(file=f"a.{kind}") == [(f"one{odd}two", f"eins{odd}zwei")]

    def test_csv_with_quotes_and_newlines_in_fields(self, put, read):
        put("a.csv", '"say ""hi"", you","eins,\r\nzwei"\r\n\r\nplain, spaced \n"\n",x\n')
        assert read(file="a.csv") == [('say "hi", you', "eins, zwei"), ("plain", " spaced ")]

    def test_csv_with_heading(self, put, read):
        put("a.csv.gz", "Q,A,label\n안녕,안녕하세요,0\n")
        assert read(file="a.csv.gz", columns=["Q", "A"]) == [("안녕", "안녕하세요")]

    def test_a_very_long_field(self, put, read):
        put("a.csv", f'"{"x" * 300_000}",y\n')
        assert len(read(file="a.csv")[0][0]) == 300_000

    @pytest.mark.parametrize(("kind", "comma"), [("tsv", "\t"), ("csv", ",")])
    def test_a_missing_column_is_told_with_the_nearest(self, put, problem, kind, comma):
        put(f"a.{kind}", f"question{comma}answer\nx{comma}y\n")
        message, hint = problem(file=f"a.{kind}", columns=["question", "answers"])
        assert message == (
            f"a.{kind}:1: no column 'answers' in the heading line. Did you mean 'answer'?"
        )
        assert hint == "its columns are: question, answer"

    def test_an_empty_file_has_no_columns(self, put, problem, read):
        put("a.tsv", "")
        assert problem(file="a.tsv", columns=["Q", "A"])[0] == (
            "a.tsv:1: no column 'Q' in the heading line."
        )
        assert read(file="a.tsv") == []

    def test_a_short_row_is_told_with_its_line(self, put, problem):
        put("a.tsv", "a\tb\tc\n\nd\te\n")
        assert problem(file="a.tsv", columns=[1, 3])[0] == (
            "a.tsv:3: 2 columns, but column 3 is needed"
        )
        put("b.csv", 'a,"b\nb\nb"\nc\n')
        assert problem(file="b.csv")[0] == "b.csv:4: 1 column, but column 2 is needed"

    @pytest.mark.parametrize("sign", [",", ";", "\t"])
    def test_columns_of_a_csv_are_separated_by_any_of_three_signs(self, put, read, sign):
        put("a.csv", f'Q{sign}A\n"a, b; c"{sign}"d, e"\n')
        assert read(file="a.csv", columns=["Q", "A"]) == [("a, b; c", "d, e")]

    def test_the_sign_gives_all_rows_the_same_number_of_columns(self, put, read):
        put("a.csv", "Yes, a cat.;Ja, eine Katze.\nA dog.;Ein Hund.\n\n")
        assert read(file="a.csv")[0] == ("Yes, a cat.", "Ja, eine Katze.")
        rows = ['"a, b";"c, d"'] * 19 + ['"e']  # a text of two lines
        put("b.csv", "\n".join([*rows, 'f";g\n']))
        assert read(file="b.csv")[-1] == ("e f", "g")
        put("c.csv", '"a, b";"c\nd"\ne;f;g\n')  # none does: the first line
        assert read(file="c.csv") == [("a, b", "c d"), ("e", "f")]

    @pytest.mark.parametrize("name", ["A.CSV", "A.TSV", "A.JSONL", "a.json"])
    def test_a_name_may_end_in_capitals_and_json_is_json_lines(self, put, read, name):
        row = {".CSV": '"a",b', ".TSV": "a\tb"}.get(name[1:], '{"source": "a", "target": "b"}')
        put(name, f"{row}\n")
        assert read(file=name) == [("a", "b")]

    def test_invalid_csv_is_told_with_its_line(self, put, problem):
        put("a.csv", 'a,b\nc,"d"e\n')
        assert problem(file="a.csv")[0].startswith("a.csv:2: not valid CSV: ")
        put("b.csv", 'a,b\nc,"d\ne\n')
        assert problem(file="b.csv")[0].startswith("b.csv:2: not valid CSV: ")

    @pytest.mark.parametrize("name", ["a.tsv", "a.csv.gz", "a.jsonl"])
    def test_invalid_utf8_is_told_with_its_line(self, put, problem, name):
        put(name, b"\n\n\xff\n")
        assert problem(file=name)[0] == f"{name}:3: not valid UTF-8 (byte 1 of the line)"


class TestJsonLines:
    def test_keys_are_source_and_target(self, put, read):
        put(
            "a.jsonl",
            '{"source": "one", "target": "eins", "id": 1}\n\n{"target": "b", "source": "a"}',
        )
        assert read(file="a.jsonl") == [("one", "eins"), ("a", "b")]

    def test_keys_may_be_named(self, put, read):
        put("b.jsonl", '{"translation": {"en": "a", "de": "b"}, "x.y": "c"}\n')
        assert read(file="b.jsonl", columns=["translation.de", "x.y"]) == [("b", "c")]
        put("a.jsonl.gz", '{"Q": "l1\\nl2 \\ud83d\\ude00", "A": "é\u2028"}\r\n')
        assert read(file="a.jsonl.gz", columns=["Q", "A"]) == [("l1\nl2 😀", "é\u2028")]

    @pytest.mark.parametrize(
        ("line", "message"),
        [
            ('{"source": "a"}', "needs text in the keys source and target"),
            ('{"source": "a", "target": 3}', "needs text in the keys source and target"),
            ('{"source": "a", "target": null}', "needs text in the keys source and target"),
            ("[1]", "a line must be a JSON object"),
            ('"text"', "a line must be a JSON object"),
            ('{"source": ', "not valid JSON: Expecting value"),
            ("{'source': 1}", "not valid JSON: Expecting property name"),
            ("[" * 100_000, "not valid JSON: "),
            ("9" * 5000, "not valid JSON: "),
            ('{"source": "\\ud83d", "target": "b"}', "half of a surrogate pair (\\uD800"),
            ('{"source": "a", "target": "\\uDE00"}', "half of a surrogate pair (\\uD800"),
        ],
    )
    def test_what_is_wrong_is_told_with_its_line(self, put, problem, line, message):
        put("a.jsonl", '{"source": "a", "target": "b"}\n\n' + line + "\n")
        assert problem(file="a.jsonl")[0].startswith(f"a.jsonl:3: {message}")


class TestDialogues:
    def read(self, corpora, *, history: int, **corpus) -> list[tuple[tuple[str, ...], str]]:
        chat = corpora({"file": "d.jsonl", **corpus}, task="chat", history=history)
        return [(example.source, example.target) for example in chat.iter_split("train")]

    def test_each_reply_is_an_example_with_the_turns_before_it(self, put, corpora):
        put("d.jsonl", json.dumps({"turns": ["u1", "b1", "u2", "b2", "u3", "b3"]}) + "\n")
        assert self.read(corpora, history=9) == [
            (("u1",), "b1"),
            (("u1", "b1", "u2"), "b2"),
            (("u1", "b1", "u2", "b2", "u3"), "b3"),
        ]

    @pytest.mark.parametrize(
        ("history", "last"),
        [(0, ("u3",)), (1, ("b2", "u3")), (2, ("u2", "b2", "u3")), (3, ("b1", "u2", "b2", "u3"))],
    )
    def test_the_history_is_cut(self, put, corpora, history, last):
        put("d.jsonl", json.dumps({"turns": ["u1", "b1", "u2", "b2", "u3", "b3"]}))
        assert self.read(corpora, history=history)[-1] == (last, "b3")

    def test_a_last_turn_of_the_user_has_no_reply(self, put, corpora):
        put("d.jsonl", '{"turns": ["u1", "b1", "u2"]}\n{"turns": ["u"]}\n{"turns": []}\n')
        assert self.read(corpora, history=3) == [(("u1",), "b1")]

    @pytest.mark.parametrize("end", [[], ["u3"]])
    def test_of_a_dialogue_only_the_last_reply_may_be_learnt(self, put, corpora, end):
        turns = ["u1", "b1", "u2", "b2", *end]
        put("d.jsonl", json.dumps({"turns": turns, "learn": "last"}))
        assert self.read(corpora, history=3) == [(("u1", "b1", "u2"), "b2")]

    def test_where_nothing_is_said_all_replies_are_learnt(self, put, corpora):
        for learn in ("all", "last"):
            put("d.jsonl", json.dumps({"turns": ["u1"], "learn": learn}))
            assert self.read(corpora, history=3) == []
        put("d.jsonl", json.dumps({"turns": ["u1", "b1", "u2", "b2"], "learn": "all"}))
        assert len(self.read(corpora, history=3)) == 2

    @pytest.mark.parametrize("learn", ['"first"', "1", "null", "[]"])
    def test_what_else_may_be_learnt_is_told(self, put, corpora, tmp_path, learn):
        put("d.jsonl", '{"turns": ["a", "b"], "learn": ' + learn + "}")
        with pytest.raises(DataError) as caught:
            self.read(corpora, history=3)
        assert str(caught.value) == f'{tmp_path}/d.jsonl:1: "learn" is {learn}'
        assert '"last"' in caught.value.hint

    def test_blank_questions_and_replies_are_left_out(self, put, corpora):
        put("d.jsonl", '{"turns": ["u1", " ", "u2", "b2"]}\n{"turns": ["", "b1"]}\n')
        assert self.read(corpora, history=3) == [(("u1", " ", "u2"), "b2")]

    def test_messages_are_turns_too(self, put, corpora):
        said = [
            ("system", "be kind"), ("assistant", "welcome"), ("user", "u1"), ("assistant", "b1"),
            ("user", "u2"), ("system", "be brief"), ("user", "and u3"), ("assistant", "b2"),
        ]  # fmt: skip
        messages = [{"role": role, "content": text, "id": 3} for role, text in said]
        put("d.jsonl", json.dumps({"messages": messages, "turns": ["x", "y"]}))
        pairs = [(("u1",), "b1"), (("u1", "b1", "u2 and u3"), "b2")]
        assert self.read(corpora, history=3) == pairs
        put("d.jsonl", json.dumps({"messages": messages, "learn": "last"}))
        assert self.read(corpora, history=3) == pairs[1:]

    @pytest.mark.parametrize("messages", [[], [{"role": "system", "content": "be kind"}]])
    def test_messages_of_nobody_are_no_example(self, put, corpora, messages):
        put("d.jsonl", json.dumps({"messages": messages}))
        assert self.read(corpora, history=3) == []

    @pytest.mark.parametrize(
        "line",
        [
            '{"turn": []}',
            '{"turns": "a"}',
            '{"turns": ["a", 1]}',
            '{"messages": "a"}',
            '{"messages": ["a"]}',
            '{"messages": [{"role": "tool", "content": "a"}]}',
            '{"messages": [{"role": "user", "content": null}]}',
            '{"messages": [{"role": ["user"], "content": "a"}]}',
        ],
    )
    def test_what_is_wrong_is_told_with_its_line(self, put, corpora, tmp_path, line):
        put("d.jsonl", '{"turns": ["a", "b"]}\n' + line)
        with pytest.raises(DataError) as caught:
            self.read(corpora, history=3)
        assert str(caught.value) == (
            f'{tmp_path}/d.jsonl:2: needs {{"turns": ["...", "..."]}} or '
            '{"messages": [{"role": "user", "content": "..."}, ...]}'
        )
        assert "columns: [question, answer]" in caught.value.hint

    @pytest.mark.parametrize(
        "text", ["u1\nb1\nu2\nb2\n\nv1\nc1\n", "\n\nu1\nb1\nu2\nb2\n \t\n\nv1\nc1\n\n"]
    )
    def test_text_has_blank_lines_between_dialogues(self, put, corpora, text):
        put("d.txt", text)
        read = self.read(corpora, history=0, file="d.txt")
        assert read == [(("u1",), "b1"), (("u2",), "b2"), (("v1",), "c1")]

    def test_text_with_columns_is_a_table(self, put, corpora):
        put("d.txt", "u1\tb1\nu2\tb2\n")
        read = self.read(corpora, history=0, file="d.txt", columns=[1, 2])
        assert read == [(("u1",), "b1"), (("u2",), "b2")]

    def test_records_of_a_question_and_an_answer(self, put, corpora):
        put("d.jsonl", '{"q": "u1", "a": "b1"}\n')
        assert self.read(corpora, history=3, columns=["q", "a"]) == [(("u1",), "b1")]

    @pytest.mark.parametrize(
        ("history", "share", "expected"),
        [
            (2, 1.0, [("a",), ("a", "1", "b"), ("b", "2", "c"), ("c", "3", "d")]),
            (2, 0.5, [("a",), ("a", "1", "b"), ("c",), ("c", "3", "d")]),
            (
                5,
                1.0,
                [("a",), ("a", "1", "b"), ("b", "2", "c"), ("b", "2", "c", "3", "d")],
            ),
            (2, 0.0, [("a",), ("b",), ("c",), ("d",)]),
            (1, 1.0, [("a",), ("b",), ("c",), ("d",)]),
        ],
    )
    def test_single_rows_borrow_the_rows_before_them(self, put, tmp_path, history, share, expected):
        """Whole exchanges, so that the speakers alternate; one and as many as are taken in turn."""
        put("a.tsv", "a\t1\nb\t2\nc\t3\nd\t4\n")
        chat = {"history_turns": history, "borrowed_history": share}
        data = {"train": [{"file": "a.tsv"}], "dev": [{"file": "a.tsv"}]}
        config = Config.model_validate({"name": "x", "task": "chat", "data": data, "chat": chat})
        examples = list(Corpora(config, tmp_path).iter_split("train"))
        assert [example.source for example in examples] == expected
        assert [example.target for example in examples] == ["1", "2", "3", "4"]

    def test_nothing_held_out_is_borrowed(self, put, tmp_path):
        """A question of dev never stands in a training example, not even as history."""
        put("a.tsv", "".join(f"q{i}\ta{i}\n" for i in range(40)))
        chat = {"history_turns": 4, "borrowed_history": 1.0}
        data = {"train": [{"file": "a.tsv"}], "dev": [{"rows": 10}]}
        config = Config.model_validate({"name": "x", "task": "chat", "data": data, "chat": chat})
        corpora = Corpora(config, tmp_path)
        held_out = {example.source[-1] for example in corpora.iter_split("dev")}
        seen = {turn for example in corpora.iter_split("train") for turn in example.source}
        assert len(held_out) == 10
        assert not held_out & seen

    def test_dialogues_are_for_chat(self, put, problem):
        put("d.jsonl", '{"turns": ["a", "b"]}\n')
        assert "needs text in the keys source and target" in problem(file="d.jsonl")[0]


class TestSplits:
    def test_several_corpora_follow_each_other(self, put, corpora):
        put("a.tsv", "a\tA\n")
        put("b.csv", "b,B\n")
        put("c.jsonl", '{"source": "c", "target": "C"}\n')
        found = corpora({"file": "a.tsv"}, {"file": "b.csv"}, {"file": "c.jsonl"})
        assert list(found.iter_split("train")) == [
            Example(("a",), "A"),
            Example(("b",), "B"),
            Example(("c",), "C"),
        ]

    def test_each_split_has_its_own(self, put, corpora):
        for name in "abc":
            put(f"{name}.tsv", f"{name}\t{name.upper()}\n")
        found = corpora({"file": "a.tsv"}, dev=[{"file": "b.tsv"}], test=[{"file": "c.tsv"}])
        splits = {split: next(found.iter_split(split)).target for split in ("train", "dev", "test")}
        assert splits == {"train": "A", "dev": "B", "test": "C"}
        assert list(corpora({"file": "a.tsv"}).iter_split("test")) == []

    def test_files_of_a_split(self, put, corpora, tmp_path):
        for name in ("a.en", "a.de", "b.tsv", "c.tsv"):
            put(name, "x\n")
        found = corpora(
            {"source": "a.en", "target": "a.de"},
            {"file": "b.tsv"},
            dev=[{"rows": 1}, {"file": "c.tsv"}],
        )
        assert found.files("train") == [tmp_path / name for name in ("a.en", "a.de", "b.tsv")]
        assert found.files("dev") == [
            tmp_path / name for name in ("c.tsv", "a.en", "a.de", "b.tsv")
        ]
        assert found.files("test") == []

    def test_every_missing_file_is_told(self, put, corpora, tmp_path):
        put("a.en", "x\n")
        found = corpora({"source": "a.en", "target": "a.de"}, {"file": "b.tsv"})
        with pytest.raises(DataError) as caught:
            found.files("train")
        assert str(caught.value) == f"{tmp_path}/a.de, {tmp_path}/b.tsv: no such file"
        assert f"with --data-dir (now {tmp_path})" in caught.value.hint

    def test_the_same_files_can_be_read_again(self, put, corpora):
        put("a.tsv", "a\tA\nb\tB\n")
        found = corpora({"file": "a.tsv"})
        assert list(found.iter_split("train")) == list(found.iter_split("train"))


class TestHeldOutRows:
    ROWS = 100

    def split(self, corpora, *train, seed=1, rows=ROWS) -> tuple[list[Example], list[Example]]:
        found = corpora(*train, dev=[{"rows": rows}], seed=seed)
        return list(found.iter_split("train")), list(found.iter_split("dev"))

    @pytest.fixture
    def lines(self, put):
        lines = [f"sentence number {n}\tSatz {n}" for n in range(2000)]
        put("a.tsv", "\n".join(lines))
        return lines

    def test_exactly_so_many_when_all_sources_differ(self, lines, corpora):
        train, dev = self.split(corpora, {"file": "a.tsv"})
        assert len(dev) == self.ROWS
        assert sorted("\t".join((*e.source, e.target)) for e in train + dev) == sorted(lines)

    def test_files_keep_their_order(self, lines, corpora):
        for examples in self.split(corpora, {"file": "a.tsv"}):
            numbers = [int(example.target.split()[1]) for example in examples]
            assert numbers == sorted(numbers)

    def test_the_same_seed_takes_the_same_wherever_they_stand(self, lines, corpora, put):
        _, dev = self.split(corpora, {"file": "a.tsv"})
        random.Random(1).shuffle(lines)
        put("b.tsv", "\n".join(lines))
        assert set(self.split(corpora, {"file": "b.tsv"})[1]) == set(dev)

    def test_another_seed_takes_others(self, lines, corpora):
        one, other = (set(self.split(corpora, {"file": "a.tsv"}, seed=s)[1]) for s in (1, 2))
        assert len(one & other) < self.ROWS / 2

    def test_they_come_from_all_training_corpora(self, lines, corpora, put):
        put("b.tsv", "\n".join(f"another line {n}\tZeile {n}" for n in range(2000)))
        train, dev = self.split(corpora, {"file": "a.tsv"}, {"file": "b.tsv"})
        assert len(dev) == self.ROWS
        assert {example.target.split()[0] for example in dev} == {"Satz", "Zeile"}
        assert not {example.source for example in train} & {example.source for example in dev}

    def test_other_development_files_are_added(self, lines, corpora, put):
        put("dev.tsv", "extra\tmehr\n")
        found = corpora({"file": "a.tsv"}, dev=[{"rows": 5}, {"file": "dev.tsv"}])
        dev = list(found.iter_split("dev"))
        assert len(dev) == 6
        assert dev[-1] == Example(("extra",), "mehr")

    def test_sources_that_read_the_same_stay_together(self, corpora, put):
        variants = (
            "Where is café {}?",
            "where is CAFÉ {}",
            " Where... is cafe\u0301 {}!",
            "Where is café {}?",
        )
        lines = [f"{v.format(n)}\t{i} {n}" for n in range(300) for i, v in enumerate(variants)]
        random.Random(1).shuffle(lines)
        put("a.tsv", "\n".join(lines))
        train, dev = self.split(corpora, {"file": "a.tsv"})
        assert len(train) + len(dev) == len(lines)
        assert self.ROWS <= len(dev) < self.ROWS + len(variants)
        numbers = [{e.target.split()[1] for e in examples} for examples in (train, dev)]
        assert not numbers[0] & numbers[1]

    def test_why_test_has_fewer_is_told(self, corpora, put):
        put("a.tsv", "\n".join(f"sentence {n}\tder lange Satz {n // 4}" for n in range(400)))
        rows = [{"rows": 40}]
        found = corpora({"file": "a.tsv"}, dev=rows, test=rows)
        taken = len(list(found.iter_split("test")))
        assert taken < 40
        assert found.rows_told("test") == (
            f"test: {taken} pairs (40 asked, {taken} taken, because no source or target may be in "
            "dev and test)"
        )
        assert corpora({"file": "a.tsv"}, test=rows).rows_told("test") == "test: 40 pairs"

    def test_of_translations_no_target_is_in_two_splits(self, corpora, put):
        put("a.tsv", "".join(f"source {n}\tthe same translation {n // 4}\n" for n in range(400)))
        train, dev = self.split(corpora, {"file": "a.tsv"}, rows=40)
        assert len(dev) == 40
        assert not {e.target for e in train} & {e.target for e in dev}
        chat = corpora({"file": "a.tsv"}, dev=[{"rows": 40}], task="chat")
        assert len(list(chat.iter_split("train"))) == 360  # answers may be the same

    def test_the_last_question_decides_in_a_dialogue(self, corpora, put):
        put(
            "d.jsonl", "\n".join(json.dumps({"turns": [f"u{n % 50}", f"b{n}"]}) for n in range(500))
        )
        found = corpora({"file": "d.jsonl"}, dev=[{"rows": 40}], task="chat")
        train, dev = (list(found.iter_split(split)) for split in ("train", "dev"))
        assert not {e.source[-1] for e in train} & {e.source[-1] for e in dev}
        assert 40 <= len(dev) < 50

    def test_blank_pairs_do_not_count(self, corpora, put):
        put("a.tsv", "\n".join(f"s{n}\t{'t' if n % 2 else ' '}" for n in range(100)))
        train, dev = self.split(corpora, {"file": "a.tsv"}, rows=20)
        assert (len(train), len(dev)) == (30, 20)

    @pytest.mark.parametrize("rows", [3, 4])
    def test_more_than_there_are(self, corpora, put, rows):
        put("a.tsv", "a\tA\nb\tB\nc\tC\n\t\n")
        with pytest.raises(DataError) as caught:
            self.split(corpora, {"file": "a.tsv"}, rows=rows)
        assert str(caught.value) == f"dev takes {rows} rows out of train, which has only 3"

    def test_test_files_are_left_alone(self, lines, corpora, put):
        put("test.tsv", "sentence number 1\tSatz 1\n")
        found = corpora({"file": "a.tsv"}, dev=[{"rows": 1999}], test=[{"file": "test.tsv"}])
        assert len(list(found.iter_split("test"))) == 1


def test_texts_of_one_side_or_both():
    examples = [Example(("u1", "b1", "u2"), "b2"), Example(("u",), "b")]
    assert list(texts(examples, "source")) == ["u1", "b1", "u2", "u"]
    assert list(texts(examples, "target")) == ["b2", "b"]
    assert list(texts(examples, "joint")) == ["u1", "b1", "u2", "b2", "u", "b"]


def test_a_small_training_text_is_read_once(put, corpora, tmp_path):
    put("a.en", "one\n\ntwo\n")
    put("a.de", "eins\n\nzwei\n")
    text = corpora({"source": "a.en", "target": "a.de"})
    _, counts = text.train_sample
    (tmp_path / "a.en").unlink()
    assert counts == [2]
    assert [example.target for example in text.iter_split("train")] == ["eins", "zwei"]
    assert text.num_blank == {"a.en + a.de": 1}


def test_a_large_training_text_is_read_again(put, corpora):
    put("a.tsv", "".join(f"{n}\t{-n}\n" for n in range(1, 20_002)))
    text = corpora({"file": "a.tsv", "columns": [1, 2]})
    samples, counts = text.train_sample
    assert counts == [20_001]
    assert len(samples[0]) < 20_001
    assert sum(1 for _ in text.iter_split("train")) == 20_001
