"""Tests of nmt_cli/text/labels.py and of labelled text on its way to batches."""

import gzip
import json
from types import SimpleNamespace

import numpy as np
import pytest

from nmt_cli.config.reading import checked
from nmt_cli.config.schema import Config
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.text.batches import assemble, batches_by_length, plan_window, take
from nmt_cli.text.bpe_dropout import MergeDropout
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.labels import Labels, find_labels
from nmt_cli.text.shards import LabelEncoder, build_encoder, encode_corpora
from nmt_cli.text.special_tokens import BOS_ID, EOS_ID
from nmt_cli.text.template import join_texts
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

ROWS = [("I like it", "good"), ("I hate it", "bad"), ("it is", "so so"), ("I love it", "good")]
NAMES = ["bad", "good", "so so"]


@pytest.fixture
def config(tmp_path):
    """A function that makes a configuration of one training corpus, which is dev, too."""

    def config(corpus=None, **classification) -> Config:
        corpus = corpus or {"file": "x.tsv"}
        data = {"train": [corpus], "dev": [corpus]}
        tree = {"name": "x", "task": "classification", "data": data}
        return Config.model_validate({**tree, "classification": classification})

    return config


def read(config: Config, folder, split="train") -> list[Example]:
    return list(Corpora(config, folder).iter_split(split))


@pytest.mark.parametrize("kind", ["tsv", "tsv.gz", "csv", "jsonl", "files"])
def test_every_format_gives_texts_and_labels(config, tmp_path, kind):
    rows = {
        "tsv": "".join(f"{text}\t{label}\n" for text, label in ROWS),
        "csv": "".join(f'"{text}",{label}\n' for text, label in ROWS),
        "jsonl": "".join(json.dumps({"text": t, "label": label}) + "\n" for t, label in ROWS),
    }
    corpus = {"file": f"x.{kind}"}
    if kind == "files":
        corpus = {"source": "x.text", "target": "x.label"}
        for name, column in (("x.text", 0), ("x.label", 1)):
            (tmp_path / name).write_text("".join(f"{row[column]}\n" for row in ROWS))
    elif kind.endswith(".gz"):
        (tmp_path / "x.tsv.gz").write_bytes(gzip.compress(rows["tsv"].encode()))
    else:
        (tmp_path / f"x.{kind}").write_text(rows[kind])
    assert read(config(corpus), tmp_path) == [Example((t,), label) for t, label in ROWS]


def test_two_text_columns_make_a_sentence_pair(config, tmp_path):
    (tmp_path / "x.csv").write_text("a,label,b\nfirst,yes,second\n")
    found = read(config({"file": "x.csv", "columns": ["a", "b", "label"]}), tmp_path)
    assert found == [Example(("first", "second"), "yes")]


def test_three_columns_are_for_classification_alone():
    data = {"train": [{"file": "x.tsv", "columns": [1, 2, 3]}], "dev": [{"rows": 1}]}
    with pytest.raises(ConfigError, match=r"data: .*three columns need task: classification"):
        checked({"name": "x", "data": data}, "x.yaml")


def test_json_labels_may_be_numbers_and_lists(config, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "a", "label": 3}\n{"text": "b", "label": []}\n'
                                      '{"text": "c", "label": ["p", "q"]}\n')  # fmt: skip
    found = read(config({"file": "x.jsonl"}, multi_label=True), tmp_path)
    assert [example.target for example in found] == ["3", "", "p;q"]


@pytest.mark.parametrize(
    ("label", "several", "told"),
    [
        ('["p", "q"]', False, "a text with several labels needs classification.multi_label: true"),
        ('["p", ""]', True, "needs text in the keys text and label"),
    ],
)
def test_a_list_that_is_no_label_is_told_with_its_line(config, tmp_path, label, several, told):
    (tmp_path / "x.jsonl").write_text(f'{{"text": "a", "label": {label}}}\n')
    with pytest.raises(DataError, match=rf"x\.jsonl:1: {told}"):
        read(config({"file": "x.jsonl"}, multi_label=several), tmp_path)


