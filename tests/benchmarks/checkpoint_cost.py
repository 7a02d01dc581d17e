"""What do checkpoints cost a training run?

    python tests/benchmarks/checkpoint_cost.py [CONFIG] [KEY=VALUE]...

Trains 101 steps of a configuration (quickstart if left out) with a checkpoint every 20. Prints
JSON: seconds of a step, seconds that a snapshot holds up training, processor seconds of the thread
that writes it, and what part of the training time both together are at the `checkpoint_steps` of
the configuration.
"""

import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

from nmt_cli.config.reading import load_config
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.training.run import prepare


def timed(function: Callable[..., Any], clock: Callable[[], float], times: list[float]) -> Any:
    """Return the function, made to note how long each call takes."""

    def call(*args: Any, **kwargs: Any) -> Any:
        begin = clock()
        try:
            return function(*args, **kwargs)
        finally:
            times.append(clock() - begin)

    return call


def median(values: list[float]) -> float:
    """Return the value in the middle."""
    return sorted(values)[len(values) // 2]


def main() -> None:
    """Train and measure."""
    name = sys.argv[1] if len(sys.argv) > 1 else "quickstart"
    quiet_tensorflow()
    from nmt_cli.events import StepDone
    from nmt_cli.training.checkpoint import Checkpoints
    from nmt_cli.training.loop import train
    from nmt_cli.training.state import RunState

    usual = load_config(name, sys.argv[2:]).config.train.checkpoint_steps
    few = ["train.max_steps=101", "train.checkpoint_steps=20", "train.eval_steps=1000"]
    snapshots: list[float] = []
    writes: list[float] = []
    RunState.snapshot = timed(RunState.snapshot, time.perf_counter, snapshots)
    Checkpoints.save = timed(Checkpoints.save, time.thread_time, writes)
    steps = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        loaded = load_config(name, [*sys.argv[2:], *few])
        for event in train(prepare(loaded, tell=lambda _: None, on_encoded=lambda *_: None)):
            if isinstance(event, StepDone):
                steps.append(event.seconds)
            if len(steps) == 101:
                break
    step, snapshot, write = median(steps), median(snapshots), median(writes)
    facts = {"step_s": step, "snapshot_s": snapshot, "write_cpu_s": write, "every": usual}
    share = (snapshot + write) / (usual * step)
    print(json.dumps({k: round(v, 4) for k, v in facts.items()} | {"share": round(share, 5)}))


if __name__ == "__main__":
    main()
