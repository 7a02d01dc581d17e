"""The card of a run's data, beside what is in its files."""

from html_page import Page

from nmt_cli.config.reading import load_config
from nmt_cli.errors import number_of
from nmt_cli.report.page import page
from nmt_cli.report.training_page import data_card
from nmt_cli.training.run import prepare

OVERRIDES = [
    "data.train.1={file: more.tsv, columns: [1, 2], weight: 2.5}",
    "data.dev=[{rows: 20}, {file: more.tsv, columns: [1, 2]}]",
    "data.licence=cc0",
    "tokenizer.joint=false",
    "model.max_length=12",
]


def test_files_pairs_and_what_is_left_out(toy_corpus, tmp_path, monkeypatch):
    for file in toy_corpus.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    rows = ["red dog\trot hund", "\thund", "dog\t ", f"{'old ' * 30}\talt"]
    text = "".join(f"{row}\n" for row in rows)
    (tmp_path / "more.tsv").write_text(text)
    monkeypatch.chdir(tmp_path)
    for _ in ("encoded", "reused"):
        loaded = load_config("toy.yaml", OVERRIDES)
        run = prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)
        card = Page(page("t", data_card(run)))
        cells = card.of("tbody", "td")
        train = cells.index("more.tsv")
        assert cells[train : train + 4] == ["more.tsv", f"{len(text)} bytes", "2", "2.5"]
        assert "20 rows of train" in cells
        facts = dict(zip(card.of("dl", "dt"), card.of("dl", "dd"), strict=True))
        assert facts["languages"] == "en → de"
        assert facts["licence"] == "cc0"
        assert facts["left out of train"].startswith("2 pairs without text on a side; ")
        too_long = sum(
            max(s, t) > 12
            for s, t in zip(run.train.source_lengths, run.train.target_lengths, strict=True)
        )
        left_out = f" {number_of(too_long, 'pair')} longer than model.max_length"
        assert left_out in facts["left out of train"]
        assert too_long >= 1
        assert " source and " in facts["vocabulary"]
        assert facts["fingerprint"] == run.fingerprint