def test_a_list_of_one_is_the_label(config, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "a", "label": ["p"]}\n')
    assert read(config({"file": "x.jsonl"}), tmp_path) == [Example(("a",), "p")]


def test_a_json_label_of_another_type_is_told_with_its_line(config, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"text": "a", "label": "x"}\n{"text": "a", "label": 0.5}\n')
    with pytest.raises(DataError, match=r"x\.jsonl:2: needs text in the keys text and label"):
        read(config({"file": "x.jsonl"}), tmp_path)


def test_a_row_without_a_label_counts_only_where_there_may_be_none(config, tmp_path):
    (tmp_path / "x.tsv").write_text("a\tgood\nb\t\n\tgood\n")
    assert len(read(config(), tmp_path)) == 1
    several = config(multi_label=True)
    assert read(several, tmp_path)[1] == Example(("b",), "")
    assert len(read(several.model_copy(update={"task": "translation"}), tmp_path)) == 1


def test_the_labels_are_those_in_train_sorted(config):
    assert find_labels([label for _, label in ROWS], config()) == NAMES
    assert find_labels(["b ; a", "", "a;c"], config(multi_label=True)) == ["a", "b", "c"]
    assert find_labels(["b;a", "c"], config()) == ["b;a", "c"]


@pytest.mark.parametrize(("texts", "told"), [(["x"], "1 label:"), ([], "0 labels")])
def test_fewer_than_two_labels_are_an_error(config, texts, told):
    with pytest.raises(DataError, match=told):
        find_labels(texts, config())


def test_a_column_of_texts_is_no_column_of_labels(config):
    with pytest.raises(DataError, match="more than 10,000 different labels") as caught:
        find_labels(map(str, range(20_000)), config())
    assert "columns" in caught.value.hint


@pytest.mark.parametrize("files", [1, 2])
def test_an_unknown_label_is_told_with_file_and_line(config, tmp_path, files):
    (tmp_path / "x.tsv").write_text("a\tgood\nb\tgod\n")
    (tmp_path / "text").write_text("a\nb\n")
    (tmp_path / "label").write_text("good\ngod\n")
    corpus = {"file": "x.tsv"} if files == 1 else {"source": "text", "target": "label"}
    with pytest.raises(DataError) as caught:
        read(config(corpus, labels=NAMES), tmp_path, "dev")
    name = "x.tsv" if files == 1 else "label"
    assert str(caught.value) == f"{tmp_path / name}:2: unknown label 'god'. Did you mean 'good'?"
    assert "bad, good, so so" in caught.value.hint
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("labels", [["a"], ["a", "a"], ["a", ""], ["a", " b"]])
def test_wrong_label_names_are_refused(labels):
    data = {"train": [{"file": "x.tsv"}], "dev": [{"rows": 1}]}
    with pytest.raises(ConfigError, match=r"classification\.labels: "):
        checked({"name": "x", "data": data, "classification": {"labels": labels}}, "x.yaml")


def test_label_numbers_begin_at_one_and_come_once():
    labels = Labels(tuple(NAMES), "|")
    assert labels.ids("so so | bad|bad") == [1, 3]
    assert labels.ids(" ") == []
    assert Labels(("a|b", "c"), None).ids("a|b ") == [1]


@pytest.mark.parametrize(
    ("texts", "begins", "length", "expected"),
    [
        ([[7, 8]], False, 9, [7, 8, EOS_ID]),
        ([[7, 8]], True, 9, [BOS_ID, 7, 8, EOS_ID]),
        ([[7, 8, 9]], True, 4, [BOS_ID, 7, 8, EOS_ID]),
        ([[7, 8], [9]], False, 9, [7, 8, EOS_ID, 9, EOS_ID]),
        ([[7, 8, 7, 8], [9, 9]], False, 6, [7, 8, EOS_ID, 9, 9, EOS_ID]),
        ([[7] * 9, [9] * 9], False, 6, [7, 7, EOS_ID, 9, 9, EOS_ID]),
    ],
)
def test_texts_are_joined_and_cut_to_length(texts, begins, length, expected):
    assert join_texts(texts, begins=begins, max_length=length) == expected


