"""`nmt augment`: makes more text to learn from, of the text that there is."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

_SAMPLES = 3


def augment(
    config: opt.Config = None,
    method: Annotated[
        str, typer.Option("--method", help="Method: diversify, back-translate or distil.")
    ] = "diversify",
    copies: Annotated[
        int, typer.Option("--copies", min=1, metavar="K", help="Models to train per direction.")
    ] = 1,
    models: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="MODEL", help="Use this model; train none."),
    ] = None,
    to: Annotated[
        str | None,
        typer.Option("--to", metavar="CODE", help="The language that --model translates to."),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option("--from", metavar="CODE", help="The language that --model translates from."),
    ] = None,
    monolingual: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Lines of one language, to be translated."),
    ] = None,
    sample: Annotated[
        bool, typer.Option("--sample", help="Back-translate at random, for more variety.")
    ] = False,
    tag: Annotated[
        str, typer.Option(metavar="TEXT", help="Put this in front of each made source.")
    ] = "",
    drop: Annotated[
        float,
        typer.Option(
            min=0.0, max=0.9, metavar="SHARE", help="Share of the least likely pairs to drop."
        ),
    ] = 0.02,
    limit: Annotated[
        str | None, typer.Option("--time", metavar="TIME", help="Limit for each training.")
    ] = None,
    overrides: opt.Set = None,
    data_dir: opt.DataDir = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done, and how long it takes.")
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Discard what was made before and start over.")
    ] = False,
) -> None:
    """Make more training text from the text that there is.

    diversify trains models in both directions on the text and adds their translations of it.
    back-translate adds translations of --monolingual text in the target language, which a model of
    the other direction makes. distil replaces the translations by those of a model, of five each
    the one that is nearest to the given one; with --monolingual text in the source language it adds
    the translations of that instead. A model of several languages needs --to, and may need --from.
    Pairs that are there already, that repeat themselves, whose lengths do not fit, and the least
    likely ones are dropped.

    What is made lies in runs/NAME/augmented. The command says what it will do, and how long that
    takes, before it begins. It prints the name of a configuration that trains on what it made. Run
    again after a stop, it resumes.

    Example: nmt augment my.yaml --copies 2 --dry-run

    Example: nmt augment my.yaml --method back-translate --monolingual more.de --sample
    """
    from nmt_cli.augmentation.forecast import foretell
    from nmt_cli.augmentation.making import make, samples
    from nmt_cli.augmentation.plan import Augmentation
    from nmt_cli.config.reading import load_config

    opt.note_stand_in(config, "augment")
    loaded = load_config(config, opt.with_data_dir(overrides, data_dir))
    plan = Augmentation(
        loaded=loaded,
        method=method,
        copies=copies,
        models=models or (),
        to=to,
        from_=from_,
        monolingual=Path(monolingual) if monolingual is not None else None,
        is_sampled=sample,
        tag=tag,
        drop=drop,
        time_limit=limit,
        is_fresh=fresh,
    )
    if dry_run:
        for line in foretell(plan):
            console.note(line)
        return
    path = make(plan, tell=console.note, progress=console.counting)
    for pair in samples(plan, _SAMPLES):
        console.note(f"  {pair['from']}: {pair['source']} -> {pair['target']}")
    console.note(f"wrote {path}")
    console.note(f"next: {shlex.join(['nmt', 'train', str(path)])}")
