"""A tiny chat model for the command line's tests."""

import contextlib
import json
from pathlib import Path

import pytest

CONFIG = """\
name: toy-chat
task: chat
data: {train: [{file: dialogues.jsonl}], dev: [{file: dialogues.jsonl}]}
tokenizer: {vocab_size: 330}
model: {d_model: 16, d_ff: 32, num_heads: 2, encoder_layers: 1, decoder_layers: 1, max_length: 48,
        turn_embeddings: true}
train: {max_steps: 60, tokens_per_batch: 200, warmup_steps: 10, learning_rate: 1.0e-2,
        eval_steps: 60, checkpoint_steps: 60, average_checkpoints: 1}
decode: {beam_size: 2, max_length: 16}
"""
DIALOGUES = [
    ["hi", "hello there", "how are you", "fine thanks"],
    ["hello", "hi there", "what are you", "a toy"],
]


@pytest.fixture(scope="session")
def toy_chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a chat model trained for a second."""
    from nmt_cli.config.reading import load_config
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow
    from nmt_cli.training.run import prepare

    quiet_tensorflow()
    from nmt_cli.training.loop import train

    folder = tmp_path_factory.mktemp("toy-chat")
    lines = [json.dumps({"turns": turns}) + "\n" for turns in DIALOGUES * 10]
    (folder / "dialogues.jsonl").write_text("".join(lines))
    (folder / "chat.yaml").write_text(CONFIG)
    with contextlib.chdir(folder):
        loaded = load_config("chat.yaml")
        for _ in train(prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)):
            pass
    return folder / "runs" / "toy-chat" / "model"


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
