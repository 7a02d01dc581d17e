"""How fast is a training step, and how near to what the machine can multiply?

    python tests/benchmarks/training_speed.py CONFIG [KEY=VALUE]... [--seconds 30]

Takes real batches of the configuration's training corpus through the training step, after a few to
warm up, then measures the machine's matrix products (4096x512 by 512x2048). Prints JSON: target
tokens a second without padding (median over the steps), and the share of that peak which the step
reaches, counted as 6 * (encoder weights * source tokens + (decoder + output layer) weights * target
tokens) operations. `tests/benchmarks/` has nothing of the peers: theirs print tokens a second, too.
"""

import argparse
import json
import statistics
import time

from nmt_cli.config.reading import load_config
from nmt_cli.model.tensorflow_setup import quiet_tensorflow

WARM_UP = 4


def main() -> None:
    """Measure the step, then the peak."""
    parser = argparse.ArgumentParser()
    parser.add_argument("config")
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("--seconds", type=float, default=30.0)
    arguments = parser.parse_args()
    quiet_tensorflow()
    loaded = load_config(arguments.config, arguments.overrides)
    tokens, operations, steps, train = _measure_steps(loaded, arguments.seconds)
    peak = _peak(train.precision, train.lanes)
    print(
        json.dumps(
            {
                "precision": train.precision,
                "lanes": train.lanes,
                "steps": steps,
                "target_tokens_per_second": round(tokens),
                "gflops": round(operations / 1e9, 1),
                "peak_gflops": round(peak / 1e9, 1),
                "share_of_peak": round(operations / peak, 3),
            }
        )
    )


def _measure_steps(loaded, seconds):
    """Return the medians of tokens and of operations a second, the steps, and `train` as it was."""
    from nmt_cli.model.transformer import Transformer
    from nmt_cli.model.weights import named_variables
    from nmt_cli.training.dataset import Cursor, iter_steps
    from nmt_cli.training.device import ThisMachine, share_cores
    from nmt_cli.training.optimizer import Optimizer
    from nmt_cli.training.run import prepare
    from nmt_cli.training.step import Stepper

    prepared = prepare(
        loaded,
        tell=lambda _: None,
        on_encoded=lambda *_: None,
        machine=ThisMachine(),
    )
    config = prepared.config
    share_cores(config.train.lanes)
    precision = config.train.precision
    model = Transformer(
        config.model,
        source_vocab_size=prepared.vocabularies.source.vocab_size,
        target_vocab_size=prepared.vocabularies.target.vocab_size,
        joint=prepared.vocabularies.joint,
        compute_dtype=precision,
    )
    variables = named_variables(model)
    optimizer = Optimizer(variables, config.train)
    stepper = Stepper(model, optimizer, config)
    sizes = {name: int(variable.value.shape.num_elements()) for name, variable in variables.items()}
    encoder = sum(size for name, size in sizes.items() if name.startswith("encoder."))
    decoder = sum(size for name, size in sizes.items() if name.startswith("decoder."))
    output = int(model.output_table.shape.num_elements())
    tokens, operations = [], []
    end = None
    for number, (batches, _) in enumerate(iter_steps(prepared.train, config, Cursor()), start=1):
        started = time.perf_counter()
        result = stepper.step(batches, number, 1e-4)
        elapsed = time.perf_counter() - started
        if number <= WARM_UP:
            end = time.perf_counter() + seconds
            continue
        source = sum(int((batch.source != 0).sum()) for batch in batches)
        work = 6 * (encoder * source + (decoder + output) * result.num_tokens)
        tokens.append(result.num_tokens / elapsed)
        operations.append(work / elapsed)
        if time.perf_counter() > end:
            break
    return statistics.median(tokens), statistics.median(operations), len(tokens), config.train


def _peak(precision, lanes, seconds=2.0):
    """Return the operations a second of large matrix products, as many at a time as lanes."""
    import tensorflow as tf

    rows, inner, columns = 4096, 512, 2048
    a = tf.cast(tf.random.normal((rows, inner)), precision)
    b = tf.cast(tf.random.normal((inner, columns)), precision)
    product = tf.function(lambda: [tf.matmul(a + i, b) for i in range(lanes)])  # as in the step
    product()
    rates = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        started = time.perf_counter()
        product()[-1].numpy()
        rates.append(2 * lanes * rows * inner * columns / (time.perf_counter() - started))
    return statistics.median(rates)


if __name__ == "__main__":
    main()
