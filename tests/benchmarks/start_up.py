"""How long one sentence takes, whole process, beside bare Python that does the same.

    python tests/benchmarks/start_up.py MODEL "A man is riding a bike."

Prints JSON: medians in seconds and their ratio, both measured in turn.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

RUNS = 11
LIMIT = ("--max-length", "16")  # random weights never end a sentence
BARE = """
import json, sys
import typer, ctranslate2, tokenizers
folder, text = sys.argv[1:]
manifest = json.load(open(folder + "/bundle.json"))
tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
form = folder + "/ctranslate2/" + manifest["ctranslate2"]["auto"]
translator = ctranslate2.Translator(form, inter_threads=1, intra_threads=1)
tokens = tokenizer.encode(text).tokens + ["</s>"]
beam_size = manifest["decode"]["beam_size"]
found = translator.translate_batch([tokens], beam_size=beam_size, max_decoding_length=16)
print(tokenizer.decode([tokenizer.token_to_id(p) for p in found[0].hypotheses[0]]))
"""


def seconds(command: list[str]) -> float:
    """Return how long a command takes."""
    started = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - started


def main() -> None:
    """Measure both in turn, after one run of each to warm the disk."""
    model, text = str(Path(sys.argv[1]).resolve()), sys.argv[2]
    commands = {
        "nmt": [sys.executable, "-m", "nmt_cli", "translate", "-m", model, text, *LIMIT],
        "bare": [sys.executable, "-c", BARE, model, text],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for run in range(RUNS + 1):
        for name, command in commands.items():
            taken = seconds(command)
            if run:
                times[name].append(taken)
    medians = {name: statistics.median(values) for name, values in times.items()}
    result = {f"{name}_seconds": round(value, 3) for name, value in medians.items()}
    print(json.dumps(result | {"ratio": round(medians["nmt"] / medians["bare"], 2)}))


if __name__ == "__main__":
    main()
