"""`nmt export`: other forms of a model, each with its size, its score on dev and its speed."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from nmt_cli.config.tasks import CHAT, TRANSLATION
from nmt_cli.errors import ConfigError, ModelFileError, did_you_mean
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.text.corpus import Example


def export(
    model: opt.Model = None,
    formats: Annotated[
        list[str] | None,
        typer.Option("--format", metavar="F", help="Number format, e.g. int8; may be repeated."),
    ] = None,
    saved_model: Annotated[
        str | None, typer.Option("--saved-model", metavar="DIR", help="Write a SavedModel here.")
    ] = None,
    share: Annotated[
        str | None,
        typer.Option("--share", metavar="FILE", help="Write one file to hand on: .zip, .tar.zst."),
    ] = None,
    with_weights: Annotated[
        bool, typer.Option("--with-weights", help="Of --share: the weights, to train on, too.")
    ] = False,
    app: Annotated[
        str | None,
        typer.Option("--app", metavar="FILE.pyz", help="Write a program: the model, ready to run."),
    ] = None,
    data_dir: opt.DataDir = None,
    json: opt.Json = False,
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

    --app writes a program with the model and all that it needs, to run on the same platform with
    nothing but the same Python: `python my-model.pyz "text"`, and `serve`, `chat`, `-i FILE`.

    Example: nmt export --format int8

    Example: nmt export --share my-model.zip
    """
    from nmt_cli.bundle.ctranslate2_form import NUMBER_FORMATS
    from nmt_cli.bundle.finding import find_bundle

    for name in formats or ():
        if name not in NUMBER_FORMATS:
            raise ConfigError(
                f"--format must be one of {', '.join(NUMBER_FORMATS)} (it is {name})."
                f"{did_you_mean(name, NUMBER_FORMATS)}"
            )
    if len([way for way in (saved_model, share, app) if way is not None]) > 1:
        raise ConfigError("--saved-model, --share and --app do not go together")
    if saved_model is not None and formats:
        raise ConfigError("--saved-model and --format do not go together")
    handed_over = app if share is None else share
    if handed_over is not None and (formats or [])[1:]:
        raise ConfigError("--share and --app take one --format")
    if share is not None:
        _share(find_bundle(model), Path(share), formats, with_weights=with_weights)
    elif app is not None:
        _app(find_bundle(model), Path(app), formats)
    elif saved_model is not None:
        _saved_model(find_bundle(model, TRANSLATION, CHAT), Path(saved_model), data_dir, json=json)
    else:
        _formats(find_bundle(model), formats, data_dir, json=json)


def _formats(
    bundle: "Bundle", formats: list[str] | None, data_dir: str | None, *, json: bool
) -> None:
    from ctranslate2 import get_supported_compute_types

    from nmt_cli.bundle.ctranslate2_form import NUMBER_FORMATS
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.evaluation.number_formats import measure_formats
    from nmt_cli.files import os_errors_as
    from nmt_cli.tasks.task import task_of
    from nmt_cli.terminal.training_view import describe

    loaded, dev = _dev(bundle, data_dir)
    supported = get_supported_compute_types("cpu")
    wanted = formats or [name for name in NUMBER_FORMATS if name in supported]
    rows = []
    with os_errors_as(ModelFileError, f"{bundle.path}: cannot be written"):
        for measured in measure_formats(bundle, dev, wanted, task_of(loaded.config.facts).measure):
            rows.append(asdict(measured))
            if not json:
                console.result(describe(measured))
    auto = open_bundle(bundle.path).manifest.ctranslate2["auto"]
    if json:
        console.result_json({"path": str(bundle.path), "auto": auto, "formats": rows})
    else:
        console.note(f"{bundle.path} now uses {auto}")


def _saved_model(bundle: "Bundle", target: Path, data_dir: str | None, *, json: bool) -> None:
    from nmt_cli.evaluation.number_formats import export_saved_model
    from nmt_cli.files import os_errors_as
    from nmt_cli.terminal.training_view import describe

    _, dev = _dev(bundle, data_dir)
    with os_errors_as(ModelFileError, f"{target}: cannot be written"):
        form = export_saved_model(bundle, dev, target)
    if json:
        console.result_json({"path": str(target)} | asdict(form))
    else:
        console.result(describe(form))


def _dev(bundle: "Bundle", data_dir: str | None) -> "tuple[LoadedConfig, list[Example]]":
    """Return the configuration of a model, and the text that it is scored on."""
    from nmt_cli.config.reading import load_config
    from nmt_cli.evaluation.number_formats import dev_examples

    loaded = load_config(str(bundle.path / "config.yaml"), opt.with_data_dir(None, data_dir))
    return loaded, dev_examples(loaded, console.warn) if bundle.manifest.facts.has_score else []


def _share(
    bundle: "Bundle", target: Path, formats: list[str] | None, *, with_weights: bool
) -> None:
    from nmt_cli.bundle.sharing import share
    from nmt_cli.files import os_errors_as

    with os_errors_as(ModelFileError, f"{target}: cannot be written"):
        bundle, number_format = _with_format(bundle, formats)
        shared = share(bundle, target, number_format, with_weights=with_weights)
    files = [target] if target.is_file() else [f for f in target.rglob("*") if f.is_file()]
    size = sum(file.stat().st_size for file in files) / 1e6
    weights = "with" if with_weights else "without"
    console.note(f"{target}: {size:.1f} MB, {number_format}, {weights} the weights")
    given = shlex.join(["nmt", shared.manifest.facts.command, "-m", str(target)])
    console.note(f"its recipient types: pip install nmt-cli, then {given}")


def _app(bundle: "Bundle", target: Path, formats: list[str] | None) -> None:
    from nmt_cli.bundle.app_file import this_machine, write_app
    from nmt_cli.files import os_errors_as

    with os_errors_as(ModelFileError, f"{target}: cannot be written"):
        bundle, number_format = _with_format(bundle, formats)
        write_app(bundle, target, number_format)
    console.note(f"{target}: {target.stat().st_size / 1e6:.1f} MB, {number_format}")
    console.note(f"its recipient needs {this_machine()} and nothing else, and types:")
    example = [] if bundle.manifest.facts.has_turns else ["your text"]
    console.note("  " + shlex.join(["python", target.name, *example]))


def _with_format(bundle: "Bundle", formats: list[str] | None) -> "tuple[Bundle, str]":
    """Return the model with the form that was named, made if need be; or the one in use."""
    from nmt_cli.bundle.folder import add_ctranslate2

    known = bundle.manifest.ctranslate2
    number_format = formats[0] if formats else known.get("auto", "int8")
    if number_format not in known.get("formats", {}):
        bundle = add_ctranslate2(bundle, number_format)
    return bundle, number_format
