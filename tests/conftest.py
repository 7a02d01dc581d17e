"""Fixtures that several rooms share: a toy language pair, a model trained on it, tiny models.

The toy "translation" swaps each word for its partner, so that a tiny Transformer learns it in
seconds and a test can say what the right answer is.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from numpy_transformer import NumpyTransformer

    from nmt_cli.model.transformer import Transformer

# Before TensorFlow is first imported: no log on stderr, and Keras on TensorFlow.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

# A test is no stop-watch: others may hold the processor.
settings.register_profile("nmt", deadline=None)
settings.load_profile("nmt")

# What started the tests may ignore Ctrl-C; the commands that they start must hear it.
signal.signal(signal.SIGINT, signal.default_int_handler)

TOY_LEXICON = {
    "red": "rot",
    "old": "alt",
    "big": "dick",
    "dog": "hund",
    "cat": "katze",
    "bird": "vogel",
    "sees": "sieht",
    "eats": "isst",
    "and": "und",
    "not": "nicht",
}

TOY_CONFIG = """\
name: toy
task: translation
data:
  dir: .
  source_lang: en
  target_lang: de
  train: [{source: train.en, target: train.de}]
  dev: [{source: dev.en, target: dev.de}]
  test: [{source: test.en, target: test.de}]
tokenizer: {vocab_size: 360}
model: {d_model: 32, d_ff: 128, num_heads: 2, encoder_layers: 1, decoder_layers: 1,
        dropout: 0.0, max_length: 24}
train: {max_steps: 300, tokens_per_batch: 600, schedule: inverse_sqrt, learning_rate: 5.0e-3,
        warmup_steps: 50, precision: float32, lanes: 1, eval_steps: 150, checkpoint_steps: 25,
        keep_checkpoints: 3, average_checkpoints: 3}
decode: {beam_size: 2, max_length: 24}
"""


def translate_toy(line: str) -> str:
    """Return the right translation of a line of the toy language."""
    return " ".join(TOY_LEXICON[word] for word in line.split())


def write_toy_corpus(folder: Path) -> None:
    """Write `toy.yaml` and the files it names: {train,dev,test}.{en,de}, 1500, 12 and 12 pairs."""
    generator = random.Random(1)
    words = list(TOY_LEXICON)
    for split, count in (("train", 1500), ("dev", 12), ("test", 12)):
        lines = [
            " ".join(generator.choices(words, k=generator.randint(1, 5))) for _ in range(count)
        ]
        (folder / f"{split}.en").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"{split}.de").write_text("".join(f"{translate_toy(line)}\n" for line in lines))
    (folder / "toy.yaml").write_text(TOY_CONFIG)


@pytest.fixture(scope="session")
def toy_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `toy.yaml` and its corpus; its lines are those of `translate_toy`."""
    folder = tmp_path_factory.mktemp("toy-corpus")
    write_toy_corpus(folder)
    return folder


