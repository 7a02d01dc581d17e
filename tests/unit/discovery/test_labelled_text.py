"""Text with labels: by headings, by keys, by file names, and by values that are few and short."""

import json

import pytest

from nmt_cli.config.reading import load_config
from nmt_cli.config.tasks import CHAT, CLASSIFICATION, TRANSLATION
from nmt_cli.discovery.folder import discover
from nmt_cli.discovery.pair_files import given_pair
from nmt_cli.discovery.rows import read_train
from nmt_cli.discovery.sides import UNNAMED_SHARE, few_short_values
from nmt_cli.discovery.tables import has_lists
from nmt_cli.errors import DataError

TEXTS = [f"The {n}th guest did not like the soup that we had in our {n} rooms." for n in range(60)]
LABELS = ["good", "bad", "so so"]
GERMAN = [f"Der {n}. Gast mochte die Suppe nicht, die es in {n} Zimmern gab." for n in range(60)]


def label(number):
    return LABELS[number % 3]


def write(path, rows):
    path.write_text("".join(f"{row}\n" for row in rows))


@pytest.mark.parametrize(
    ("name", "rows", "columns"),
    [
        ("a.csv", ["text,label", *(f'"{t}",{label(n)}' for n, t in enumerate(TEXTS))],
         ["text", "label"]),
        ("a.csv", [f'"{t}",{label(n)}' for n, t in enumerate(TEXTS)], [1, 2]),
        ("a.tsv", [f"{t}\t{label(n // 20)}" for n, t in enumerate(TEXTS)], [1, 2]),
        ("a.tsv", ["sentiment\tsentence", *(f"{n % 3}\t{t}" for n, t in enumerate(TEXTS))],
         ["sentence", "sentiment"]),
        ("a.tsv", ["kind\tbody part", *(f"{label(n)}\t{t}" for n, t in enumerate(TEXTS))],
         ["body part", "kind"]),
        ("a.tsv", [f"{n}\t{label(n)}\t{t}" for n, t in enumerate(TEXTS)], [3, 2]),
        ("a.jsonl", [json.dumps({"text": t, "label": label(n)}) for n, t in enumerate(TEXTS)],
         ["text", "label"]),
        ("a.jsonl", [json.dumps({"id": n, "note": t, "stars": n % 3}) for n, t in enumerate(TEXTS)],
         ["note", "stars"]),
        ("a.tsv", ["premise\thypothesis\tlabel",
                   *(f"{t}\tNo {t}\t{label(n)}" for n, t in enumerate(TEXTS))],
         ["premise", "hypothesis", "label"]),
    ],
)  # fmt: skip
def test_a_table_of_text_and_labels(tmp_path, name, rows, columns):
    write(tmp_path / name, rows)
    found = discover(tmp_path)
    assert found.task.name == "classification"
    assert found.corpora["train"] == [{"file": name, "columns": columns}]
    assert found.languages == ("en", "")
    assert len(found.labels) == 3


@pytest.mark.parametrize(
    "names", [("texts.txt", "labels.txt"), ("train.text", "train.label"), ("b", "a")]
)
def test_a_file_of_text_and_one_of_labels(tmp_path, names):
    write(tmp_path / names[0], TEXTS)
    write(tmp_path / names[1], map(label, range(60)))
    found = discover(tmp_path)
    assert found.corpora["train"] == [{"source": names[0], "target": names[1]}]
    assert (found.task.name, found.labels) == ("classification", tuple(sorted(LABELS)))


def test_dev_is_taken_as_train_is_however_few_its_rows(tmp_path):
    rows = [f"{label(n)}\t{t}" for n, t in enumerate(TEXTS)]
    write(tmp_path / "train.tsv", ["kind\tposting", *rows])
    write(tmp_path / "dev.tsv", ["kind\tposting", *rows[:2]])
    found = discover(tmp_path)
    assert found.corpora["dev"] == [{"file": "dev.tsv", "columns": ["posting", "kind"]}]


def test_dev_labels_in_a_file_are_taken_as_those_of_train_are(tmp_path):
    for split, count in (("train", 60), ("dev", 2)):
        write(tmp_path / f"{split}.text", TEXTS[:count])
        write(tmp_path / f"{split}.label", map(label, range(count)))
    assert discover(tmp_path).corpora["dev"] == [{"source": "dev.text", "target": "dev.label"}]


