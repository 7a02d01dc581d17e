"""Documents beside lines: the same texts as PO, Markdown and HTML, and as plain text.

    python tests/benchmarks/documents_speed.py MODEL SOURCE [--texts 10000] [--marks N]

SOURCE is a file of lines. With --marks N every N-th text has a word in bold, or in PO a `%s`. Each
run is a whole `nmt translate` process. Prints for each kind, as JSON, texts a second and their
ratio to those of plain text: medians of three runs in turn.
"""

import argparse
import html
import itertools
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from nmt_cli.files import read_lines

RUNS = 3
BOLD = {"md": "**{}**", "html": "<b>{}</b>", "po": "%s {}", "txt": "{}"}


def main() -> None:
    """Write the files, translate them in turn, and print what that took."""
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("source")
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--marks", type=int, default=0)
    asked = parser.parse_args()
    lines = [" ".join(line.split()) for line in read_lines(asked.source) if line.strip()]
    lines = [*itertools.islice(itertools.cycle(lines), asked.texts)]
    seconds: dict[str, list[float]] = {kind: [] for kind in ("txt", "po", "md", "html")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind in seconds:
            (folder / f"in.{kind}").write_text(_document(kind, lines, asked.marks), "utf-8")
        for kind in [*seconds] * RUNS:
            command = [sys.executable, "-m", "nmt_cli", "translate", "-m", asked.model]
            command += ["-i", str(folder / f"in.{kind}"), "-o", str(folder / f"out.{kind}")]
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            seconds[kind].append(time.perf_counter() - started)
    plain = statistics.median(seconds["txt"])
    for kind, all_runs in seconds.items():
        median = statistics.median(all_runs)
        speed = round(len(lines) / median, 1)
        found = {"kind": kind, "texts_per_second": speed, "ratio": round(plain / median, 3)}
        print(json.dumps(found), flush=True)


def _document(kind: str, lines: list[str], marks: int) -> str:
    """Return lines as a document; every `marks`-th has a mark."""
    texts = []
    for number, line in enumerate(lines):
        words = (html.escape(line, quote=False) if kind == "html" else line).split()
        if marks and number % marks == 0:
            middle = len(words) // 2
            words[middle] = BOLD[kind].format(words[middle])
        texts.append(" ".join(words))
    if kind == "po":
        quoted = (json.dumps(text, ensure_ascii=False) for text in texts)
        entries = (f'msgctxt "{i}"\nmsgid {text}\nmsgstr ""\n\n' for i, text in enumerate(quoted))
        header = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n\n'
        return header + "".join(entries)
    if kind == "html":
        return "".join(f"<p>{text}</p>\n" for text in texts)
    return ("\n\n" if kind == "md" else "\n").join(texts) + "\n"


if __name__ == "__main__":
    main()
