"""What `nmt plot` and `--attention` draw: bundles, runs, configurations -> pictures -> output."""

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nmt_cli.errors import ConfigError, DataError, ModelFileError, did_you_mean

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.config.schema import Config
    from nmt_cli.report.attention import Attention
    from nmt_cli.report.charts import BarChart, LineChart
    from nmt_cli.report.picture import Picture
    from nmt_cli.report.position_picture import Positions
    from nmt_cli.search.labeller import Labelled, Labeller
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.vocabulary import Vocabularies

_UNITS = ("pieces", "words", "characters")
_SPLITS = ("train", "dev", "test")
_PAIRS = 8192  # encoded at a time
_UNCUT = 1 << 30
_SINUSOIDS = 100  # positions, where neither a model nor the user says how many


def attention_picture(
    bundle: "Bundle", source: str, target: str | None, **choice: Any
) -> "Attention":
    """Return what the model looks at, for texts; a missing target is the model's own output.

    Args:
        bundle: The model.
        source: A sentence, what a user says to a chat model, or a text to classify.
        target: A translation or reply, or the second of two texts to classify.
        choice: See `report.attention.attention_of`.

    Raises:
        ConfigError: A side is blank or longer than the model reads.
        DataError: A classifier of pairs gets one text.
    """
    if bundle.manifest.classification:
        return _picture_of_texts(bundle, source, target, **choice)
    from nmt_cli.commands.loading import search_options
    from nmt_cli.text.shards import Encoder
    from nmt_cli.text.vocabulary import Vocabularies

    manifest, vocabularies = bundle.manifest, Vocabularies.load(bundle.path)
    longest = manifest.model["max_length"]
    encoder = Encoder(
        vocabularies.source,
        vocabularies.target,
        is_chat=manifest.task == "chat",
        persona=manifest.chat.get("persona"),
        max_length=longest,
    )
    _check_side("the source", source)
    (source_ids,) = encoder.encode_sources([(source,)])
    target_ids = None
    if target is not None:
        _check_side("the target", target)
        (target_ids,) = encoder.encode_targets([target])
    for side, ids in (("source", source_ids), ("target", target_ids or [])):
        if len(ids) > longest:
            raise ConfigError(f"the {side} has {len(ids)} pieces; the model reads {longest}")
    engine = _native_engine(bundle)
    if target_ids is None:
        target_ids = engine.search([source_ids], search_options(bundle, n_best=1))[0][0].ids
    return attention_of_ids(bundle, vocabularies, (source_ids, target_ids), engine, **choice)


def attention_of_ids(
    bundle: "Bundle",
    vocabularies: "Vocabularies",
    ids: tuple[Sequence[int], Sequence[int]],
    engine: Any = None,
    **choice: Any,
) -> "Attention":
    """Return what the model looks at, for source and target ids with `</s>`.

    Args:
        bundle: The model.
        vocabularies: Its subwords.
        ids: Of source and target.
        engine: Its TensorFlow engine, if there is one already.
        choice: See `report.attention.attention_of`.
    """
    from nmt_cli.report.attention import attention_of

    arrays = (engine or _native_engine(bundle)).attention_by_kind(*ids)
    both = vocabularies.source, vocabularies.target
    title = " → ".join(side.decode(row) for side, row in zip(both, ids, strict=True))
    return attention_of(title, vocabularies, ids, arrays, **choice)


def _picture_of_texts(bundle: "Bundle", text: str, other: str | None, **choice: Any) -> "Attention":
    """Return what a classifier looks at, in one text or in two."""
    from nmt_cli.commands.loading import load_labeller

    _check_side("the text", text)
    if other is not None and bundle.manifest.classification["texts"] == 1:
        raise ConfigError("this model reads one text, not two")
    labeller = load_labeller(bundle)
    (found,) = labeller.label_windows([[text if other is None else f"{text}\t{other}"]])
    return label_attention(bundle, labeller, found, **choice)


