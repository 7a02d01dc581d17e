"""What `nmt evaluate` prints of a classifier: its labels against the right ones."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.commands.evaluation_systems import model_facts
from nmt_cli.commands.loading import load_labeller
from nmt_cli.errors import ConfigError
from nmt_cli.evaluation.comparison import Corpus, Result
from nmt_cli.evaluation.label_comparison import LabelComparison, corpus_of
from nmt_cli.evaluation.label_judging import Judged, judge
from nmt_cli.report.confusion import Confusion
from nmt_cli.terminal import console
from nmt_cli.terminal.pictures import show
from nmt_cli.text.corpus import Example

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle

_NUM_MISTAKES = 20
_NUM_PRINTED = 5


def judge_with_progress(bundle: "Bundle", examples: list[Example], **where: Any) -> Judged:
    """Let a classifier give labels to examples; `where` is what `load_labeller` wants to know."""
    labeller = load_labeller(bundle, **where)
    with console.live_progress("{task.completed:,.0f} of {task.total:,.0f}") as progress:
        task = progress.add_task("classifying", total=len(examples)) if progress else None

        def on_progress(done: int) -> None:
            if progress and task is not None:
                progress.update(task, completed=done)

        return judge(labeller, examples, on_progress)


def compare_labels(
    bundle: "Bundle",
    examples: list[Example],
    others: "Sequence[str | Bundle]",
    read_outputs: Callable[[str, Corpus], Result],
    **where: Any,
) -> LabelComparison:
    """Let classifiers give labels to examples.

    Args:
        bundle: The one that the others are compared with.
        examples: One or more.
        others: Other classifiers, and files of labels, a line an example.
        read_outputs: Reads such a file for a corpus.
        where: What `load_labeller` wants to know.

    Raises:
        ConfigError: Another classifier gives other labels, or reads other texts.
        DataError: A file has an unknown label.
    """
    first = judge_with_progress(bundle, examples, **where)
    corpus, labels = corpus_of(first), first.labels
    results = [Result(str(bundle.path), first.outputs(), settings=model_facts(bundle))]
    for other in others:
        if isinstance(other, str):
            results.append(read_outputs(other, corpus))
            for number, output in enumerate(results[-1].outputs, start=1):
                if problem := labels.problem(output, Path(other), number):
                    raise problem
            continue
        if _task(other) != _task(bundle):
            raise ConfigError(
                f"{other.path} gives other labels than {bundle.path}, or reads other texts",
                hint="nmt info shows the labels of a model",
            )
        outputs = judge_with_progress(other, examples, **where).outputs()
        results.append(Result(str(other.path), outputs, settings=model_facts(other)))
    return LabelComparison(results, corpus, first)


def _task(bundle: "Bundle") -> tuple[Any, ...]:
    """Return what two classifiers must have in common to be compared."""
    settings = bundle.manifest.classification
    return sorted(settings["labels"]), settings["multi_label"], settings["texts"]


def confusion_picture(name: str, judged: Judged) -> Confusion:
    """Return which labels were taken for which by the model of that name.

    Raises:
        ConfigError: Examples have several labels.
    """
    if judged.multi_label:
        raise ConfigError("a confusion matrix needs examples with one label each")
    title = f"{name}: {len(judged.examples):,} examples"
    labels, counts = list(judged.labels.names), judged.confusion()
    return Confusion(title=title, labels=labels, counts=counts)


def show_judged(name: str, judged: Judged, *, as_json: bool) -> None:
    """Print accuracy, F1, the scores of each label, the confusion matrix and some mistakes."""
    scores, by_label = judged.scores(), judged.by_label()
    mistakes = judged.mistakes(_NUM_MISTAKES)
    if as_json:
        record: dict[str, Any] = {"examples": len(judged.examples)}
        record |= {metric: score.as_json() for metric, score in scores.items()}
        record["labels"] = [asdict(score) for score in by_label]
        confusion = {} if judged.multi_label else {"confusion": judged.confusion()}
        console.result_json(record | confusion | {"mistakes": mistakes})
        return
    for metric, score in scores.items():
        console.result(f"{metric} {score.score:.2f}  {score.signature}")
    console.result("")
    rows = [["label", "precision", "recall", "f1", "examples"]]
    for one in by_label:
        numbers = [f"{number:.2f}" for number in (one.precision, one.recall, one.f1)]
        rows.append([one.label, *numbers, f"{one.support:,}"])
    console.result_columns(rows)
    if not judged.multi_label:
        console.result("")
        show(confusion_picture(name, judged), None)
    for mistake in mistakes[:_NUM_PRINTED]:
        console.result("")
        console.result_columns([[key, str(value)] for key, value in mistake.items()])
