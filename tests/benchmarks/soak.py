"""Does memory stay flat? Sentences of random lengths through one process, greedily.

    python tests/benchmarks/soak.py MODEL [ENGINE] [COUNT]

Prints JSON: resident megabytes after a tenth of the sentences and at the end, and the growth.
"""

import json
import random
import sys
from pathlib import Path

import nmt_cli
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.special_tokens import BYTE_TOKENS, CONTROL_TOKENS, EOS_ID

FIRST = len(CONTROL_TOKENS) + len(BYTE_TOKENS)


def resident_megabytes() -> float:
    """Return this process's resident memory."""
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def main() -> None:
    """Translate, and look at the memory."""
    engine_name = sys.argv[2] if len(sys.argv) > 2 else "auto"
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 20_000
    model = nmt_cli.load(sys.argv[1], engine=engine_name)
    engine, vocabularies = model.engine, model.vocabularies
    generator = random.Random(1)
    last = vocabularies.source.vocab_size - 1
    options = SearchOptions(beam_size=1, max_length=40)
    early = 0.0
    for number in range(count):
        length = generator.randint(1, 40)
        source = [*(generator.randint(FIRST, last) for _ in range(length)), EOS_ID]
        engine.search([source], options)
        if number + 1 == count // 10:
            early = resident_megabytes()
    late = resident_megabytes()
    facts = {"engine": engine_name, "sentences": count, "early_mb": round(early, 1)}
    print(json.dumps(facts | {"late_mb": round(late, 1), "growth": round(late / early - 1, 4)}))


if __name__ == "__main__":
    main()