def label_attention(
    bundle: "Bundle", labeller: "Labeller", found: "Labelled", **choice: Any
) -> "Attention":
    """Return what a classifier looks at, in a line that got its labels.

    Args:
        bundle: The model.
        labeller: Has given them.
        found: The line, which is not blank, and its labels.
        choice: See `report.attention.attention_of`.
    """
    from nmt_cli.report.attention import attention_of
    from nmt_cli.search.labeller import texts_of
    from nmt_cli.text.vocabulary import Vocabularies

    texts = texts_of(found.source, bundle.manifest.classification["texts"])
    (ids,) = labeller.encode([texts])
    arrays = _native_engine(bundle).attention_by_kind(ids)
    title = f"{' / '.join(texts)} → {', '.join(found.labels) or 'no label'}"
    return attention_of(title, Vocabularies.load(bundle.path), [ids], arrays, **choice)


def _check_side(side: str, text: str) -> None:
    if not text.strip():
        raise ConfigError(f"{side} is blank: there is nothing to look at")


def _native_engine(bundle: "Bundle") -> Any:
    """Return the TensorFlow engine, or scorer: it alone gives the attention of every head."""
    from nmt_cli.commands.tensorflow_setup import quiet_tensorflow

    bundle.load_weights()  # damaged files fail before the slow import
    quiet_tensorflow()
    if bundle.manifest.classification:
        from nmt_cli.search.tensorflow_labeller import load_scorer

        return load_scorer(bundle)
    from nmt_cli.search.tensorflow_engine import load_engine

    return load_engine(bundle)


def positions_of(bundle: "Bundle", length: int | None) -> "Positions":
    """Return the first position vectors of a model, `length` of them or all."""
    from nmt_cli.model.positions import sinusoids
    from nmt_cli.report.position_picture import Positions

    model = bundle.manifest.model
    length = _checked_length(length, model["max_length"])
    if model["positions"] == "learned":
        weights = bundle.load_weights()
        matrices = {
            f"learned, {side}": weights[f"{side}.positions"][:length]
            for side in ("encoder", "decoder")
            if f"{side}.positions" in weights
        }
    else:
        name = "sinusoidal" if bundle.manifest.classification else "sinusoidal, both sides"
        matrices = {name: sinusoids(length, model["d_model"])}
    return Positions(title=f"{bundle.manifest.name}: positions", matrices=matrices)


def sinusoids_of(d_model: int, length: int | None) -> "Positions":
    """Return sinusoids of a width, without any model.

    Raises:
        ConfigError: The width is odd or not positive.
    """
    from nmt_cli.model.positions import sinusoids
    from nmt_cli.report.position_picture import Positions

    if d_model < 2:
        raise ConfigError(f"--d-model must be at least 2 (it is {d_model})")
    matrix = sinusoids(_checked_length(length, None), d_model)
    return Positions(title=f"positions, d_model {d_model}", matrices={"sinusoidal": matrix})


def _checked_length(length: int | None, longest: int | None) -> int:
    if length is None:
        return longest or _SINUSOIDS
    if length < 1 or (longest is not None and length > longest):
        most = f" to {longest}, the model's" if longest else ""
        raise ConfigError(f"--length must be from 1{most} (it is {length})")
    return length


def diagram_of_bundle(bundle: "Bundle") -> "Picture":
    """Return the diagram of a model."""
    from nmt_cli.report.diagram import diagram_of

    manifest = bundle.manifest
    shapes = {name: array.shape for name, array in bundle.load_weights().items()}
    sizes = manifest.model, manifest.vocabulary, manifest.classification
    return diagram_of(manifest.name, *sizes, shapes)


def curves_of(runs: list[str]) -> "LineChart":
    """Return the curves of runs; of the newest when none is named.

    Raises:
        ModelFileError: There is no such run, or none at all.
        DataError: They have not made a step yet.
    """
    from nmt_cli.report.curves import curves_chart
    from nmt_cli.training.event_log import read_events

    folders = [_run_folder(name) for name in runs] or [_newest_run()]
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(folder) for folder in folders]
    events = [read_events(folder / "events.jsonl") for folder in folders]
    title = names[0] if len(names) == 1 else f"{len(names)} runs"
    chart = curves_chart(title, dict(zip(names, events, strict=True)))
    if not chart.panels:
        raise DataError(f"{', '.join(names)}: no step is logged yet")
    return chart


