"""A tiny chat model for the command line's tests."""

from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def babbling_chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a chat model with random weights: it samples, and never comes to an end."""
    from numpy_transformer import Architecture, random_weights

    from nmt_cli.bundle.folder import save_bundle
    from nmt_cli.config.schema import Config
    from nmt_cli.text.tokenizer import Subwords
    from nmt_cli.text.vocabulary import Vocabularies

    longest = 20_000
    corpora = [{"file": "none.jsonl"}]
    config = Config.model_validate(
        {
            "name": "babble",
            "task": "chat",
            "data": {"train": corpora, "dev": corpora},
            "tokenizer": {"vocab_size": 330},
            "model": {
                "d_model": 16, "d_ff": 32, "num_heads": 2, "encoder_layers": 1,
                "decoder_layers": 1, "max_length": longest,
            },
            "decode": {"sample": True, "min_length": longest, "max_length": longest},
        }
    )  # fmt: skip
    texts = ["hello there you", "how are things", "안녕하세요 친구"]
    subwords = Subwords.train(texts * 9, config.tokenizer)
    size = subwords.vocab_size
    weights = random_weights(Architecture(16, 32, 2, 1, 1), size, size, "all", 1, longest)
    folder = tmp_path_factory.mktemp("babbling-chat") / "model"
    save_bundle(
        folder,
        config=config,
        vocabularies=Vocabularies(subwords, subwords),
        weights=weights,
        scores={},
        training={},
    )
    return folder
