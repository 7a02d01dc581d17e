"""Folders that nobody prepared: which files are found, which columns, which split, which way."""

import gzip
import itertools
import json

import pytest

from nmt_cli.config.schema import Config
from nmt_cli.config.tasks import CHAT
from nmt_cli.discovery.folder import discover
from nmt_cli.discovery.pair_files import side_of
from nmt_cli.discovery.rows import read_train
from nmt_cli.discovery.sides import Side, languages_of
from nmt_cli.errors import DataError
from nmt_cli.text.language_id import language_of

ENGLISH = ["The old man reads a book in the garden.", "We did not see the house by the river."] * 9
GERMAN = ["Der alte Mann liest ein Buch im Garten.", "Wir sahen das Haus am Fluss nicht."] * 9
KOREAN = ["노인이 정원에서 책을 읽고 있습니다.", "우리는 강가의 집을 보지 못했습니다."] * 9
CHINESE = ["老人在花园里看书。", "我们没有看见河边的房子。"] * 9
TEXT = {"en": ENGLISH, "de": GERMAN, "ko": KOREAN, "zh_CN": CHINESE}


def write(path, lines):
    text = "".join(f"{line}\n" for line in lines).encode()
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "folder"


def put(folder, **files):
    """Write files; `train_ko_gz="ko"` is `train.ko.gz` with Korean text."""
    for name, language in files.items():
        write(folder / name.replace("_", "."), TEXT[language])


@pytest.mark.parametrize(
    ("name", "source", "target"),
    [
        ("{}.txt", "ko", "en"),
        ("train.{}.gz", "ko", "en"),
        ("corpus-{}", "de", "en"),
        ("Tatoeba.de-en.{}", "de", "en"),
        ("Tatoeba.en-ko.{}", "en", "ko"),
        ("OpenSubtitles.en-zh_CN.{}", "en", "zh_CN"),
    ],
)
def test_two_files_that_are_named_by_language(folder, name, source, target):
    names = name.format(source), name.format(target)
    for file, language in zip(names, (source, target), strict=True):
        write(folder / file, TEXT[language])
    found = discover(folder)
    assert found.corpora == {
        "train": [{"source": names[0], "target": names[1]}],
        "dev": [],
        "test": [],
    }
    assert (found.task.name, found.languages) == ("translation", (source, target[:2]))


@pytest.mark.parametrize(
    ("names", "order"),
    [
        (("english.txt", "korean.txt"), (1, 0)),
        (("target.txt", "source.txt"), (1, 0)),
        (("left", "right"), (1, 0)),
        (("train.tgt", "train.src"), (1, 0)),
        (("x.eng", "x.kor"), (1, 0)),
    ],
)
def test_two_files_that_are_named_otherwise(folder, names, order):
    for file, language in zip(names, ("en", "ko"), strict=True):
        write(folder / file, TEXT[language])
    found = discover(folder)
    source, target = (names[number] for number in order)
    assert found.corpora["train"] == [{"source": source, "target": target}]
    assert found.languages == ("ko", "en")


def test_the_name_of_the_folder_says_which_way(tmp_path):
    put(tmp_path / "en2ko", a_ko="ko", a_en="en")
    assert discover(tmp_path / "en2ko").languages == ("en", "ko")
    put(tmp_path / "koen-web", a_ko="ko", a_en="en")
    assert discover(tmp_path / "koen-web").languages == ("ko", "en")


@pytest.mark.parametrize("words", [("dev", "test"), ("val", "tst2013"), ("valid", "test2016")])
def test_splits_by_name(folder, words):
    for split in ("train", *words):
        put(folder, **{f"{split}_en": "en", f"{split}_de": "de"})
    corpora = discover(folder).corpora
    for split, word in zip(("train", "dev", "test"), ("train", *words), strict=True):
        assert corpora[split] == [{"source": f"{word}.de", "target": f"{word}.en"}]


def test_two_corpora_are_both_for_training(folder):
    put(folder, news_en="en", news_de="de", web_en="en", web_de="de")
    assert [corpus["source"] for corpus in discover(folder).corpora["train"]] == [
        "news.de",
        "web.de",
    ]


def test_what_is_no_corpus_is_left_alone(folder):
    put(folder, train_ko="ko", train_en="en", README="en", LICENSE_txt="en", notes_md="en")
    put(folder, vocab_ko="ko", vocab_en="en")
    (folder / "model.bin").write_bytes(b"\0\1\2")
    (folder / ".hidden.en").write_text("x\n")
    put(folder, other_txt="en")
    assert discover(folder).unused == ["other.txt"]


