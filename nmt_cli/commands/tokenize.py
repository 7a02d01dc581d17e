"""`nmt tokenize`: trains the vocabulary of a configuration, or shows how it splits a text."""

from typing import Annotated

import typer

from nmt_cli.commands.loading import DataDirOption
from nmt_cli.commands.train import ConfigArgument, SetOption, note_stand_in, with_data_dir


def tokenize(
    config: ConfigArgument = None,
    overrides: SetOption = None,
    data_dir: DataDirOption = None,
    show: Annotated[
        str | None,
        typer.Option("--show", metavar="TEXT", help="Print the pieces and ids of a text."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Train the BPE vocabulary of a configuration; a second run uses it again.

    Example: nmt tokenize --set tokenizer.vocab_size=4000 --show "Good morning!"
    """
    from dataclasses import replace

    from nmt_cli.config.reading import load_config
    from nmt_cli.errors import TrainingError
    from nmt_cli.files import os_errors_as
    from nmt_cli.terminal import console
    from nmt_cli.text.corpus import Corpora
    from nmt_cli.text.vocabulary_cache import load_or_train
    from nmt_cli.training.auto_values import VOCAB_SIZE, resolve, unfilled
    from nmt_cli.training.run_folder import RunFolder

    note_stand_in(config, "tokenize")
    loaded = load_config(config, with_data_dir(overrides, data_dir))
    run = RunFolder.of(loaded.config)
    folder = run.path
    corpora = Corpora(loaded.config, loaded.data_dir)
    vocabulary_only = replace(loaded, auto=loaded.auto & {VOCAB_SIZE})
    resolved = resolve(vocabulary_only, corpora, tell=console.note)
    with run.locked(), os_errors_as(TrainingError, f"{folder}: cannot be written"):
        found, is_new = load_or_train(resolved, corpora, folder)
    size = found.source.vocab_size
    console.note(f"vocabulary in {folder}: {size:,} pieces ({'trained' if is_new else 'reused'})")
    if VOCAB_SIZE not in loaded.auto and (warning := unfilled(resolved, found)):
        console.warn(warning)
    if show is not None:
        ids = found.source.encode(show)
        pieces = found.source.pieces(ids)
        if json:
            console.result_json({"text": show, "pieces": pieces, "ids": ids})
        else:
            console.result(" ".join(pieces))
            console.result(" ".join(map(str, ids)))
    elif json:
        console.result_json({"folder": str(folder), "pieces": size, "trained": is_new})
