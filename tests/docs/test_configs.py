"""Every bundled configuration loads, says how to use it, and builds its model."""

import pytest

from nmt_cli.config.reading import load_config
from nmt_cli.resources import bundled_configs

NAMES = [
    "chat",
    "chat-ko",
    "chat-ko-sample",
    "intents",
    "multi30k-en-de",
    "multi30k-en-de-best",
    "quickstart",
    "sentiment",
    "small-transformer",
    "transformer-base",
]


def test_the_configurations_are_the_documented_ones():
    assert sorted(bundled_configs()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_and_builds(name):
    from nmt_cli.tasks import task_of

    config = load_config(name).config
    assert config.name == name
    size = config.tokenizer.vocab_size
    vocabulary = {"source": size, "target": size, "joint": config.tokenizer.joint}
    model = task_of(config.facts).build_model(config, vocabulary)
    assert model.count_params() > size * config.model.d_model


@pytest.mark.parametrize("name", NAMES)
def test_its_comment_gives_the_command_and_what_to_expect(name):
    text = bundled_configs()[name].read_text(encoding="utf-8")
    command = "nmt train" if name == "quickstart" else f"nmt train {name}"
    assert f"{command}\n" in text
    assert "# Expected:" in text


@pytest.mark.parametrize("name", ["quickstart", "chat", "chat-ko-sample", "intents", "sentiment"])
def test_the_sample_configurations_find_their_data(name):
    from nmt_cli.text.corpus import Corpora

    loaded = load_config(name)
    corpora = Corpora(loaded.config, loaded.data_dir)
    for split in ("train", "dev"):
        corpora.files(split)
        assert sum(1 for _ in corpora.iter_split(split)) >= 250