def _run_folder(name: str) -> Path:
    """Return the run folder of a path, of a model inside it, or of a name below runs/."""
    from nmt_cli.training.run_folder import RUNS_DIR

    for folder in (Path(name), Path(name).parent, RUNS_DIR / name):
        if (folder / "events.jsonl").is_file():
            return folder
    known = [path.parent.name for path in RUNS_DIR.glob("*/events.jsonl")]
    raise ModelFileError(
        f"{name}: no run with an events.jsonl.{did_you_mean(name, known)}",
        hint="name a run folder such as runs/quickstart",
    )


def _newest_run() -> Path:
    from nmt_cli.training.run_folder import RUNS_DIR

    logs = sorted(RUNS_DIR.glob("*/events.jsonl"), key=lambda path: path.stat().st_mtime)
    if not logs:
        raise ModelFileError(
            f"no run below {RUNS_DIR}/", hint="make one with: nmt train   (or name a run folder)"
        )
    return logs[-1].parent


def lengths_of(loaded: "LoadedConfig", unit: str, split: str) -> "BarChart":
    """Return how long the lines of a configuration's text are.

    Args:
        loaded: The configuration.
        unit: One of "pieces", "words" and "characters".
        split: One of "train", "dev" and "test".

    Raises:
        ConfigError: There is no such unit or split, or no text in it.
        DataError: The text cannot be read.
        ModelFileError: Pieces are asked for, and the run has no vocabulary yet.
    """
    from nmt_cli.report.length_chart import lengths_chart
    from nmt_cli.text.corpus import Corpora

    for option, value, choices in (("--unit", unit, _UNITS), ("--split", split, _SPLITS)):
        if value not in choices:
            hint = did_you_mean(value, choices)
            raise ConfigError(f"{option} must be {', '.join(choices)} (it is {value}).{hint}")
    examples = Corpora(loaded.config, loaded.data_dir).iter_split(split)
    has_labels = loaded.config.task == "classification"  # these have no length
    sides = ("text",) if has_labels else ("source", "target")
    counts: dict[str, Counter[int]] = {side: Counter() for side in sides}
    for found in _lengths(examples, unit, loaded.config):
        for counter, length in zip(counts.values(), found, strict=False):
            counter[length] += 1
    if not any(counts.values()):
        raise DataError(f"{loaded.name}: there is nothing in {split}")
    is_known = unit == "pieces" and "model.max_length" not in loaded.auto
    limit = loaded.config.model.max_length if is_known else None
    name = "pieces, </s> included" if unit == "pieces" else unit
    return lengths_chart(f"{loaded.config.name}: lengths in {split}", name, counts, limit)


def _lengths(
    examples: Iterator["Example"], unit: str, config: "Config"
) -> Iterator[tuple[int, int]]:
    """Yield the lengths of source and target of each example."""
    if unit != "pieces":
        measure = len if unit == "characters" else lambda text: len(text.split())
        for example in examples:
            yield sum(map(measure, example.source)), measure(example.target)
        return
    from nmt_cli.text.encoders import build_encoder

    vocabularies = _vocabularies_of(config)
    encoder = build_encoder(config, vocabularies, max_length=_UNCUT)
    while window := list(itertools.islice(examples, _PAIRS)):
        sources = encoder.encode_sources([example.source for example in window])
        targets = encoder.encode_targets([example.target for example in window])
        yield from zip(map(len, sources), map(len, targets), strict=True)


def _vocabularies_of(config: "Config") -> "Vocabularies":
    from nmt_cli.text.vocabulary import Vocabularies
    from nmt_cli.training.run_folder import RunFolder

    folder = RunFolder.of(config).path
    try:
        return Vocabularies.load(folder)
    except ModelFileError as error:
        raise ModelFileError(
            f"{folder}: no vocabulary to count pieces with ({error})",
            hint="nmt tokenize CONFIG makes it; --unit words needs none",
        ) from error
