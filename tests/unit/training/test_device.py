"""Which number format a machine is fast in."""

import pytest
import tensorflow as tf

from nmt_cli import resources
from nmt_cli.config.schema import Config
from nmt_cli.training import device
from nmt_cli.training.device import (
    choose_lanes,
    choose_precision,
    describe_environment,
    share_cores,
)


def of_width(d_model: int) -> Config:
    data = {"train": [{"file": "a"}], "dev": [{"file": "b"}]}
    return Config.model_validate({"name": "x", "data": data, "model": {"d_model": d_model}})


def test_a_narrow_model_is_trained_in_float32_on_a_processor(monkeypatch):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda _: [])
    monkeypatch.setattr(device, "processor_flags", lambda: {"amx_bf16"})
    assert choose_precision(of_width(128)).value == "float32"
    assert choose_precision(of_width(256)).value == "bfloat16"


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({"fpu", "avx2"}, "float32"),
        ({"avx512f"}, "float32"),
        ({"avx512_bf16", "fpu"}, "bfloat16"),
        ({"amx_bf16"}, "bfloat16"),
        (set(), "float32"),
    ],
)
def test_a_processor_without_bfloat16_products_takes_float32(monkeypatch, flags, expected):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda _: [])
    monkeypatch.setattr(device, "processor_flags", lambda: flags)
    chosen = choose_precision(of_width(256))
    assert chosen.value == expected
    assert "processor" in chosen.reason


@pytest.mark.parametrize(
    ("details", "expected"),
    [
        ({"compute_capability": (8, 0)}, "bfloat16"),
        ({"compute_capability": (9, 0)}, "bfloat16"),
        ({"compute_capability": (7, 5)}, "float32"),
        ({}, "float32"),
    ],
)
def test_a_gpu_takes_bfloat16_from_ampere_on(monkeypatch, details, expected):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda _: ["gpu"])
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda _: details)
    monkeypatch.setattr(device, "processor_flags", lambda: {"avx512_bf16"})
    chosen = choose_precision(of_width(256))
    assert chosen.value == expected
    assert "GPU" in chosen.reason


@pytest.mark.parametrize(
    ("gpus", "cores", "d_model", "tokens", "expected"),
    [
        ([], 2, 128, 512, 2),
        ([], 1, 128, 512, 1),
        ([], 64, 128, 512, 4),
        ([], 64, 128, 4096, 8),
        ([], 4, 128, 100, 1),
        ([], 4, 256, 4096, 1),
        (["gpu"], 4, 128, 512, 1),
    ],
)
def test_small_models_are_trained_in_a_lane_a_core(
    monkeypatch, gpus, cores, d_model, tokens, expected
):
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda _: gpus)
    monkeypatch.setattr(device, "available_cores", lambda: cores)
    config = Config.model_validate(
        {
            "name": "x",
            "data": {"train": [{"file": "a.tsv"}], "dev": [{"file": "b.tsv"}]},
            "model": {"d_model": d_model},
            "train": {"tokens_per_batch": tokens},
        }
    )
    assert choose_lanes(config).value == expected


@pytest.mark.parametrize(("lanes", "cores", "expected"), [(2, 8, [4]), (3, 2, [1]), (1, 8, [])])
def test_lanes_share_the_cores(monkeypatch, lanes, cores, expected):
    found = []
    monkeypatch.setattr(device, "available_cores", lambda: cores)
    monkeypatch.setattr(tf.config.threading, "set_intra_op_parallelism_threads", found.append)
    share_cores(lanes)
    assert found == expected


def test_the_environment_names_versions_device_and_threads(monkeypatch, tmp_path):
    (tmp_path / "cpuinfo").write_text("model name : Abacus 2\n\nmodel name : Abacus 3\n")
    monkeypatch.setattr(resources, "_CPUINFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda _: [])
    found = describe_environment(3)
    assert found["tensorflow"] == tf.__version__
    assert (found["device"], found["replicas"]) == ("processor: Abacus 2", "3")
    assert int(found["threads"]) >= 1
    assert {"nmt", "keras", "ctranslate2", "tokenizers", "python", "system"} <= found.keys()