@pytest.mark.parametrize("name", ["x.tsv", "x.tsv.gz", "x.txt"])
def test_a_table_without_a_heading(folder, name):
    rows = zip(range(99), ENGLISH, GERMAN, ["CC-BY 2.0 #12 (a) & #34 (b)"] * 18, strict=False)
    write(folder / name, ["\t".join(map(str, row)) for row in rows])
    found = discover(folder)
    assert found.corpora["train"] == [{"file": name, "columns": [3, 2]}]
    assert found.languages == ("de", "en")


def test_a_table_with_languages_in_its_heading(folder):
    rows = ["id,de,note,en", *(f'7,"{d}",fine,"{e}"' for d, e in zip(GERMAN, ENGLISH, strict=True))]
    write(folder / "x.csv", rows)
    assert discover(folder).corpora["train"] == [{"file": "x.csv", "columns": ["de", "en"]}]


def test_questions_and_answers_are_a_chat(folder):
    rows = [f"{q}\t{a}\t0" for q, a in itertools.pairwise(KOREAN)]
    write(folder / "x.tsv", ["Q\tA\tlabel", *rows])
    found = discover(folder)
    assert found.corpora["train"] == [{"file": "x.tsv", "columns": ["Q", "A"]}]
    assert (found.task.name, found.languages) == ("chat", ("ko", "ko"))


def test_a_korean_heading(folder):
    write(folder / "x.csv", ["질문,답변", *(f"{q},{a}" for q, a in itertools.pairwise(KOREAN))])
    assert discover(folder).corpora["train"] == [{"file": "x.csv", "columns": ["질문", "답변"]}]


def test_a_heading_that_only_a_column_of_numbers_gives_away(folder):
    rows = [f"{d}\t{e}\t1" for d, e in zip(GERMAN, ENGLISH, strict=True)]
    write(folder / "x.tsv", ["left\tright\tlabel", *rows])
    assert discover(folder).corpora["train"] == [{"file": "x.tsv", "columns": ["left", "right"]}]


@pytest.mark.parametrize("keys", [("ko", "en"), ("src", "tgt"), ("first", "second")])
def test_json_lines(folder, keys):
    records = [
        {"id": "7", keys[1]: e, keys[0]: k} if keys[0] != "first" else {keys[0]: k, keys[1]: e}
        for k, e in zip(KOREAN, ENGLISH, strict=True)
    ]
    write(folder / "x.jsonl", [json.dumps(record) for record in records])
    found = discover(folder)
    assert found.corpora["train"] == [{"file": "x.jsonl", "columns": list(keys)}]
    assert found.languages == ("ko", "en")


@pytest.mark.parametrize(
    "record",
    [
        {"turns": ENGLISH[:4]},
        {"messages": [{"role": r, "content": e} for r in ("user", "assistant") for e in ENGLISH]},
    ],
    ids=("turns", "messages"),
)
def test_dialogues(folder, record):
    write(folder / "x.jsonl", [json.dumps(record)] * 5)
    found = discover(folder)
    assert found.corpora["train"] == [{"file": "x.jsonl"}]
    assert (found.task.name, found.languages) == ("chat", ("en", "en"))


def test_a_table_of_nothing(folder):
    write(folder / "x.tsv", ["", "1\t2", "3\t4"])
    write(folder / "y.txt", [""] * 30 + ["x"])
    with pytest.raises(DataError, match="no parallel text"):
        discover(folder)


def test_blank_lines_between_documents_are_no_rows(folder):
    rows = [f"{d}\t{e}" for d, e in zip(GERMAN, ENGLISH, strict=True)]
    write(folder / "x.tsv", [*rows[:5], "", "\t", *rows[5:]])
    assert discover(folder).corpora["train"] == [{"file": "x.tsv", "columns": [1, 2]}]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "no parallel text, table or dialogues found"),
        ({"one_en": "en"}, "no parallel text, table or dialogues found in one.en$"),
        ({"a_en": "en", "a_de": "de", "a_ko": "ko"}, "more than two files belong together"),
        ({"a_txt": "en", "b_txt": "de", "c_txt": "ko"}, "belong together"),
    ],
)
def test_what_cannot_be_found_out_says_what_to_type(folder, files, told):
    folder.mkdir()
    put(folder, **files)
    with pytest.raises(DataError, match=told) as caught:
        discover(folder)
    assert "nmt init --train SOURCE TARGET" in caught.value.hint


def test_what_is_wrong_with_the_only_file_is_told(folder):
    write(folder / "x.jsonl", ['{"en": "a"}', "{"])
    for task in (None, CHAT):
        with pytest.raises(DataError, match=r"found in x\.jsonl; .*x\.jsonl:2: not valid JSON"):
            discover(folder, task)


