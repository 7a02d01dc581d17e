"""`nmt join`: one output from the parts that `--shard` made."""

import shutil
from pathlib import Path

from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def join(
    output: str = opt.argument("OUTPUT", "What --output named.", default=...),
    remove: bool = opt.switch("--remove", "Delete the parts when the output is written."),
) -> None:
    """Write one output from the parts that translate, score or classify made with --shard.

    Checks that all parts are there, that they were made of the same input with the same model and
    options, and that none was changed since. Writes nothing otherwise. Of a folder, each output is
    written.

    Example: nmt translate -i big.en -o big.de --shard 1/2

    Example: nmt join big.de --remove
    """
    from nmt_cli.errors import DataError, number_of
    from nmt_cli.parts import folder_of, join
    from nmt_cli.stores import Store, is_url, written

    for name in _outputs(output):
        with written(name, "*") as here:
            number = join(Path(str(here)))
        console.note(f"wrote {name} from {number_of(number, 'part')}")
        if remove and is_url(name):
            Store(f"{name}.parts", DataError).delete("")
        elif remove:
            shutil.rmtree(folder_of(Path(name)))


def _outputs(output: str) -> list[str]:
    """Return the output that was named; those that have parts if it is a folder."""
    from nmt_cli.errors import DataError
    from nmt_cli.stores import Store, is_url

    if not (output.endswith("/") or Path(output).is_dir()):
        return [output]
    pattern = "*.parts/*.json"
    found = Store(output, DataError).list(pattern) if is_url(output) else Path(output).glob(pattern)
    names = sorted({Path(record).parent.name.removesuffix(".parts") for record in found})
    if not names:
        raise DataError(f"{output}: has no parts", hint="make them with --shard 1/N to N/N")
    return [f"{output.rstrip('/')}/{name}" for name in names]