def test_the_task_says_which_columns_are_wanted(tmp_path):
    rows = [f"{q}\t{a}\t{n % 3}" for n, (q, a) in enumerate(zip(TEXTS, TEXTS[::-1], strict=True))]
    write(tmp_path / "x.tsv", ["Q\tA\tlabel", *rows])
    assert discover(tmp_path).task.name == "chat"
    found = discover(tmp_path, CLASSIFICATION)
    assert found.corpora["train"] == [{"file": "x.tsv", "columns": ["Q", "label"]}]


def test_a_label_beside_a_translation_changes_nothing(tmp_path):
    rows = [f"{d}\t{e}\t{label(n)}" for n, (d, e) in enumerate(zip(GERMAN, TEXTS, strict=True))]
    write(tmp_path / "x.tsv", ["en\tde\tlabel", *rows])
    found = discover(tmp_path)
    assert (found.task.name, found.corpora["train"][0]["columns"]) == ("translation", ["en", "de"])


@pytest.mark.parametrize("task", [TRANSLATION, CHAT])
def test_labels_are_never_one_of_two_texts(tmp_path, task):
    write(tmp_path / "a.csv", ["text,label", *(f'"{t}",{label(n)}' for n, t in enumerate(TEXTS))])
    with pytest.raises(DataError, match=r"no .* found in a\.csv"):
        discover(tmp_path, task)


@pytest.mark.parametrize("target", ["y.label", "y.txt", "answers.txt"])
def test_files_that_are_given_keep_their_order(tmp_path, target):
    write(tmp_path / "x.txt", TEXTS)
    write(tmp_path / target, map(label, range(60)))
    found = given_pair(tmp_path / "x.txt", tmp_path / target, None)
    has_labels = target != "answers.txt"  # stock answers of a chat
    assert (found.task.name == "classification") is has_labels
    assert found.labels == (tuple(sorted(LABELS)) if has_labels else ())
    assert given_pair(tmp_path / target, tmp_path / "x.txt", None).task.name != "classification"


def test_text_without_labels_is_no_classification(tmp_path):
    write(tmp_path / "a.txt", TEXTS)
    write(tmp_path / "b.txt", GERMAN)
    with pytest.raises(DataError, match="no text with labels found") as caught:
        discover(tmp_path, CLASSIFICATION)
    assert "text and label" in caught.value.hint


def test_labels_are_few_and_short():
    assert few_short_values(LABELS * 20, UNNAMED_SHARE) == tuple(sorted(LABELS))
    assert few_short_values(["", *LABELS * 20], UNNAMED_SHARE) == tuple(sorted(LABELS))
    assert few_short_values(map(str, range(60)), UNNAMED_SHARE) == ()
    assert few_short_values(TEXTS[:1] * 60, UNNAMED_SHARE) == ()


@pytest.mark.parametrize(("several", "number"), [("true", 60), ("false", 40)])
def test_a_text_without_a_label_is_a_row_where_it_may_have_several(tmp_path, several, number):
    write(tmp_path / "a.tsv", [f"{t}\t{['', 'good', 'bad'][n % 3]}" for n, t in enumerate(TEXTS)])
    (tmp_path / "c.yaml").write_text(
        "name: x\ntask: classification\ndata: {train: [{file: a.tsv}], dev: [{rows: 5}]}\n"
        f"classification: {{multi_label: {several}}}\n"
    )
    assert read_train(load_config(str(tmp_path / "c.yaml")).config, tmp_path).number == number


@pytest.mark.parametrize(
    ("values", "labels", "several"),
    [
        ([[3, 5], [5], []], ("3", "5"), True),
        ([["a climate change", "b"], ["c"], ["b", "c"]], ("a climate change", "b", "c"), True),
        ([["a"], [], ["b"]], ("a", "b"), True),
        ([["a"], ["c"], ["b"]], ("a", "b", "c"), False),
        ([True, False, False], ("false", "true"), False),
    ],
)
def test_labels_in_json(tmp_path, values, labels, several):
    rows = [json.dumps({"text": t, "labels": values[n % 3]}) for n, t in enumerate(TEXTS)]
    write(tmp_path / "a.jsonl", rows)
    found = discover(tmp_path)
    assert found.corpora["train"] == [{"file": "a.jsonl", "columns": ["text", "labels"]}]
    assert found.labels == labels
    assert has_lists(tmp_path / "a.jsonl", "labels") is several
    (tmp_path / "c.yaml").write_text(
        "name: x\ntask: classification\n"
        "data: {train: [{file: a.jsonl, columns: [text, labels]}], dev: [{rows: 5}]}\n"
        f"classification: {{multi_label: {str(several).lower()}}}\n"
    )
    assert read_train(load_config(str(tmp_path / "c.yaml")).config, tmp_path).number == len(TEXTS)
