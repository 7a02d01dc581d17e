"""`nmt augment`: makes more training text from the text of a configuration."""

import shlex
from pathlib import Path

from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

_SAMPLES = 3


def augment(
    config: opt.Config = None,
    method: str = opt.option(
        "NAME", "Method: diversify, back-translate or distil.", default="diversify"
    ),
    copies: int = opt.option("K", "Models to train per direction.", default=1),
    models: list[str] | None = opt.option("MODEL", "A model; may be repeated.", "--model -m"),
    to: str | None = opt.option("CODE", "The language that --model translates to."),
    from_: str | None = opt.option("CODE", "The language that --model translates from.", "--from"),
    monolingual: str | None = opt.option("FILE", "Lines of one language to translate."),
    sample: bool = opt.switch("--sample", "Back-translate at random, for more variety."),
    tag: str = opt.option("TEXT", "Put this in front of each source a model made.", default=""),
    drop: float = opt.option("SHARE", "Share of the least likely pairs to drop.", default=0.02),
    limit: str | None = opt.option("TIME", "Limit for each training.", "--time"),
    ray: opt.Ray = None,
    ray_workers: opt.RayWorkers = None,
    overrides: opt.Set = None,
    data_dir: opt.DataDir = None,
    dry_run: bool = opt.switch("--dry-run", "Only say what would be done, and how long it takes."),
    fresh: bool = opt.switch("--fresh", "Discard what was made before and start over."),
) -> None:
    """Make more training text from your text.

    diversify trains models in both directions on the text and adds their translations of it. It
    adds those of each --model, too, which translates in its own direction; --copies 0 trains none.
    back-translate takes --monolingual text in the target language, and adds it with the
    translations that a model of the other direction makes. distil replaces each translation by one
    that a model makes: of its five best, the one most like the original. With --monolingual text
    in the source language, distil adds translations of that and replaces nothing. For these two,
    --model is used in place of a model to train. A model of several languages needs --to, and may
    need --from.

    Pairs are dropped if the text has them already, if they repeat themselves or are not translated,
    if their lengths do not fit, or if they are among the least likely.

    The command first says what it will do and how long that takes here. It writes to
    runs/NAME/augmented, and prints the name of a configuration that trains on the result. Run again
    after a stop, it resumes. With --ray, this machine trains, and a cluster translates.

    Example: nmt augment my.yaml --copies 2 --dry-run

    Example: nmt augment my.yaml --method back-translate --monolingual more.de --sample
    """
    from nmt_cli.augmentation.forecast import foretell
    from nmt_cli.augmentation.making import StoppedError, make, samples
    from nmt_cli.augmentation.plan import Augmentation
    from nmt_cli.config.reading import load_config
    from nmt_cli.terminal.lines import Where
    from nmt_cli.terminal.training_view import StopRequest

    cluster = Where(ray=ray, ray_workers=ray_workers).cluster()
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
    with StopRequest() as stop:
        try:
            path = make(plan, cluster=cluster, tell=console.note, progress=console.counting)
        except StoppedError as stopped:
            if not stopped.signal:
                raise
            console.note(str(stopped))
            stop.exit_if_set(stopped.signal)
    for pair in samples(plan, _SAMPLES):
        console.note(f"  {pair['from']}: {pair['source']} -> {pair['target']}")
    console.note(f"wrote {path}")
    console.note(f"next: {shlex.join(['nmt', 'train', str(path)])}")
