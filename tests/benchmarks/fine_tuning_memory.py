"""How much memory fine-tuning takes: two steps on a model of the size of OPUS-MT, random weights.

    python tests/benchmarks/fine_tuning_memory.py [KEY=VALUE ...]

Makes a Marian folder of 6 + 6 layers of width 512 over 58,000 tokens (75 million weights), imports
it, fine-tunes it on the bundled sample with the keys given, and prints the largest resident set of
each process.
"""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

ROOT = Path(__file__).parents[2]
PUBLISHED = ROOT / "tests" / "data" / "pretrained" / "marian"
WIDTH, INNER, LAYERS, TOKENS = 512, 2048, 6, 58_000
CONFIG = """\
name: tuned
data:
  dir: {data}
  train: [{{source: train.en, target: train.de}}]
  dev: [{{rows: 10}}]
tokenizer: auto
model: auto
train: auto
"""


def make(folder: Path) -> None:
    """Write a Marian folder with the fixture's tokens, and as many others as are wanted."""
    shutil.copytree(PUBLISHED, folder)
    (folder / "pytorch_model.bin").unlink()
    ids = json.loads((folder / "vocab.json").read_text())
    names = [name for name in ids if name != "<pad>"]
    names += [f"token{i}" for i in range(TOKENS - 1 - len(names))]
    table = {name: i for i, name in enumerate([*names, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(table))
    changes = {"vocab_size": TOKENS, "decoder_vocab_size": TOKENS, "d_model": WIDTH}
    changes |= {"pad_token_id": TOKENS - 1, "decoder_start_token_id": TOKENS - 1}
    changes |= {"max_position_embeddings": 512}
    for side in ("encoder", "decoder"):
        changes |= {f"{side}_layers": LAYERS, f"{side}_ffn_dim": INNER}
        changes |= {f"{side}_attention_heads": 8}
    config = json.loads((folder / "config.json").read_text()) | changes
    (folder / "config.json").write_text(json.dumps(config))
    save_file(weights(), folder / "model.safetensors")


def weights() -> dict[str, np.ndarray]:
    """Return random weights by their published names."""
    random = np.random.default_rng(1)
    shapes = {"model.shared.weight": (TOKENS, WIDTH)}
    for side in ("encoder", "decoder"):
        for number in range(LAYERS):
            layer = f"model.{side}.layers.{number}"
            attentions = ["self_attn", *(["encoder_attn"] if side == "decoder" else [])]
            for attention in attentions:
                for part in ("q", "k", "v", "out"):
                    shapes[f"{layer}.{attention}.{part}_proj.weight"] = (WIDTH, WIDTH)
                    shapes[f"{layer}.{attention}.{part}_proj.bias"] = (WIDTH,)
            for norm in (*(f"{name}_layer_norm" for name in attentions), "final_layer_norm"):
                shapes[f"{layer}.{norm}.weight"] = shapes[f"{layer}.{norm}.bias"] = (WIDTH,)
            shapes |= {f"{layer}.fc1.weight": (INNER, WIDTH), f"{layer}.fc1.bias": (INNER,)}
            shapes |= {f"{layer}.fc2.weight": (WIDTH, INNER), f"{layer}.fc2.bias": (WIDTH,)}
    return {n: random.normal(0, 0.02, shape).astype("f") for n, shape in shapes.items()}


def run(*arguments: str, folder: Path) -> None:
    """Run a command of nmt and print the largest resident set of all so far."""
    subprocess.run([sys.executable, "-m", "nmt_cli", *arguments], cwd=folder, check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 / 1e9
    print(f"{arguments[0]}: at most {peak:.2f} GB", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as temporary:
        here = Path(temporary)
        make(here / "published")
        (here / "tune.yaml").write_text(CONFIG.format(data=ROOT / "data" / "en-de"))
        run("import", "published", "imported", folder=here)
        keys = ["train.max_steps=2", "train.eval_steps=2", *sys.argv[1:]]
        settings = [f"--set={setting}" for setting in keys]
        run("train", "tune.yaml", "--from", "imported", *settings, folder=here)
