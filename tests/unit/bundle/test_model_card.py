"""Tests of nmt_cli/bundle/model_card.py."""

import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import yaml

from nmt_cli.bundle.manifest import Manifest
from nmt_cli.bundle.model_card import WITHOUT_TENSORFLOW, model_card


@pytest.fixture
def make_manifest():
    def make(**changes) -> Manifest:
        values = {
            "name": "toy",
            "task": "translation",
            "source_lang": "en",
            "target_lang": "de",
            "parameters": 1234567,
            "model": {"encoder_layers": 6, "decoder_layers": 2, "d_model": 256},
            "decode": {},
            "chat": {},
            "vocabulary": {},
            "scores": {"test": {"bleu": {"score": 36.123, "signature": "nrefs:1|tok:13a"}}},
            "training": {"pairs": 29000},
            "versions": {"nmt": "0.1.0"},
        }
        return Manifest(**{**values, **changes})

    return make


def front_matter(card: str) -> dict[str, object]:
    return yaml.safe_load(card.split("---\n")[1])


def test_a_card_of_a_translation_model(make_manifest):
    card = model_card(make_manifest(licence="cc-by-4.0"))
    (index,) = front_matter(card).pop("model-index")
    assert front_matter(card) == {
        "library_name": "nmt",
        "pipeline_tag": "translation",
        "tags": ["nmt", "translation"],
        "language": ["en", "de"],
        "license": "cc-by-4.0",
        "model-index": [index],
    }
    assert index["name"] == "toy"
    (result,) = index["results"]
    assert result["task"] == {"type": "translation"}
    assert result["dataset"]["split"] == "test"
    assert result["metrics"] == [{"type": "bleu", "value": 36.12, "name": "nrefs:1|tok:13a"}]
    assert "\n# toy\n" in card
    assert "on 29,000 pairs: 6+2 layers, width 256, 1,234,567 parameters." in card
    assert '\n    nmt translate -m . "..."\n' in card
    assert "\n| test | bleu | 36.12 | `nrefs:1\\|tok:13a` |\n" in card


def test_a_card_tells_how_to_install_all_but_tensorflow(make_manifest):
    card = model_card(make_manifest())
    assert textwrap.indent(WITHOUT_TENSORFLOW, "    ") in card
    page = Path(__file__).parents[3] / "nmt_cli" / "search" / "README.md"
    assert WITHOUT_TENSORFLOW in page.read_text(encoding="utf-8")
    command = WITHOUT_TENSORFLOW.partition("\n")[2].partition(" > ")[0]
    code = command.removeprefix('python -c "').removesuffix('"')
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    names = [re.split(r"[<>=]", line)[0] for line in done.stdout.splitlines()]
    assert {"ctranslate2", "tokenizers", "typer"} <= set(names)
    assert len(names) == len(set(names)) > 20
    assert not [name for name in names if name.startswith(("tensorflow", "keras", "pytest"))]


def test_a_card_of_a_chat_model_without_scores(make_manifest):
    card = model_card(make_manifest(task="chat", target_lang="en", scores={}, training={}))
    assert front_matter(card) == {
        "library_name": "nmt",
        "pipeline_tag": "text-generation",
        "tags": ["nmt", "chat"],
        "language": ["en"],
    }
    assert "\n    nmt chat -m .\n" in card
    assert "0 pairs" in card
    assert "|" not in card


def test_unknown_languages_are_left_out(make_manifest):
    assert "language" not in front_matter(model_card(make_manifest(source_lang="", target_lang="")))