@pytest.mark.parametrize("name", ["dictionary.tsv", "README.tsv", ".pairs.tsv.gz", "PAIRS.TSV"])
def test_a_file_that_is_named_may_be_called_anything(folder, name):
    write(folder / name, [f"{d}\t{e}" for d, e in zip(GERMAN, ENGLISH, strict=True)])
    found = discover(folder, file=name)
    assert found.corpora["train"] == [{"file": name, "columns": [1, 2]}]


@pytest.mark.parametrize("name", ["vocab.json", "X.JSONL"])
def test_json_lines_that_are_named_may_be_called_anything(folder, name):
    records = [json.dumps({"de": d, "en": e}) for d, e in zip(GERMAN, ENGLISH, strict=True)]
    write(folder / name, records)
    found = discover(folder, file=name)
    assert found.corpora["train"] == [{"file": name, "columns": ["de", "en"]}]


def test_a_file_that_is_named_has_text_of_its_own(folder):
    folder.mkdir()
    for name, pair in (("a", "de"), ("b", "ko")):
        for language in ("en", pair):
            write(folder / name / f"train.{language}", TEXT[language])
    write(folder / "x.txt", ENGLISH)
    with pytest.raises(DataError, match=r"x\.txt: no parallel text"):
        discover(folder, file="x.txt")


def test_names_that_are_swapped_are_seen_through(folder):
    put(folder, train_ko="en", train_en="ko")
    found = discover(folder)
    assert found.languages == ("ko", "en")
    assert found.corpora["train"] == [{"source": "train.en", "target": "train.ko"}]
    assert languages_of((Side("de", ENGLISH), Side("", KOREAN))) == ("de", "ko")


@pytest.mark.parametrize("language", list(TEXT))
def test_languages(language, tmp_path):
    code = language.partition("_")[0]
    assert language_of(TEXT[language]) == code
    write(tmp_path / f"a.{language}.gz", TEXT[language])
    assert side_of(tmp_path / f"a.{language}.gz") == Side(code, TEXT[language][::5])


def test_too_little_text_has_no_language():
    assert language_of(["1 2 3", "..."]) == ""


def test_the_order_of_a_heading_is_the_direction(folder):
    rows = ["english\tgerman", *(f"{e}\t{d}" for d, e in zip(GERMAN, ENGLISH, strict=True))]
    write(folder / "x.tsv", [*rows, "only one cell"])
    found = discover(folder)
    assert found.corpora["train"] == [{"file": "x.tsv", "columns": ["english", "german"]}]
    assert found.languages == ("en", "de")
    other = found.reversed()
    assert other.corpora["train"] == [{"file": "x.tsv", "columns": ["german", "english"]}]
    assert other.languages == ("de", "en")


def test_json_lines_with_a_key_within_another(folder):
    records = [{"translation": {"en": e, "ko": k}} for e, k in zip(ENGLISH, KOREAN, strict=True)]
    write(folder / "x.jsonl", map(json.dumps, records))
    columns = ["translation.en", "translation.ko"]
    assert discover(folder).corpora["train"] == [{"file": "x.jsonl", "columns": columns}]


def test_a_stray_byte_or_a_broken_record_is_for_the_check_to_tell(folder):
    put(folder, train_ko="ko", train_en="en")
    path = folder / "train.en"
    path.write_bytes(path.read_bytes().replace(b"man", b"m\xe4n"))
    assert discover(folder).languages == ("ko", "en")
    records = [json.dumps({"ko": k, "en": e}) for k, e in zip(KOREAN, ENGLISH, strict=True)]
    write(folder / "x.jsonl", [*records, "{"])
    for name in ("train.ko", "train.en"):
        (folder / name).unlink()
    assert discover(folder).corpora["train"] == [{"file": "x.jsonl", "columns": ["ko", "en"]}]


def test_empty_files_and_folders_that_are_not_looked_into_are_told(folder):
    folder.mkdir()
    put(folder / "my data", train_en="en")
    (folder / "de.txt").touch()
    with pytest.raises(DataError, match=r"de\.txt is empty; there is text in my data/") as caught:
        discover(folder)
    assert f"nmt init --data-dir '{folder}/my data'" in caught.value.hint
    put(folder, train_ko="ko", train_en="en")
    assert discover(folder).unused == ["my data/"]


def test_two_texts_of_one_language_are_a_doubt_unless_roles_or_the_task_say_chat(folder):
    put(folder, neg_txt="en", pos_txt="en")
    assert "if their names are labels" in discover(folder).doubt
    assert discover(folder, CHAT).doubt == ""
    put(folder, questions_txt="en", answers_txt="en")
    assert discover(folder).doubt == ""


