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
    options, and that none was changed since. Writes nothing otherwise.

    Example: nmt translate -i big.en -o big.de --shard 1/2

    Example: nmt join big.de --remove
    """
    from nmt_cli.errors import DataError
    from nmt_cli.parts import folder_of, join
    from nmt_cli.stores import Store, is_url, written

    with written(output, "*") as here:
        number = join(Path(str(here)))
    console.note(f"wrote {output} from {number} parts")
    if remove and is_url(output):
        Store(f"{output}.parts", DataError).delete("")
    elif remove:
        shutil.rmtree(folder_of(Path(output)))
