"""How good and how fast the forms of a model are; and which CTranslate2 should use.

A format of fewer bits loads and runs faster and rounds the weights. The fastest whose BLEU, or of a
classifier accuracy, on dev is at most `MAX_LOSS` below float32's becomes the bundle's own choice.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ctranslate2 import get_supported_compute_types

from nmt_cli.bundle.folder import PLAIN_FORMAT, Bundle, add_ctranslate2, changing, rewrite_manifest
from nmt_cli.config.reading import RUN_CONFIG, LoadedConfig, load_config
from nmt_cli.errors import ConfigError, DataError
from nmt_cli.evaluation.label_judging import judge
from nmt_cli.evaluation.outputs import bounded, decode_examples, score_outputs, scoring_options
from nmt_cli.files import read_lines
from nmt_cli.model.tensorflow_setup import quiet_tensorflow
from nmt_cli.search.ctranslate2_engine import CTranslate2Engine
from nmt_cli.search.engine import Searcher
from nmt_cli.search.labeller import texts_of
from nmt_cli.search.loading import EngineOptions, load_labeller
from nmt_cli.search.options import SearchOptions
from nmt_cli.text.corpus import Corpora, Example
from nmt_cli.text.languages import Direction
from nmt_cli.text.shards import build_encoder

MAX_LOSS = 0.2
_MAX_EXAMPLES = 1000
_PASSES = 2  # the first one sets up the workers; the faster one counts


@dataclass(frozen=True)
class Measured:
    """One form of a bundle."""

    number_format: str  # such as "int8", or "saved_model"
    megabytes: float  # size on disk
    bleu: float | None = None  # on dev, or None when there is no dev text, or labels in it
    lines_per_second: float | None = None  # on dev, on this machine, or None
    accuracy: float | None = None  # on dev, of a classifier

    @property
    def score(self) -> float | None:
        """What formats are compared by."""
        return self.bleu if self.accuracy is None else self.accuracy


def dev_examples(loaded: LoadedConfig, on_warning: Callable[[str], None]) -> list[Example]:
    """Return a configuration's development examples; none, with a warning, if there is no file."""
    try:
        return list(Corpora(loaded.config, loaded.data_dir).iter_split("dev"))
    except DataError as error:
        on_warning(f"no development data: {error} (give its folder with --data-dir)")
        return []


def sentences(
    bundle: Bundle,
    input_file: str | None,
    data_dir: str | None,
    on_warning: Callable[[str], None],
    direction: Direction,
) -> tuple[list[str], list[list[int]]]:
    """Return what to measure speed with: the texts that a user would type, and source ids."""
    num_texts = bundle.manifest.classification.get("texts", 1)
    overrides = [f"data.dir={data_dir}"] if data_dir else None
    loaded = load_config(str(bundle.path / RUN_CONFIG), overrides)
    encoder = build_encoder(loaded.config, bundle.load_vocabularies())
    if input_file is None:
        turns = [example.source for example in dev_examples(loaded, on_warning)]
    else:
        lines = enumerate(read_lines(input_file), start=1)
        turns = [texts_of(line, num_texts, number) for number, line in lines if line.strip()]
    turns = turns[:_MAX_EXAMPLES]
    if not turns:
        raise DataError("no text to measure with", hint="give lines of text with --input FILE")
    room = bundle.manifest.model["max_length"] - len(direction.source)
    typed = ["\t".join(turn[-num_texts:]) for turn in turns]
    return typed, [[*direction.source, *ids[-room:]] for ids in encoder.encode_sources(turns)]


def measure_formats(
    bundle: Bundle,
    dev: Sequence[Example],
    formats: Sequence[str],
    measure: Callable[[Bundle, Sequence[Example], str], Measured],
) -> Iterator[Measured]:
    """Write, score and time number formats; at the end the bundle knows which is its best.

    The formats are written anew if they are there; all that the bundle then holds are measured,
    float32 always among them. Without `dev` examples the bundle's choice stays as it is. `measure`
    is that of the model's task.
    """
    known = bundle.manifest.ctranslate2
    for number_format in formats:
        bundle = add_ctranslate2(bundle, number_format)
    measured = []
    for number_format in dict.fromkeys([PLAIN_FORMAT, *known.get("formats", {}), *formats]):
        if number_format not in bundle.manifest.ctranslate2["formats"]:
            bundle = add_ctranslate2(bundle, number_format)
        measured.append(measure(bundle, dev, number_format))
        yield measured[-1]
    facts = {m.number_format: asdict(m) for m in measured}
    with changing(bundle) as now:
        known = now.manifest.ctranslate2
        auto = fastest(measured) if dev else known["auto"]
        rewrite_manifest(now, ctranslate2={"auto": auto, "formats": known["formats"] | facts})


