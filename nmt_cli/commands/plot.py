"""`nmt plot WHAT`: pictures of training, data and models; as a file, or on the terminal."""

from typing import Annotated, Any

from nmt_cli.config.tasks import CLASSIFICATION
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt
from nmt_cli.terminal.console import check_output, show

Output = Annotated[
    str | None,
    opt.named("--output -o", "FILE", "A .png, .svg or .html; default: text.", callback=opt.no_url),
]


def schedule(config: opt.Config = None, overrides: opt.Set = None, output: Output = None) -> None:
    """Draw the learning rate over the steps of a configuration.

    Example: nmt plot schedule --set train.schedule=cosine -o schedule.svg
    """
    from nmt_cli.config.reading import load_config
    from nmt_cli.report.curves import schedule_chart
    from nmt_cli.text.corpus import Corpora
    from nmt_cli.training.auto_values import resolve

    check_output(output)
    loaded = load_config(config, overrides)
    corpora = Corpora(loaded.config, loaded.data_dir)
    show(schedule_chart(resolve(loaded, corpora, tell=console.note)), output)


def positions(
    model: opt.Model = None,
    d_model: int | None = opt.option("N", "Draw sinusoids of this width; needs no model."),
    length: int | None = opt.option("N", "Number of positions."),
    output: Output = None,
) -> None:
    """Draw the position matrix of a model: sinusoids, or learned vectors for each side.

    Example: nmt plot positions --d-model 128 --length 100 -o positions.png
    """
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.report.matrices import Positions

    check_output(output)
    if d_model is not None:
        show(Positions.sinusoids(d_model, length), output)
    else:
        show(Positions.of(find_bundle(model), length), output)


def curves(
    runs: list[str] | None = opt.argument("[RUN]...", "Run folders or names; default: the newest."),
    output: Output = None,
) -> None:
    """Draw loss, scores, learning rate and speed of one run, or of several to compare them.

    Example: nmt plot curves runs/first runs/second -o curves.html
    """
    from nmt_cli.report.curves import curves_of

    check_output(output)
    show(curves_of(runs or []), output)


def lengths(
    config: opt.Config = None,
    overrides: opt.Set = None,
    data_dir: opt.DataDir = None,
    unit: str = opt.option(
        "UNIT", "pieces (that is, tokens), words or characters.", default="words"
    ),
    split: str = opt.option("SPLIT", "Which text: train, dev or test.", default="train"),
    output: Output = None,
) -> None:
    """Draw how long the lines of a configuration's text are, on both sides.

    Example: nmt plot lengths my.yaml --unit pieces -o lengths.png
    """
    from nmt_cli.config.reading import load_config
    from nmt_cli.report.length_chart import lengths_of

    check_output(output)
    loaded = load_config(config, opt.with_data_dir(overrides, data_dir))
    show(lengths_of(loaded, unit, split), output)


def model(model: opt.Model = None, output: Output = None) -> None:
    """Draw a model: its parts, the shapes between them, and the weights of each.

    Example: nmt plot model -m runs/quickstart -o model.svg
    """
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.report.diagram import diagram_of_bundle

    check_output(output)
    show(diagram_of_bundle(find_bundle(model)), output)


def attention(
    source: str = opt.argument("SOURCE", "A sentence, or a text to classify.", default=...),
    target: str | None = opt.argument(
        "[TARGET]", "Its translation (default: the model's own), or the second text of a pair."
    ),
    model: opt.Model = None,
    kind: str | None = opt.option("KIND", "cross, encoder or decoder."),
    layer: int | None = opt.option("N", "Layer, from 1; default: all, in text the last."),
    head: int | None = opt.option("N", "Head, from 1; default: all, in text their mean."),
    tokens: bool = opt.switch("--pieces", "Show tokens instead of words."),
    output: Output = None,
) -> None:
    """Draw what each attention head looks at. A .html holds all kinds, layers and heads.

    For a classifier this is the self-attention of its encoder. A pair of texts is given as two
    arguments, or with a tab between them.

    Example: nmt plot attention "The old man reads a book." -o attention.html

    Example: nmt plot attention "I love this phone." -m runs/sentiment --layer 2 -o attention.png
    """
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.report.attention import attention_of, check_choice
    from nmt_cli.tasks import task_of

    check_output(output)
    bundle = find_bundle(model)
    facts = bundle.manifest.facts
    choice: dict[str, Any] = {"kind": kind, "layer": layer, "head": head}
    check_choice(bundle.manifest.model, has_decoder=not facts.has_labels, **choice)
    attended = task_of(facts).attended(bundle, source, target)
    show(attention_of(attended, by_token=tokens, **choice), output)


def confusion(
    model: opt.Model = None,
    split: opt.Split = "test",
    data_dir: opt.DataDir = None,
    output: Output = None,
) -> None:
    """Draw the confusion matrix of a classifier: which labels it takes for which.

    Example: nmt plot confusion -m runs/sentiment -o confusion.png
    """
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.evaluation.evaluator import check_split, read_examples
    from nmt_cli.evaluation.label_judging import judge
    from nmt_cli.report.matrices import Confusion
    from nmt_cli.search.loading import EngineOptions, load_labeller

    check_output(output)
    check_split(split)
    bundle = find_bundle(model, CLASSIFICATION)
    examples, _ = read_examples(bundle, split=split, data_dir=data_dir, on_note=console.note)
    with console.counting() as tell:
        labeller, total = load_labeller(bundle, EngineOptions()), len(examples)
        judged = judge(labeller, examples, lambda done: tell("classifying", done, total))
    show(Confusion.of(bundle.manifest.name, judged), output)
