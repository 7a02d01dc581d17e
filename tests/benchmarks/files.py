"""A file of lines: the whole `nmt translate` process beside CTranslate2 called directly.

    python tests/benchmarks/files.py MODEL SOURCE [REFERENCE]

The direct call gets the same tokens, tokenised beforehand, and the same options, and its time holds
nothing but `translate_batch`. Prints JSON for each number format of the model: lines a second of
both, their ratio (medians of runs in turn), and BLEU.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import ctranslate2
from sacrebleu.metrics.bleu import BLEU

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.files import read_lines
from nmt_cli.resources import available_cores
from nmt_cli.search.ctranslate2_engine import BATCH_TOKENS
from nmt_cli.text.vocabulary import Vocabularies

RUNS, BEAM_SIZE = 5, 5


def main() -> None:
    """Measure every number format that the bundle holds."""
    bundle = open_bundle(Path(sys.argv[1]))
    source = sys.argv[2]
    references = list(read_lines(sys.argv[3])) if len(sys.argv) > 3 else None
    vocabularies = Vocabularies.load(bundle.path)
    lines = list(read_lines(source))
    rows = [
        [*vocabularies.source.tokens(ids), "</s>"]
        for ids in vocabularies.source.encode_batch(lines)
    ]
    longest = min(bundle.manifest.decode["max_length"], bundle.manifest.model["max_length"])
    for number_format in bundle.manifest.ctranslate2["formats"]:
        translator = ctranslate2.Translator(
            str(bundle.ctranslate2_folder(number_format)),
            inter_threads=available_cores(),
            intra_threads=1,
        )
        translator.translate_batch(rows[:32], beam_size=BEAM_SIZE, max_decoding_length=longest)
        direct, whole = [], []
        with tempfile.TemporaryDirectory() as folder:
            output = Path(folder) / "out.txt"
            for _ in range(RUNS):
                started = time.perf_counter()
                translator.translate_batch(
                    rows,
                    beam_size=BEAM_SIZE,
                    max_batch_size=BATCH_TOKENS // 2,
                    batch_type="tokens",
                    max_decoding_length=longest,
                    length_penalty=bundle.manifest.decode["length_penalty"],
                )
                direct.append(len(rows) / (time.perf_counter() - started))
                whole.append(_whole_process(bundle.path, source, output, number_format, len(rows)))
            outputs = list(read_lines(output))
        result = {
            "format": number_format,
            "direct_lines_per_second": round(statistics.median(direct), 1),
            "process_lines_per_second": round(statistics.median(whole), 1),
            "ratio": round(statistics.median(whole) / statistics.median(direct), 3),
        }
        if references:
            result["bleu"] = round(BLEU().corpus_score(outputs, [references]).score, 2)
        print(json.dumps(result), flush=True)


def _whole_process(
    model: Path, source: str, output: Path, number_format: str, num_lines: int
) -> float:
    command = [sys.executable, "-m", "nmt_cli", "translate", "-m", str(model), "-i", source]
    command += ["-o", str(output), "--beam", str(BEAM_SIZE), "--format", number_format]
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return num_lines / (time.perf_counter() - started)


if __name__ == "__main__":
    main()
