"""Bundles of ours with random weights, of any architecture."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from nmt_cli.bundle.folder import Bundle, open_bundle, save_bundle
from nmt_cli.config.schema import Config
from nmt_cli.model.transformer import Transformer
from nmt_cli.model.weights import read_weights
from nmt_cli.text.tokenizer import Subwords
from nmt_cli.text.vocabulary import Vocabularies


def own_bundle(
    folder: Path,
    task: str = "translation",
    way: tuple[str, str] = ("en", "de"),
    unmade: Sequence[str] = (),
    **model,
) -> Bundle:
    """Return a bundle of ours with random weights; `unmade` are tokens that no text makes."""
    sizes = {"d_model": 16, "d_ff": 24, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 2}
    corpora = [{"source": "a", "target": "b"}]
    config = Config.model_validate(
        {
            "name": "own",
            "task": task,
            "data": {
                "source_lang": way[0],
                "target_lang": way[1],
                "train": corpora,
                "dev": corpora,
            },
            "tokenizer": {"vocab_size": 300, "joint": model.pop("joint", True)},
            "model": {**sizes, "max_length": 40, **model},
        }
    )
    lines = ["a red dog runs", "ein roter hund"] * 9
    subwords = Subwords.train(lines, config.tokenizer, unmade=unmade)
    target = subwords if config.tokenizer.joint else Subwords.load(_save(subwords, folder))
    weights = _weights(config, subwords.vocab_size)
    save_bundle(
        folder / "model",
        config=config,
        vocabularies=Vocabularies(subwords, target),
        weights=weights,
        scores={},
        training={},
    )
    return open_bundle(folder / "model")


def _save(subwords: Subwords, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    subwords.save(folder / "other.json")
    return folder / "other.json"


def _weights(config: Config, size: int) -> dict[str, np.ndarray]:
    """Return the weights of a new model, all of them moved a little, so that none is left out."""
    sizes = {"source_vocab_size": size, "target_vocab_size": size}
    model = Transformer(config.model, joint=config.tokenizer.joint, **sizes)
    random = np.random.default_rng(1)
    found = read_weights(model)
    return {n: a + random.normal(0, 0.1, a.shape).astype("f") for n, a in found.items()}
