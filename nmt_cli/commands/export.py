"""`nmt export`: other forms of a model, each with its size, its score on dev and its speed."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.config.tasks import CHAT, TRANSLATION
from nmt_cli.terminal.options import DataDirOption, JsonOption, ModelOption

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.schema import Config
    from nmt_cli.text.corpus import Example
    from nmt_cli.text.shards import Encoder


def export(
    model: ModelOption = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="F", help="Number format, e.g. int8; may be repeated."),
    ] = None,
    saved_model: Annotated[
        str | None, typer.Option("--saved-model", metavar="DIR", help="Write a SavedModel here.")
    ] = None,
    share: Annotated[
        str | None,
        typer.Option("--share", metavar="FILE", help="Write one file to hand on: .zip, .tar.gz."),
    ] = None,
    with_weights: Annotated[
        bool, typer.Option("--with-weights", help="Of --share: the weights, to train on, too.")
    ] = False,
    data_dir: DataDirOption = None,
    json: JsonOption = False,
) -> None:
    """Write a model in other number formats for CTranslate2, into its own folder.

    Each is scored and timed on the development set, and the fastest whose BLEU, or of a classifier
    accuracy, is at most 0.2 below float32's becomes the one that is used. Without --format: all
    that this processor computes in. Formats: float32, float16, bfloat16, int8, int16,
    int8_float32, int8_float16, int8_bfloat16; what the processor cannot compute in it converts when
    it loads the model.

    --saved-model writes a TensorFlow SavedModel instead, for TensorFlow Serving, with the
    signatures greedy and beam: padded ids with </s> in, ids and scores out.

    --share writes a file, or a folder, with what is needed to use the model and no more: one form
    (the one in use, or --format), vocabulary and card. Its recipient uses it with -m FILE.

    Example: nmt export --format int8

    Example: nmt export --share my-model.zip
    """
    import dataclasses

    from ctranslate2 import get_supported_compute_types

    from nmt_cli.bundle.ctranslate2_form import NUMBER_FORMATS
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.config.reading import load_config
    from nmt_cli.errors import ConfigError, ModelFileError, did_you_mean
    from nmt_cli.evaluation.number_formats import dev_examples, measure_formats
    from nmt_cli.files import os_errors_as
    from nmt_cli.tasks.task import task_of
    from nmt_cli.terminal import console
    from nmt_cli.terminal.training_view import describe
    from nmt_cli.text.shards import build_encoder
    from nmt_cli.text.vocabulary import Vocabularies

    if saved_model and formats:
        raise ConfigError("--saved-model and --format do not go together")
    for name in formats or ():
        if name not in NUMBER_FORMATS:
            raise ConfigError(
                f"--format must be one of {', '.join(NUMBER_FORMATS)} (it is {name})."
                f"{did_you_mean(name, NUMBER_FORMATS)}"
            )
    if share is not None and (saved_model or (formats or [])[1:]):
        raise ConfigError("--share takes one --format, and no --saved-model")
    if share is not None:
        _share(find_bundle(model), Path(share), formats, with_weights=with_weights)
        return
    bundle = find_bundle(model, *(() if saved_model is None else (TRANSLATION, CHAT)))
    overrides = [f"data.dir={data_dir}"] if data_dir else None
    loaded = load_config(str(bundle.path / "config.yaml"), overrides)
    supported = get_supported_compute_types("cpu")
    wanted = formats or [name for name in NUMBER_FORMATS if name in supported]
    encoder = build_encoder(loaded.config, Vocabularies.load(bundle.path))
    dev = dev_examples(loaded, console.warn) if bundle.manifest.facts.has_score else []
    if saved_model is not None:
        _write_saved_model(bundle, encoder, loaded.config, dev, saved_model, json=json)
        return
    rows = []
    with os_errors_as(ModelFileError, f"{bundle.path}: cannot be written"):
        for measured in measure_formats(
            bundle, encoder, loaded.config, dev, wanted, task_of(loaded.config.facts).measure
        ):
            rows.append(dataclasses.asdict(measured))
            if not json:
                console.result(describe(measured))
    auto = open_bundle(bundle.path).manifest.ctranslate2["auto"]
    if json:
        console.result_json({"path": str(bundle.path), "auto": auto, "formats": rows})
    else:
        console.note(f"{bundle.path} now uses {auto}")


def _write_saved_model(
    bundle: "Bundle",
    encoder: "Encoder",
    config: "Config",
    dev: list["Example"],
    path: str,
    *,
    json: bool,
) -> None:
    """Write the SavedModel to a folder, which may replace another SavedModel, but nothing else."""
    import dataclasses

    from nmt_cli.errors import ConfigError, ModelFileError
    from nmt_cli.files import os_errors_as
    from nmt_cli.model.tensorflow_setup import quiet_tensorflow
    from nmt_cli.terminal import console
    from nmt_cli.terminal.training_view import describe

    folder = Path(path)
    is_ours = folder.is_dir() and (folder / "saved_model.pb").is_file()
    if folder.exists() and not is_ours and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(
            f"--saved-model {path}: is there already, and no SavedModel",
            hint="name a new folder, such as serving/1",
        )
    quiet_tensorflow()
    from nmt_cli.evaluation.number_formats import export_saved_model

    with os_errors_as(ModelFileError, f"{path}: cannot be written"):
        measured = export_saved_model(bundle, encoder, config, dev, folder)
    if json:
        console.result_json({"path": path} | dataclasses.asdict(measured))
    else:
        console.result(describe(measured))


def _share(
    bundle: "Bundle", target: Path, formats: list[str] | None, *, with_weights: bool
) -> None:
    from nmt_cli.bundle.folder import add_ctranslate2
    from nmt_cli.bundle.sharing import share
    from nmt_cli.errors import ModelFileError
    from nmt_cli.files import os_errors_as
    from nmt_cli.terminal import console
    from nmt_cli.text.vocabulary import Vocabularies

    known = bundle.manifest.ctranslate2
    number_format = formats[0] if formats else known.get("auto", "int8")
    with os_errors_as(ModelFileError, f"{target}: cannot be written"):
        if number_format not in known.get("formats", {}):
            bundle = add_ctranslate2(bundle, Vocabularies.load(bundle.path), number_format)
        shared = share(bundle, target, number_format, with_weights=with_weights)
    is_file = target.is_file()
    files = [target] if is_file else [file for file in target.rglob("*") if file.is_file()]
    size = sum(file.stat().st_size for file in files) / 1e6
    weights = "with" if with_weights else "without"
    console.note(f"{target}: {size:.1f} MB, {number_format}, {weights} the weights")
    given = shlex.join(["nmt", shared.manifest.facts.command, "-m", str(target)])
    console.note(f"its recipient types: pip install nmt-cli, then {given}")
