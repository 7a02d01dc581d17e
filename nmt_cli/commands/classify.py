"""`nmt classify`: labels for arguments, a file, standard input, or what is typed."""

import sys
from dataclasses import replace

from nmt_cli.config.tasks import CLASSIFICATION
from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt


def classify(
    text: list[str] | None = opt.argument("[TEXT]...", "Texts to classify."),
    model: opt.Model = None,
    input_file: opt.Input = None,
    output_file: opt.Output = None,
    top: int | None = opt.option("N", "Print the N most likely labels."),
    proba: bool = opt.switch("--proba", "Print the probability after each label."),
    attention: opt.Attention = None,
    on_error: opt.OnError = "stop",
    encoding: opt.Encoding = "utf-8",
    column: opt.Column = None,
    shard: opt.Shard = None,
    ray: opt.Ray = None,
    ray_workers: opt.RayWorkers = None,
    number_format: opt.Format = None,
    threads: opt.Threads = None,
    device: opt.Device = "auto",
    json: opt.Json = False,
    verbose: opt.Verbose = False,
) -> None:
    """Give labels to texts, a file, standard input, or what you type.

    Every input line gives one output line, in order: its label, or its labels with the separator of
    the training text. A blank line stays blank. A model of text pairs reads two texts with a tab
    between them. --json gives the probabilities of all labels, or of the --top most likely.

    Example: nmt classify "I love this." --top 3 --proba --attention attention.html
    """
    from nmt_cli.lines.work import Labelling
    from nmt_cli.terminal import lines as text_lines

    source = text_lines.Lines(text, input_file, on_error, encoding, column)
    if text and input_file:
        raise ConfigError("give either texts or --input, not both")
    if top is not None and top < 1:
        raise ConfigError(f"--top must be at least 1 (it is {top})")
    if attention is not None:
        text_lines.check_attention(text, attention)
    loaded = opt.open_model(
        model, CLASSIFICATION, number_format=number_format, threads=threads, device=device
    )
    reads_one = loaded.bundle.manifest.classification.get("texts", 1) == 1
    if reads_one:
        source.check_no_table()
        source = replace(source, warns_of_tabs=True)
    if verbose:
        console.note_engine(loaded.engine_description)
    work = Labelling(model=loaded, json=json, top=top, proba=proba)
    if not text and input_file is None and sys.stdin.isatty():
        from nmt_cli.terminal.documents import check_unused
        from nmt_cli.terminal.prompts import ClassifyPrompt

        check_unused({"--output": output_file, "--shard": shard, "--ray": ray}, "at the prompt")
        ClassifyPrompt(work).run()
        return
    where = text_lines.Where(shard, ray, ray_workers)
    last = text_lines.run("classifying", work, source, output_file, where)
    if attention is not None:
        text_lines.show_label_attention(loaded, last, attention)
