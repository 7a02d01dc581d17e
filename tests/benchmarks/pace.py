"""Does a step take as long as `nmt_cli/config/pace.py` foretells?

    python tests/benchmarks/pace.py [WIDTHxLAYERSxTOKENS]... [--precision float32]

Takes steps of models of these sizes on sentences of 16 random tokens and prints, for each, the
seconds foretold and measured (median of ten after three) and their ratio. Each size has a process
of its own, as the lanes' share of the cores is set once.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time

SHAPES = ("64x2x1024", "128x2x1024", "128x4x2048", "256x2x1024", "256x4x4096")
LENGTH, WARM_UP, STEPS, VOCABULARY = 16, 3, 10, 6000


def main() -> None:
    """Measure each size in a process of its own."""
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*", default=SHAPES)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--lanes", default="auto")
    parser.add_argument("--optimizer", default="muon")
    parser.add_argument("--one", action="store_true")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(_measure(arguments)))
        return
    options = [f"--{name}={getattr(arguments, name)}" for name in ("precision", "lanes")]
    options.append(f"--optimizer={arguments.optimizer}")
    for shape in arguments.shapes:
        subprocess.run([sys.executable, __file__, shape, "--one", *options], check=True)


def _measure(arguments) -> dict[str, object]:
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow

    quiet_tensorflow()
    import numpy as np

    from nmt_cli.config.pace import Lengths, measure_machine, step_seconds
    from nmt_cli.model.weights import named_variables
    from nmt_cli.tasks import task_of
    from nmt_cli.text.batches import Batch
    from nmt_cli.training.auto_values import resolve_for_machine
    from nmt_cli.training.device import ThisMachine, share_cores
    from nmt_cli.training.optimizer import Optimizer
    from nmt_cli.training.step import Stepper

    config = resolve_for_machine(_config(arguments), tell=print, choose=ThisMachine().choices)
    foretold = step_seconds(config, Lengths(LENGTH, LENGTH), measure_machine())
    share_cores(int(config.train.lanes))
    vocabulary = {"source": VOCABULARY, "target": VOCABULARY, "joint": True}
    model = task_of(config.facts).build_model(config, vocabulary)
    optimizer = Optimizer(named_variables(model), config.train)
    stepper = Stepper(model, optimizer, config)
    shape = (config.train.tokens_per_batch // LENGTH, LENGTH)
    generator, seconds = np.random.default_rng(1), []
    for number in range(1, WARM_UP + STEPS + 1):
        ids = [generator.integers(5, VOCABULARY, shape, np.int32) for _ in range(2)]
        started = time.perf_counter()
        stepper.step([Batch(*ids)], number, 1e-3)
        seconds.append(time.perf_counter() - started)
    measured = statistics.median(seconds[WARM_UP:])
    return {
        "shape": arguments.shapes[0],
        "precision": config.train.precision,
        "lanes": config.train.lanes,
        "foretold": round(foretold, 3),
        "measured": round(measured, 3),
        "ratio": round(foretold / measured, 2),
        "first": round(seconds[0], 1),
    }


def _config(arguments):
    from nmt_cli.config.schema import Config

    width, layers, tokens = map(int, arguments.shapes[0].split("x"))
    widening = 4 if width >= 256 else 2
    sizes = {"d_model": width, "d_ff": widening * width, "num_heads": 4, "dropout": 0.1}
    train = {
        "tokens_per_batch": tokens,
        "optimizer": arguments.optimizer,
        "precision": arguments.precision,
        "lanes": arguments.lanes if arguments.lanes == "auto" else int(arguments.lanes),
    }
    return Config.model_validate(
        {
            "name": "pace",
            "data": {"train": [{"file": "a"}], "dev": [{"file": "b"}]},
            "tokenizer": {"vocab_size": VOCABULARY},
            "model": sizes | {"encoder_layers": layers, "decoder_layers": layers},
            "train": train,
        }
    )


if __name__ == "__main__":
    main()