SEVERAL = [
    {"source": "{0}en", "target": "{0}de", "source_lang": "en", "target_lang": "de"},
    {"source": "{1}en", "target": "{1}ko", "source_lang": "en", "target_lang": "ko"},
]


def test_several_pairs_of_languages_are_one_model(folder):
    for pair in ("de", "ko"):
        for language in ("en", pair):
            write(folder / f"train.en-{pair}.{language}", TEXT[language])
    found = discover(folder)
    names = ("train.en-de.", "train.en-ko.")
    assert found.corpora["train"] == [
        {key: value.format(*names) for key, value in entry.items()} for entry in SEVERAL
    ]
    assert found.languages == ("", "")
    swapped = found.reversed().corpora["train"][1]
    assert list(swapped.items()) == [
        ("source", "train.en-ko.ko"),
        ("target", "train.en-ko.en"),
        ("source_lang", "ko"),
        ("target_lang", "en"),
    ]


def test_a_folder_for_each_pair_of_languages(folder):
    folder.mkdir()
    for name, pair in (("a", "de"), ("b", "ko")):
        for language in ("en", pair):
            write(folder / name / f"train.{language}", TEXT[language])
    found = discover(folder)
    ways = [(e["source_lang"], e["target_lang"]) for e in found.corpora["train"]]
    assert ways == [("de", "en"), ("ko", "en")]  # into English, as nothing says otherwise
    assert found.corpora["train"][0]["source"] == "a/train.de"
    assert found.unused == []


def test_folders_of_one_pair_are_not_looked_into(folder):
    folder.mkdir()
    for name in ("a", "b"):
        for language in ("en", "de"):
            write(folder / name / f"train.{language}", TEXT[language])
    with pytest.raises(DataError, match="there is text in a/, b/, which nmt init does not search"):
        discover(folder)


@pytest.mark.parametrize("ids", ["{}", "s{:05}", "dialogue-{:03}", "5f4dcc3b5aa765d61d83{:04x}"])
def test_a_column_of_ids_is_no_text(folder, ids):
    for heading in ("id", "no", "name"):
        cells = (ids.format(number) for number in range(18))
        columns = zip([heading, *cells], ["de", *GERMAN], ["en", *ENGLISH], strict=True)
        write(folder / "x.tsv", map("\t".join, columns))
        assert discover(folder).corpora["train"] == [{"file": "x.tsv", "columns": ["de", "en"]}]


@pytest.mark.parametrize("other", ["source", "mt", "target"])
def test_of_more_than_two_named_columns_those_of_the_languages_are_taken(folder, other):
    """`source` may say where a pair is from, and `mt` what a machine translated."""
    rows = zip([other, *ENGLISH], ["ko", *KOREAN], ["en", *ENGLISH], strict=True)
    write(folder / "x.tsv", map("\t".join, rows))
    assert discover(folder).corpora["train"] == [{"file": "x.tsv", "columns": ["ko", "en"]}]


def test_the_direction_that_one_pair_is_named_by_is_that_of_all(folder):
    for name, language in itertools.product(("train.en-ko", "dev", "test"), ("en", "ko")):
        write(folder / f"{name}.{language}", TEXT[language])
    corpora = discover(folder).corpora
    assert corpora["train"] == [{"source": "train.en-ko.en", "target": "train.en-ko.ko"}]
    assert corpora["dev"] == [{"source": "dev.en", "target": "dev.ko"}]


def test_json_lines_may_be_called_json_and_settings_are_none(folder):
    pairs = zip(KOREAN, ENGLISH, strict=True)
    write(folder / "train.json", [json.dumps({"ko": ko, "en": en}) for ko, en in pairs])
    write(folder / "config.json", ["{", '"a": 1', "}"])
    found = discover(folder)
    assert found.corpora["train"] == [{"file": "train.json", "columns": ["ko", "en"]}]
    assert found.unused == []


def test_a_json_list_is_told_with_the_command_that_makes_lines_of_it(folder):
    write(folder / "a b.json", ["[", '{"ko": "x", "en": "y"}', "]"])
    with pytest.raises(DataError, match=r"a JSON list, not JSON lines; .* jq -c '\.\[\]' '"):
        discover(folder)


def test_blank_lines_above_a_heading(folder):
    pairs = zip(KOREAN, ENGLISH, strict=True)
    write(folder / "a.csv", ["", "ko,en", *(f'"{ko}","{en}"' for ko, en in pairs)])
    assert discover(folder).corpora["train"] == [{"file": "a.csv", "columns": ["ko", "en"]}]
    config = {"name": "x", "data": {"train": [{"file": "a.csv", "columns": ["ko", "en"]}]}}
    config["data"]["dev"] = config["data"]["train"]
    assert read_train(Config.model_validate(config), folder).number == len(KOREAN)