def fastest(measured: Sequence[Measured]) -> str:
    """Return the fastest format whose score is close enough to float32's."""
    plain = next(m for m in measured if m.number_format == PLAIN_FORMAT)
    native = get_supported_compute_types("cpu")  # others are computed as one of these
    candidates = [m for m in measured if m.number_format in native]
    fine = [m for m in candidates if (m.score or 0) >= (plain.score or 0) - MAX_LOSS]
    return max(fine, key=lambda m: m.lines_per_second or 0).number_format


def measure_format(bundle: Bundle, dev: Sequence[Example], number_format: str) -> Measured:
    """Return the size, BLEU and speed of a bundle in one number format."""
    folder, longest = bundle.ctranslate2_folder(number_format), bundle.manifest.model["max_length"]
    engine = CTranslate2Engine(folder, bundle.load_vocabularies(), max_length=longest)
    options = bounded(scoring_options(bundle.manifest.decode))
    return _measured(engine, options, bundle, dev, number_format, folder)


def measure_label_format(bundle: Bundle, dev: Sequence[Example], number_format: str) -> Measured:
    """Return the size, accuracy and speed of a classifier in one number format."""
    labeller = load_labeller(bundle, EngineOptions(number_format=number_format, device="cpu"))
    return _timed(
        number_format,
        bundle.ctranslate2_folder(number_format),
        dev,
        lambda some: judge(labeller, some),
        lambda judged, _: {"accuracy": judged.scores()["accuracy"].score},
    )


def export_saved_model(bundle: Bundle, dev: Sequence[Example], path: Path) -> Measured:
    """Write a bundle as a SavedModel to a folder and return what is known of it.

    Raises:
        ConfigError: The folder is there already, with something else than a SavedModel in it.
        ModelFileError: The bundle's weights are damaged.
    """
    is_ours = path.is_dir() and (path / "saved_model.pb").is_file()
    if path.exists() and not is_ours and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(
            f"--saved-model {path}: exists already and is not a SavedModel",
            hint="name a new folder, such as serving/1",
        )
    quiet_tensorflow()
    from nmt_cli.search.saved_model import SavedModelEngine, save_serving_model
    from nmt_cli.search.tensorflow_engine import load_model

    options = SearchOptions.from_mapping(bundle.manifest.decode)
    unmade = tuple((i,) for i in bundle.load_vocabularies().target.unmade)
    options = replace(options, suppressed=unmade)
    has_prefix = bundle.manifest.known_languages.is_forced
    save_serving_model(load_model(bundle), options, path, has_prefix=has_prefix)
    engine = SavedModelEngine(path, max_length=bundle.manifest.model["max_length"])
    return _measured(engine, options, bundle, dev, "saved_model", path)


def _measured(
    engine: Searcher,
    options: SearchOptions,
    bundle: Bundle,
    dev: Sequence[Example],
    name: str,
    folder: Path,
) -> Measured:
    """Return the size, BLEU and speed of a form, which lies in a folder and which an engine has."""
    vocabularies = bundle.load_vocabularies()
    encoder = build_encoder(load_config(str(bundle.path / RUN_CONFIG)).config, vocabularies)

    def score(outputs: list[str], some: list[Example]) -> dict[str, float]:
        found = score_outputs(outputs, some, vocabularies.target, bundle.manifest.target_lang)
        return {"bleu": found["bleu"].score}

    return _timed(
        name, folder, dev, lambda some: decode_examples(engine, encoder, some, options), score
    )


def _timed(
    name: str,
    folder: Path,
    dev: Sequence[Example],
    run: Callable[[list[Example]], Any],
    score: Callable[[Any, list[Example]], dict[str, float]],
) -> Measured:
    """Return the size of a folder, and the speed and the score of what runs from it."""
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6
    if not dev:
        return Measured(name, size)
    count = min(len(dev), _MAX_EXAMPLES)
    dev = [dev[place * len(dev) // count] for place in range(count)]  # of all corpora
    seconds = []
    for _ in range(_PASSES):
        started = time.perf_counter()
        outputs = run(dev)
        seconds.append(time.perf_counter() - started)
    return Measured(name, size, lines_per_second=len(dev) / min(seconds), **score(outputs, dev))
