"""The TensorFlow engine beside CTranslate2 in float32, in one process: speed and agreement.

    python tests/benchmarks/engines.py MODEL SOURCE [LINES]

Speed: a forced length of 16, batches of 64, greedy and beam 5, medians of runs in turn. Agreement:
how many best hypotheses are the same with the model's own search options. Prints JSON.
"""

import itertools
import json
import statistics
import sys
import time
from pathlib import Path

from nmt_cli.bundle.folder import PLAIN_FORMAT, open_bundle
from nmt_cli.files import read_lines
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.search.ctranslate2_engine import CTranslate2Engine
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.special_tokens import EOS_ID
from nmt_cli.text.vocabulary import Vocabularies

RUNS, LENGTH = 5, 16


def main() -> None:
    """Measure speed, then agreement."""
    quiet_tensorflow()
    from nmt_cli.search.tensorflow_engine import load_engine

    bundle = open_bundle(Path(sys.argv[1]))
    vocabularies = Vocabularies.load(bundle.path)
    num_lines = int(sys.argv[3]) if len(sys.argv) > 3 else 1000
    lines = list(itertools.islice(read_lines(sys.argv[2]), num_lines))
    sources = [[*ids, EOS_ID] for ids in vocabularies.source.encode_batch(lines)]
    engines = {
        "tensorflow": load_engine(bundle, compile_after=0),
        "ctranslate2": CTranslate2Engine(
            bundle.ctranslate2_folder(PLAIN_FORMAT),
            vocabularies,
            max_length=bundle.manifest.model["max_length"],
        ),
    }
    for beam_size in (1, 5):
        options = SearchOptions(
            beam_size=beam_size, min_length=LENGTH - 1, max_length=LENGTH, length_penalty=1.0
        )
        speeds: dict[str, list[float]] = {name: [] for name in engines}
        for run in range(RUNS + 1):
            for name, engine in engines.items():
                started = time.perf_counter()
                engine.search(sources, options)
                if run:  # the first one compiles
                    speeds[name].append(len(sources) / (time.perf_counter() - started))
        medians = {name: statistics.median(values) for name, values in speeds.items()}
        result = {f"{name}_lines_per_second": round(v, 1) for name, v in medians.items()}
        ratio = medians["tensorflow"] / medians["ctranslate2"]
        print(json.dumps({"beam_size": beam_size, **result, "ratio": round(ratio, 3)}), flush=True)
    options = SearchOptions.from_mapping(bundle.manifest.decode).override(beam_size=5)
    options = options.override(max_length_ratio=3.0)  # random weights never end
    found = [engine.search(sources, options) for engine in engines.values()]
    same = [(a[0], b[0]) for a, b in zip(*found, strict=True) if a[0].ids == b[0].ids]
    difference = max(abs(a.score - b.score) for a, b in same)
    share = len(same) / len(sources)
    print(json.dumps({"same_best": round(share, 4), "largest_score_difference": difference}))


if __name__ == "__main__":
    main()
