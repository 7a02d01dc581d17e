"""Low-rank adapters: their gradients, what they make of the weights, resuming."""

import numpy as np
import pytest
import tensorflow as tf
from safetensors.numpy import load_file

from nmt_cli.bundle.folder import open_bundle
from nmt_cli.config.schema import Config, TrainConfig
from nmt_cli.errors import ConfigError
from nmt_cli.events import Evaluated
from nmt_cli.model.weights import assign_weights, is_hidden_matrix, named_variables, read_weights
from nmt_cli.text.batches import Batch
from nmt_cli.training.adapters import Adapters
from nmt_cli.training.loop import train
from nmt_cli.training.optimizer import Optimizer
from nmt_cli.training.step import Stepper

SMALL = ("train.lora_rank=2", "train.max_steps=4", "train.eval_steps=2", "data.test=[]")
SMALL += ("train.checkpoint_steps=2", "train.learning_rate=0.01", "train.warmup_steps=1")
SMALL += ("train.average_decay=0.9",)


BATCH = Batch(
    np.array([[6, 7, 8, 2], [9, 6, 2, 0]], np.int32), np.array([[8, 7, 2], [6, 9, 2]], np.int32)
)


def config(**train) -> Config:
    corpora = {"train": [{"file": "a.tsv"}], "dev": [{"file": "b.tsv"}]}
    train = {"clip_norm": 0.0, "lanes": 1, **train}
    return Config.model_validate({"name": "x", "data": corpora, "train": train})


def test_gradients_are_those_of_finite_differences():
    random = np.random.default_rng(1)
    matrix, factor = random.normal(size=(2, 4, 3))
    adapters = Adapters({"x.layer1.a": tf.Variable(matrix, dtype=tf.float32)}, rank=2)
    weights = adapters.weights
    weights["x.layer1.a.up"].assign(random.normal(size=(2, 3)))
    parts = {name: w.numpy().astype(float) for name, w in weights.items()}

    def loss(down, up):
        return float(np.sum(factor * np.tanh(matrix + down @ up)))

    down, up = parts.values()
    of_matrix = factor / np.cosh(matrix + down @ up) ** 2
    found = adapters.gradients([tf.constant(of_matrix, tf.float32)])
    for name, gradient in zip(weights, found, strict=True):
        for place in np.ndindex(*gradient.shape):
            moved = [{n: p.copy() for n, p in parts.items()} for _ in range(2)]
            moved[0][name][place] += 1e-5
            moved[1][name][place] -= 1e-5
            slope = (loss(*moved[0].values()) - loss(*moved[1].values())) / 2e-5
            assert gradient[place].numpy() == pytest.approx(slope, rel=1e-4, abs=1e-6)


def hidden(model) -> dict:
    return {n: v for n, v in named_variables(model).items() if is_hidden_matrix(n, v)}


@pytest.mark.parametrize(("rule", "lanes"), [("adam", 1), ("adam", 2), ("muon", 1)])
def test_a_model_moves_by_the_product_and_in_nothing_else(make_model, rule, lanes):
    model = make_model(dropout=0.0)
    first = read_weights(model)
    settings = TrainConfig(precision="float32", optimizer=rule, lora_rank=2, average_decay=0.5)
    optimizer = Optimizer(hidden(model), settings)
    stepper = Stepper(model, optimizer, config(lanes=lanes))
    before = stepper.evaluate([BATCH])
    for number in range(1, 6):
        stepper.step([BATCH], number, 0.01)
    assert stepper.evaluate([BATCH]) < before
    state, now = optimizer.read_state(), read_weights(model)
    for name, array in first.items():
        if name not in hidden(model):
            np.testing.assert_array_equal(now[name], array)
            continue
        down, up = (state[f"adapter.{name}.{part}"] for part in ("down", "up"))
        assert np.abs(down @ up).max() > 1e-3
        np.testing.assert_allclose(now[name] - array, down @ up, atol=1e-5)
    assert {name.partition(".")[2].rpartition(".")[0] for name in state if name[0] in "mv"} == {
        *hidden(model)
    }
    averaged = optimizer.read_average()
    assert averaged.keys() == hidden(model).keys()
    optimizer.reset()
    assert not optimizer.read_state()[f"adapter.{next(iter(averaged))}.up"].any()


def test_the_models_gradient_is_that_of_finite_differences(make_model):
    model = make_model(dropout=0.0)
    first = read_weights(model)
    optimizer = Optimizer(hidden(model), TrainConfig(precision="float32", lora_rank=3))
    stepper = Stepper(model, optimizer, config(label_smoothing=0.0))
    name = next(name for name in hidden(model) if name.endswith("query_key_value"))
    down = optimizer.read_state()[f"adapter.{name}.down"]
    stepper.step([BATCH], 1, 0.0)
    gradient = 10 * optimizer.read_state()[f"m.{name}.up"]
    for place in [(0, 0), (1, 5), (2, gradient.shape[1] - 1)]:
        losses = []
        for sign in (1, -1):
            up = np.zeros_like(gradient)
            up[place] = sign * 0.02
            assign_weights(model, first | {name: first[name] + down @ up})
            losses.append(stepper.evaluate([BATCH]))
        assert gradient[place] == pytest.approx((losses[0] - losses[1]) / 0.04, rel=0.02, abs=2e-5)


def test_a_run_resumes_and_its_bundle_has_plain_weights(prepare_run, toy_bundle):
    start = f"train.from={toy_bundle}"
    whole = prepare_run(start)
    assert [e.step for e in train(whole) if isinstance(e, Evaluated)][:3] == [0, 2, 4]
    again = prepare_run(start, "name=stopped")
    asked = iter(range(9))
    list(train(again, lambda: next(asked) >= 4))
    list(train(again))
    checkpoints = [p.folder.checkpoints / "step-00000004" for p in (whole, again)]
    for file in ("weights.safetensors", "optimizer.safetensors"):
        arrays, resumed = (load_file(folder / file) for folder in checkpoints)
        assert arrays.keys() == resumed.keys()
        for name, array in arrays.items():
            np.testing.assert_array_equal(resumed[name], array)
    assert any(name.startswith("adapter.") for name in arrays)
    learned, before = (load_file(checkpoints[0] / "weights.safetensors"), open_bundle(toy_bundle))
    assert learned.keys() == before.load_weights().keys()
    assert open_bundle(whole.folder.model).load_weights().keys() == learned.keys()
    changed = {n for n, a in before.load_weights().items() if (learned[n] != a).any()}
    assert changed == {name for name, a in learned.items() if is_hidden_matrix(name, a)}


def test_adapters_of_what_is_frozen_are_none(prepare_run, toy_bundle):
    run = prepare_run(f"train.from={toy_bundle}", "train.freeze=[encoder]", "train.max_steps=2")
    list(train(run))
    state = load_file(run.folder.checkpoints / "step-00000002" / "optimizer.safetensors")
    assert {name.split(".")[1] for name in state} == {"decoder"}
    frozen = prepare_run(f"train.from={toy_bundle}", "train.freeze=[encoder, decoder]", "name=none")
    with pytest.raises(ConfigError, match="nothing is left"):
        list(train(frozen))