@pytest.fixture(scope="module")
def subwords() -> Subwords:
    text = [text for text, _ in ROWS] * 3
    config = Config.model_validate(
        {"name": "x", "data": {"train": [{"file": "x.tsv"}], "dev": [{"rows": 1}]}}
    )
    return Subwords.train(text, config.tokenizer.model_copy(update={"vocab_size": 320}))


@pytest.fixture
def encoder(config, subwords):
    def encoder(**classification) -> LabelEncoder:
        made = build_encoder(
            config(labels=NAMES, **classification), Vocabularies(subwords, subwords)
        )
        assert isinstance(made, LabelEncoder)
        return made

    return encoder


def test_first_pooling_puts_a_token_in_front(encoder, subwords):
    (plain,) = encoder().encode_sources([("I like it",)])
    assert plain == [*subwords.encode("I like it"), EOS_ID]
    assert encoder(pooling="first").encode_sources([("I like it",)]) == [[BOS_ID, *plain]]


def test_the_fingerprint_tells_what_changes_ids(encoder):
    first = encoder(pooling="first"), encoder(multi_label=True), encoder(pooling="max")
    fingerprints = {made.fingerprint() for made in (encoder(), *first)}
    assert len(fingerprints) == 3  # mean and max read the same ids


def test_batches_hold_label_numbers_and_count_source_tokens(encoder, tmp_path):
    rows = [Example((text,), label) for text, label in ROWS * 5]
    corpus = encode_corpora([rows], encoder(), tmp_path / "shards")
    train = SimpleNamespace(tokens_per_batch=20, accumulate_steps=1, length_width=2)
    config = SimpleNamespace(train=train, model=SimpleNamespace(max_length=99), seed=1)
    plan = plan_window(corpus, config)
    seen = []
    for step in range(plan.num_steps):
        (indices,) = plan.micro_batches(step)
        batch = assemble(corpus, indices)
        assert np.count_nonzero(batch.source) <= 20 + corpus.source_lengths.max()
        assert batch.target.shape == (len(indices), 1)
        assert [NAMES[n - 1] for n in batch.target[:, 0]] == [rows[i].target for i in indices]
        seen += indices.tolist()
    assert sorted(seen) == list(range(20))
    lengths = [corpus.source_lengths[i].sum() for i in batches_by_length(corpus, 99, 20)]
    assert max(lengths) <= 20 + corpus.source_lengths.max()


def test_several_labels_and_none_make_rows_of_numbers(encoder, tmp_path):
    rows = [Example(("I like it",), text) for text in ("good;bad", "", "so so")]
    corpus = encode_corpora([rows], encoder(multi_label=True), tmp_path / "shards")
    assert assemble(corpus, np.arange(3)).target.tolist() == [[1, 2], [0, 0], [3, 0]]
    assert take(corpus, np.array([0, 2])).has_labels


def test_dropout_of_merges_leaves_labels_alone(encoder, tmp_path):
    rows = [Example((text,), label) for text, label in ROWS * 5]
    corpus = encode_corpora([rows], encoder(), tmp_path / "shards")
    again = MergeDropout(encoder(), 0.5, seed=1).change(corpus, 0, 0)
    assert again.has_labels
    assert len(again.source) > len(corpus.source)
    assert again.target.tolist() == corpus.target.tolist()


def test_texts_of_which_none_has_a_label(encoder, tmp_path):
    """As in a small dev text: its ids are an empty file, which cannot be mapped."""
    rows = [Example(("I like it",), "")] * 2
    for _ in ("new", "reused"):
        corpus = encode_corpora([rows], encoder(multi_label=True), tmp_path / "shards")
        assert assemble(corpus, np.arange(2)).target.shape == (2, 0)