@pytest.fixture(scope="session")
def toy_bundle(toy_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle `runs/toy/model` of a finished run on the toy corpus; it translates without fault.

    Copy it (or the run folder around it) before changing anything in it.
    """
    return _trained(toy_corpus / "toy.yaml", tmp_path_factory.mktemp("toy-run"))


@pytest.fixture(scope="session")
def train_toy() -> Callable[[Path, Path], Path]:
    """The function that runs a configuration to its end in a folder and returns the bundle."""
    return _trained


def _trained(config: Path, folder: Path) -> Path:
    """Run a configuration to its end in a folder; return the bundle."""
    from nmt_cli.config.reading import load_config
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow
    from nmt_cli.training.run import prepare

    quiet_tensorflow()
    from nmt_cli.training.loop import train

    with contextlib.chdir(folder):
        prepared = prepare(
            load_config(str(config)), tell=lambda _: None, on_encoded=lambda *_: None
        )
        for _ in train(prepared):
            pass
    return folder / prepared.folder.model


TOY_CHAT_CONFIG = """\
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
TOY_DIALOGUES = [
    ["hi", "hello there", "how are you", "fine thanks"],
    ["hello", "hi there", "what are you", "a toy"],
]


@pytest.fixture(scope="session")
def toy_chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a chat model trained for a second."""
    folder = tmp_path_factory.mktemp("toy-chat")
    lines = [json.dumps({"turns": turns}) + "\n" for turns in TOY_DIALOGUES * 10]
    (folder / "dialogues.jsonl").write_text("".join(lines))
    (folder / "chat.yaml").write_text(TOY_CHAT_CONFIG)
    return _trained(folder / "chat.yaml", folder)


TOY_FEELINGS = {"good": ("fine", "great"), "bad": ("awful", "sad"), "so so": ("plain", "blue")}
TOY_LABELS_CONFIG = """\
name: toy-labels
task: classification
data:
  train: [{file: train.tsv}]
  dev: [{file: dev.tsv}]
  test: [{file: test.tsv}]
tokenizer: {vocab_size: 320}
model: {d_model: 16, d_ff: 32, num_heads: 2, encoder_layers: 1, dropout: 0.0, max_length: 24}
train: {max_steps: 60, tokens_per_batch: 300, learning_rate: 1.0e-2, warmup_steps: 20,
        precision: float32, eval_steps: 30, checkpoint_steps: 20, average_checkpoints: 2}
"""


@pytest.fixture(scope="session")
def label_corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `labels.yaml` and {train,dev,test}.tsv: texts that one word gives away."""
    folder, generator = tmp_path_factory.mktemp("label-corpus"), random.Random(1)
    for split, count in (("train", 600), ("dev", 30), ("test", 30)):
        rows = []
        for _ in range(count):
            label, words = generator.choice(list(TOY_FEELINGS.items()))
            thing, word = generator.choice(["film", "book", "dog"]), generator.choice(words)
            rows.append(f"the {thing} was {word}\t{label}\n")
        (folder / f"{split}.tsv").write_text("".join(rows))
    (folder / "labels.yaml").write_text(TOY_LABELS_CONFIG)
    return folder


@pytest.fixture(scope="session")
def label_bundle(label_corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle `runs/toy-labels/model` of a finished run on it; it labels without fault."""
    return _trained(label_corpus / "labels.yaml", tmp_path_factory.mktemp("label-run"))


TOY_PAIRS_CONFIG = """\
name: toy-pairs
task: classification
data: {train: [{file: pairs.tsv, columns: [a, b, label]}], dev: [{rows: 20}]}
tokenizer: {vocab_size: 300}
model: {d_model: 16, d_ff: 32, num_heads: 2, encoder_layers: 2, positions: learned, max_length: 24}
train: {max_steps: 4, tokens_per_batch: 60, warmup_steps: 2, eval_steps: 4, checkpoint_steps: 4}
classification: {pooling: first}
"""


@pytest.fixture(scope="session")
def pair_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundle of a classifier that reads pairs of words and has hardly begun to learn."""
    folder, words = tmp_path_factory.mktemp("pair-corpus"), list(TOY_LEXICON)
    rows = [f"{a}\t{b}\t{'same' if a == b else 'other'}\n" for a in words for b in words]
    (folder / "pairs.tsv").write_text("a\tb\tlabel\n" + "".join(rows))
    (folder / "pairs.yaml").write_text(TOY_PAIRS_CONFIG)
    return _trained(folder / "pairs.yaml", tmp_path_factory.mktemp("pair-run"))


@pytest.fixture(scope="session")
def translate_toy_line() -> Callable[[str], str]:
    """The function that knows the right translation of a line of the toy language."""
    return translate_toy


@pytest.fixture(scope="session")
def make_model() -> Callable[..., "Transformer"]:
    """A function that builds a tiny model with its own first weights.

    Keyword arguments are those of `Transformer`, and keys of `ModelConfig` other than the default.
    """
    from nmt_cli.config.schema import ModelConfig
    from nmt_cli.model.transformer import Transformer

    def make(
        *,
        source_vocab_size: int = 11,
        target_vocab_size: int = 11,
        joint: bool = True,
        seed: int = 1,
        compute_dtype: str = "float32",
        **changes: Any,
    ) -> Transformer:
        sizes = {"d_model": 8, "d_ff": 12, "num_heads": 2, "encoder_layers": 1, "decoder_layers": 1}
        config = ModelConfig(**{**sizes, "max_length": 16, "dropout": 0.0, **changes})
        return Transformer(
            config,
            source_vocab_size=source_vocab_size,
            target_vocab_size=target_vocab_size,
            joint=joint,
            seed=seed,
            compute_dtype=compute_dtype,
        )

    return make


@pytest.fixture(scope="session")
def make_pair(
    make_model: Callable[..., "Transformer"],
) -> Callable[..., "tuple[Transformer, NumpyTransformer]"]:
    """A function like `make_model` that gives a model in which every part matters, and its oracle.

    The second is the NumPy reference with the same weights.
    """
    from numpy_transformer import Architecture, NumpyTransformer, random_weights

    from nmt_cli.model.weights import assign_weights

    def make(*, weights_seed: int = 1, **arguments: Any) -> "tuple[Transformer, NumpyTransformer]":
        model = make_model(**arguments)
        config = model.config
        architecture = Architecture(
            config.d_model,
            config.d_ff,
            config.num_heads,
            encoder_layers=config.encoder_layers,
            decoder_layers=config.decoder_layers,
            norm=config.norm,
            activation=config.activation,
            embedding_norm=config.embedding_norm,
            positions=config.positions,
            turn_embeddings=config.turn_embeddings,
            norm_epsilon=config.norm_epsilon,
            attention_bias=config.attention_bias,
            output_bias=config.output_bias,
        )
        is_shared = model.source_table is model.output_table
        tied = "all" if is_shared else "output" if config.tie_embeddings else "none"
        sizes = (int(model.source_table.shape[0]), int(model.target_table.shape[0]))
        weights = random_weights(architecture, *sizes, tied, weights_seed, config.max_length)
        assign_weights(model, weights)
        control_tokens = (0, 1, 3, 4, 5)  # all but </s>
        return model, NumpyTransformer(weights, architecture, never=control_tokens)

    return make


@pytest.fixture(scope="session")
def run_nmt() -> Callable[..., subprocess.CompletedProcess[str]]:
    """A function that runs `nmt ARGUMENTS` as a process of its own and returns what it printed."""

    def run(*arguments: str, cwd: Path, **options: Any) -> subprocess.CompletedProcess[str]:
        defaults: dict[str, Any] = {"timeout": 300}
        if "input" not in options:
            defaults["stdin"] = subprocess.DEVNULL
        return subprocess.run(
            [sys.executable, "-m", "nmt_cli", *arguments],
            cwd=cwd,
            capture_output=True,
            text=True,
            check=False,
            **{**defaults, **options},
        )

    return run
