"""`nmt score`: how likely a model finds given translations."""

from nmt_cli.config.tasks import TRANSLATION
from nmt_cli.errors import ConfigError, number_of
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def score(
    texts: list[str] | None = opt.argument("[SOURCE TARGET]", "A sentence and its translation."),
    model: opt.Models = None,
    source: opt.Source = None,
    target: opt.Reference = None,
    output_file: opt.Output = None,
    to: opt.To = None,
    from_: opt.From = None,
    column: opt.PairColumns = None,
    shard: opt.Shard = None,
    ray: opt.Ray = None,
    ray_workers: opt.RayWorkers = None,
    length_penalty: opt.LengthPenalty = None,
    engine: opt.Engine = "auto",
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    encoding: opt.Encoding = "utf-8",
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Print the log-probability of given translations, one per line, as a search would score them.

    A score is the sum of the log-probabilities of the target's tokens, divided by their number to
    the power of --length-penalty; with 0 it is the plain sum. --json also gives the log-probability
    of each token.

    Example: nmt score "The old man reads a book." "Der alte Mann liest ein Buch."
    """
    from nmt_cli.lines.work import Scoring
    from nmt_cli.terminal import lines as text_lines

    columns = text_lines.pair_columns(column, source, target)
    is_half = (source is None) != (target is None) and not columns
    if bool(texts) == bool(source or target) or is_half:
        raise ConfigError("give either a sentence and its translation, or --input and --reference")
    if source == target == "-":
        raise ConfigError("only one of --input and --reference can be standard input")
    if texts and len(texts) != 2:
        raise ConfigError(
            f"give one sentence and one translation (not {number_of(len(texts), 'text')})"
        )
    where = {"number_format": number_format, "threads": threads, "device": device}
    loaded = opt.open_model(model, TRANSLATION, engine=engine, **where)
    if verbose:
        console.note_engine(loaded.engine_description)
    search = {"length_penalty": length_penalty, "to": to, "from_": from_}
    work = Scoring(model=loaded, json=json, options=search)
    pairs = text_lines.Pairs(texts, source, target, columns, encoding)
    place = text_lines.Where(shard, ray, ray_workers)
    text_lines.run("scoring", work, pairs, output_file, place)
