"""A translation model of the usual size for Multi30k with random weights: 4+4 layers of 128.

    python tests/benchmarks/make_multi30k.py LINES OUT

Its vocabulary has 10,000 subwords: those of LINES, and of invented words where LINES have fewer.
Every translation has 16 tokens, since random weights do not know when to end. Speed depends on
nothing else, so nobody has to train a model to measure it.
"""

import random
import sys
from pathlib import Path

from nmt_cli.bundle.folder import save_bundle
from nmt_cli.config.reading import load_config
from nmt_cli.files import read_lines
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies

TOKENS = 16  # of each translation
SIZE = 10_000  # of the vocabulary
D_FF = 256  # of the model that was always measured; a better recipe may have another


def main() -> None:
    """Build the model, save it."""
    quiet_tensorflow()
    from nmt_cli.model.transformer import Transformer
    from nmt_cli.model.weights import read_weights

    settings = [f"tokenizer.vocab_size={SIZE}", f"model.d_ff={D_FF}"]
    settings += [f"decode.{end}_length={TOKENS}" for end in ("min", "max")]
    config = load_config("multi30k-en-de", settings).config
    lines = [*read_lines(sys.argv[1]), *_invented()]
    subwords = Subwords.train(lines, config.tokenizer)
    sizes = {"source_vocab_size": subwords.vocab_size, "target_vocab_size": subwords.vocab_size}
    save_bundle(
        Path(sys.argv[2]),
        config=config,
        vocabularies=Vocabularies(subwords, subwords),
        weights=read_weights(Transformer(config.model, joint=True, **sizes)),
        scores={},
        training={},
    )


def _invented() -> list[str]:
    generator = random.Random(1)
    syllables = [a + b for a in "bcdfghjklmnprstvwz" for b in "aeiou"]
    words = ["".join(generator.choices(syllables, k=generator.randint(2, 4))) for _ in range(SIZE)]
    return words * 2


if __name__ == "__main__":
    main()
