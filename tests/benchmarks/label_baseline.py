"""A labelled table, split by a seed, against TF-IDF and logistic regression.

    python tests/benchmarks/label_baseline.py split TABLE TEXT LABEL FOLDER
    python tests/benchmarks/label_baseline.py score FOLDER
    nmt train my.yaml            with data.dir: FOLDER, and train.tsv, dev.tsv and test.tsv in it

`split` writes dev and test of a tenth each, with no text on two sides. `score` needs scikit-learn,
which nmt does not: it tries characters 1-4 with and without word boundaries, and a range of C, on
dev, and scores the best on test.
"""

import csv
import gzip
import random
import sys
from collections import defaultdict
from pathlib import Path

SEED = 7
SPLITS = ("train", "dev", "test")


def split(table: Path, text: str, label: str, folder: Path) -> None:
    """Write `train.tsv`, `dev.tsv` and `test.tsv`, without a heading."""
    opened = gzip.open if table.name.endswith(".gz") else open
    with opened(table, "rt", encoding="utf-8", newline="") as stream:
        is_csv = table.name.removesuffix(".gz").endswith(".csv")
        reader = csv.DictReader(stream) if is_csv else csv.DictReader(
            stream, delimiter="\t", quoting=csv.QUOTE_NONE
        )  # fmt: skip
        by_text = defaultdict(list)
        for row in reader:
            by_text[row[text].strip()].append(row[label].strip())
    texts = sorted(by_text)
    random.Random(SEED).shuffle(texts)
    tenth = len(texts) // 10
    parts = {"dev": texts[:tenth], "test": texts[tenth : 2 * tenth], "train": texts[2 * tenth :]}
    folder.mkdir(parents=True, exist_ok=True)
    for name, chosen in parts.items():
        rows = [f"{one}\t{found}\n" for one in chosen for found in by_text[one]]
        (folder / f"{name}.tsv").write_text("".join(rows), encoding="utf-8")
        print(f"{name}: {len(rows):,} rows")


def score(folder: Path) -> None:
    """Tune the baseline on dev and print its scores on test."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, f1_score
    from sklearn.pipeline import make_pipeline

    data = {}
    for name in SPLITS:
        lines = (folder / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
        data[name] = list(zip(*(line.split("\t") for line in lines), strict=True))
    best = (0.0, "", None)
    for analyzer in ("char", "char_wb"):
        for c in (1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0):
            features = TfidfVectorizer(analyzer=analyzer, ngram_range=(1, 4), sublinear_tf=True)
            model = make_pipeline(features, LogisticRegression(C=c, max_iter=2000))
            model.fit(*data["train"])
            accuracy = accuracy_score(data["dev"][1], model.predict(data["dev"][0]))
            print(f"{analyzer} C={c:g}: dev accuracy {100 * accuracy:.2f}")
            best = max(best, (accuracy, f"{analyzer} C={c:g}", model), key=lambda item: item[0])
    texts, wanted = data["test"]
    given = best[2].predict(texts)
    accuracy = accuracy_score(wanted, given)
    macro = f1_score(wanted, given, average="macro")
    print(f"test, {best[1]}: accuracy {100 * accuracy:.2f}, macro F1 {100 * macro:.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["split"]:
        split(Path(sys.argv[2]), *sys.argv[3:5], Path(sys.argv[5]))
    else:
        score(Path(sys.argv[2]))
