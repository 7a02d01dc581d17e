"""Several devices in one process: the same steps as on one. A process of its own makes two."""

import json
import subprocess
import sys

import numpy as np
import pytest

from nmt_cli.distributed.cluster import ALONE
from nmt_cli.distributed.replicas import Replicas, connect
from nmt_cli.errors import ConfigError
from nmt_cli.text.batches import Batch, shares

# Five steps on one and on two devices, with an effective batch whose second micro-batch has one
# row: the second device has no share in it. Prints how far they are apart.
TWO_DEVICES = """
import json
import numpy as np
import tensorflow as tf

[cpu] = tf.config.list_physical_devices("CPU")
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

from nmt_cli.errors import ConfigError
from nmt_cli.config.schema import Config, TrainConfig, ModelConfig
from nmt_cli.model.transformer import Transformer
from nmt_cli.model.weights import named_variables, read_weights
from nmt_cli.text.batches import Batch
from nmt_cli.distributed.cluster import ALONE
from nmt_cli.distributed.replicas import Replicas, connect
from nmt_cli.training.optimizer import Optimizer
from nmt_cli.training.step import Stepper

corpora = {"train": [{"file": "a.tsv"}], "dev": [{"file": "b.tsv"}]}
sizes = dict(d_model=8, d_ff=12, num_heads=2, encoder_layers=1, decoder_layers=1, max_length=16)
vocabulary = dict(source_vocab_size=11, target_vocab_size=11, joint=True)
BATCHES = [
    Batch(
        np.array([[7, 8, 9, 2], [6, 2, 0, 0], [10, 10, 2, 0]], np.int32),
        np.array([[9, 7, 2, 0, 0], [8, 6, 6, 10, 2], [6, 2, 0, 0, 0]], np.int32),
    ),
    Batch(np.array([[8, 7, 6, 9, 2]], np.int32), np.array([[7, 2]], np.int32)),
]

def five_steps(replicas, dropout, rule="adam", lanes=1):
    with replicas.scope():
        model = Transformer(ModelConfig(**sizes, dropout=dropout), **vocabulary, seed=1)
        train = TrainConfig(
            precision="float32",
            optimizer=rule,
            clip_norm=1.0,
            weight_decay=0.01,
            muon_rms=0.2,
            average_decay=0.9,
        )
        optimizer = Optimizer(named_variables(model), train)
    config = Config.model_validate({"name": "x", "data": corpora, "train": {"lanes": lanes}})
    stepper = Stepper(model, optimizer, config, replicas)
    results = [stepper.step(BATCHES, number, 1e-3) for number in range(1, 6)]
    state = {**read_weights(model), **optimizer.read_state()}
    return results, state, stepper.evaluate(BATCHES), stepper

both = connect(ALONE, "auto")
one, two = five_steps(Replicas(), 0.0), five_steps(both, 0.0)
dropped, again = five_steps(both, 0.3), five_steps(both, 0.3)
in_lanes = five_steps(both, 0.0, lanes=2)
by_muon = five_steps(Replicas(), 0.0, "muon"), five_steps(both, 0.0, "muon")
replicas_equal = all(
    np.array_equal(*(part.numpy() for part in variable.value.values))
    for variable in named_variables(two[3]._model).values()
)
print(json.dumps({
    "count": both.count,
    "losses": [[r.loss for r in run[0]] for run in (one, two, in_lanes)],
    "norms": [[r.gradient_norm for r in run[0]] for run in (one, two, in_lanes)],
    "tokens": [[r.num_tokens for r in run[0]] for run in (one, two)],
    "dev": [run[2] for run in (one, two, in_lanes)],
    "apart": {
        name: float(np.abs(array - two[1][name]).max() / max(np.abs(array).max(), 1e-12))
        for name, array in one[1].items() if "key" not in name
    },
    "traces": two[3]._gradients.experimental_get_tracing_count(),
    "replicas_equal": replicas_equal,
    "repeats": dropped[0] == again[0],
    "by_muon": [[r.loss for r in run[0]] for run in by_muon],
    "drops": dropped[0][0].loss != two[0][0].loss,
}))
"""


@pytest.fixture(scope="module")
def two_devices() -> dict:
    """What `TWO_DEVICES` found."""
    done = subprocess.run(
        [sys.executable, "-c", TWO_DEVICES], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_two_devices_take_the_steps_of_one(two_devices):
    found = two_devices
    assert found["count"] == 2
    for kind in ("losses", "norms", "dev"):
        for other in found[kind][1:]:
            assert other == pytest.approx(found[kind][0], rel=1e-5), kind
    assert found["tokens"][1] == found["tokens"][0]
    assert max(found["apart"].values()) < 1e-4
    assert found["replicas_equal"]
    assert found["traces"] == 1


def test_two_devices_take_the_steps_of_one_by_muon_too(two_devices):
    one, two = two_devices["by_muon"]
    assert two == pytest.approx(one, rel=1e-5)
    assert one != two_devices["losses"][0]


def test_dropout_on_two_devices_repeats(two_devices):
    assert two_devices["repeats"]
    assert two_devices["drops"]


@pytest.mark.parametrize("rows", [1, 2, 3, 8])
@pytest.mark.parametrize("count", [1, 2, 3, 5])
def test_shares_are_the_rows_in_order_and_none_is_missing(rows, count):
    lengths = np.arange(1, rows + 1)
    side = np.where(np.arange(rows) < lengths[:, None], 7 + np.arange(rows), 0).astype(np.int32)
    parts = shares(Batch(side, side[::-1]), count)
    assert len(parts) == count
    for index, whole in enumerate((side, side[::-1])):
        found = [row[row > 0].tolist() for part in parts for row in part[index]]
        assert found == [row[row > 0].tolist() for row in whole]
        sizes = [len(part[index]) for part in parts]
        assert max(sizes) - min(sizes) <= 1
        assert all(part[index].shape[1] >= 1 for part in parts)


def test_one_device_gets_the_batch_itself():
    batch = Batch(np.ones((3, 2), np.int32), np.ones((3, 2), np.int32))
    replicas = Replicas()
    assert replicas.count == replicas.num_local == 1
    assert replicas.local_shares(batch)[0] is batch


def test_a_machine_alone_asks_nobody():
    replicas = Replicas()
    assert replicas.any(True) is True
    assert replicas.any(False) is False
    assert replicas.numbers(15) == [15]
    assert replicas.texts("tëxt") == ["tëxt"]
    assert replicas.from_chief("tëxt") == "tëxt"


def test_more_gpus_than_there_are():
    with pytest.raises(ConfigError, match=r"train.devices is 99, but this machine has \d+ GPUs"):
        connect(ALONE, 99)
