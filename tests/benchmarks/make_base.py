"""A bundle of the paper's base size with random weights and the vocabulary of another model.

    python tests/benchmarks/make_base.py MODEL OUT

Speed does not depend on what the weights are, so nobody has to train one to measure it.
"""

import sys
from pathlib import Path

from nmt_cli.bundle.folder import open_bundle, save_bundle
from nmt_cli.config.reading import load_config
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.text.vocabulary import Vocabularies


def main() -> None:
    """Build the model, save it."""
    quiet_tensorflow()
    from nmt_cli.model.transformer import Transformer
    from nmt_cli.model.weights import read_weights

    bundle = open_bundle(Path(sys.argv[1]))
    vocabularies = Vocabularies.load(bundle.path)
    config = load_config("transformer-base").config
    model = Transformer(
        config.model,
        source_vocab_size=vocabularies.source.vocab_size,
        target_vocab_size=vocabularies.target.vocab_size,
        joint=vocabularies.joint,
    )
    save_bundle(
        Path(sys.argv[2]),
        config=config,
        vocabularies=vocabularies,
        weights=read_weights(model),
        scores={},
        training=bundle.manifest.training,
    )


if __name__ == "__main__":
    main()
