"""`nmt export`: other forms of a model, each with its size, its score on dev and its speed."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from nmt_cli.config.tasks import CHAT, TRANSLATION
from nmt_cli.errors import ConfigError, ModelFileError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt
from nmt_cli.terminal.number_formats import describe

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle
    from nmt_cli.config.reading import LoadedConfig
    from nmt_cli.text.corpus import Example


def export(
    model: opt.Model = None,
    formats: opt.Formats = None,
    saved_model: str | None = opt.output("DIR", "Write a SavedModel here."),
    share: str | None = opt.output("FILE", "Write one file to share: .zip, .tar.gz, .tar.zst."),
    with_weights: bool = opt.switch("--with-weights", "With --share: include the weights."),
    app: str | None = opt.output("FILE.pyz", "Write a program that contains the model."),
    huggingface: str | None = opt.output("DIR", "Write a folder for `transformers`."),
    data_dir: opt.DataDir = None,
    json: opt.Json = False,
) -> None:
    """Write a model in other number formats for CTranslate2, into its own folder.

    Each format is scored and timed on the development text. The fastest one becomes the default if
    its BLEU (for a classifier: accuracy) is at most 0.2 below that of float32. Formats: float32,
    float16, bfloat16, int8, int16, int8_float32, int8_float16, int8_bfloat16; without --format, all
    that this processor supports. A model in another format is converted when it is loaded.

    --saved-model writes a TensorFlow SavedModel for TensorFlow Serving instead, with the signatures
    greedy and beam: padded ids with </s> in, ids and scores out.

    --share writes a file, or a folder, with everything needed to use the model: one number format
    (the default, or --format), the vocabulary and the model card. Use it with -m FILE.

    --app writes the model as a program. It runs on the same platform with the same version of
    Python and needs nothing else: `python my-model.pyz "text"`, also `serve`, `chat`, `-i FILE`.

    --huggingface writes a translation model as a folder that Hugging Face `transformers` loads,
    with the same logits: as MarianMTModel with norm: post, as Pegasus with norm: pre.

    Example: nmt export --format int8

    Example: nmt export --share my-model.zip
    """
    from nmt_cli.bundle.ctranslate2_form import check_number_format
    from nmt_cli.bundle.finding import find_bundle
    from nmt_cli.files import os_errors_as

    for name in formats or ():
        check_number_format(name)
    ways = {"--saved-model": saved_model, "--huggingface": huggingface}
    ways |= {"--share": share, "--app": app}
    given = [way for way, value in ways.items() if value is not None]
    if len(given) > 1:
        raise ConfigError(f"{' and '.join(given)} cannot be combined")
    if formats and given in (["--saved-model"], ["--huggingface"]):
        raise ConfigError(f"{given[0]} and --format cannot be combined")
    if data_dir is not None and given not in ([], ["--saved-model"]):
        raise ConfigError(f"{given[0]} and --data-dir cannot be combined")
    if with_weights and share is None:
        raise ConfigError("--with-weights goes with --share FILE")
    handed_over = app if share is None else share
    if handed_over is not None and (formats or [])[1:]:
        raise ConfigError("--share and --app take only one --format")
    bundle = find_bundle(model, *((TRANSLATION, CHAT) if saved_model is not None else ()))
    if handed_over is None:
        bundle.check_has_weights()
    target = next((Path(value) for value in ways.values() if value is not None), bundle.path)
    with os_errors_as(ModelFileError, f"{target}: cannot be written"):
        if share is not None:
            _share(bundle, target, formats, with_weights=with_weights, json=json)
        elif app is not None:
            _app(bundle, target, formats, json=json)
        elif huggingface is not None:
            _huggingface(bundle, target, json=json)
        elif saved_model is not None:
            _saved_model(bundle, target, data_dir, json=json)
        else:
            _formats(bundle, formats, data_dir, json=json)


def _formats(
    bundle: "Bundle", formats: list[str] | None, data_dir: str | None, *, json: bool
) -> None:
    from ctranslate2 import get_supported_compute_types

    from nmt_cli.bundle.ctranslate2_form import NUMBER_FORMATS
    from nmt_cli.bundle.folder import open_bundle
    from nmt_cli.evaluation.number_formats import measure_formats
    from nmt_cli.tasks import task_of

    if bundle.given:  # what is here is a copy in the cache
        unpack = shlex.join(["nmt", "export", "-m", bundle.given, "--share", "FOLDER"])
        raise ConfigError(
            f"{bundle.given}: no format can be added to a shared file",
            hint=f"unpack it with {unpack} --with-weights, then name the folder",
        )
    loaded, dev = _dev(bundle, data_dir)
    supported = get_supported_compute_types("cpu")
    wanted = formats or [name for name in NUMBER_FORMATS if name in supported]
    rows, beam_size = [], bundle.manifest.decode["beam_size"]
    for measured in measure_formats(bundle, dev, wanted, task_of(loaded.config.facts).measure):
        rows.append(asdict(measured))
        if not json:
            console.result(f"{measured.number_format:<13} {describe(rows[-1], beam_size)}")
    auto = open_bundle(bundle.path).manifest.ctranslate2["auto"]
    if json:
        console.result_json({"path": str(bundle.path), "auto": auto, "formats": rows})
    else:
        console.note(f"{bundle.path} now uses {auto}")


def _saved_model(bundle: "Bundle", target: Path, data_dir: str | None, *, json: bool) -> None:
    from nmt_cli.evaluation.number_formats import export_saved_model

    _, dev = _dev(bundle, data_dir)
    form = asdict(export_saved_model(bundle, dev, target))
    if json:
        console.result_json({"path": str(target)} | form)
    else:
        facts = describe(form, bundle.manifest.decode["beam_size"])
        console.result(f"{form['number_format']:<13} {facts}")


def _dev(bundle: "Bundle", data_dir: str | None) -> "tuple[LoadedConfig, list[Example]]":
    """Return the configuration of a model, and the text that it is scored on."""
    from nmt_cli.config.reading import RUN_CONFIG, load_config
    from nmt_cli.evaluation.number_formats import dev_examples

    loaded = load_config(str(bundle.path / RUN_CONFIG), opt.with_data_dir(None, data_dir))
    return loaded, dev_examples(loaded, console.warn) if bundle.manifest.facts.has_score else []


def _share(
    bundle: "Bundle", target: Path, formats: list[str] | None, *, with_weights: bool, json: bool
) -> None:
    from nmt_cli.bundle.sharing import share

    bundle, number_format = _with_format(bundle, formats)
    shared = share(bundle, target, number_format, with_weights=with_weights)
    files = [target] if target.is_file() else [f for f in target.rglob("*") if f.is_file()]
    size = sum(file.stat().st_size for file in files) / 1e6
    weights = "with" if with_weights else "without"
    console.note(f"{target}: {size:.1f} MB, {number_format}, {weights} the weights")
    given = shlex.join(["nmt", shared.manifest.facts.command, "-m", str(target)])
    console.note(f"to use it: pip install nmt-cli, then {given}")
    if json:
        form = {"number_format": number_format, "has_weights": with_weights}
        console.result_json({"path": str(target), "megabytes": size} | form)


def _huggingface(bundle: "Bundle", target: Path, *, json: bool) -> None:
    from nmt_cli.pretrained.exporting import write_huggingface

    name = write_huggingface(bundle, target)
    size = sum(file.stat().st_size for file in target.iterdir()) / 1e6
    console.note(f"{target}: {size:.1f} MB, a {name} for transformers")
    if json:
        console.result_json({"path": str(target), "megabytes": size, "model": name})


def _app(bundle: "Bundle", target: Path, formats: list[str] | None, *, json: bool) -> None:
    from nmt_cli.bundle.app_file import this_machine, write_app

    bundle, number_format = _with_format(bundle, formats)
    write_app(bundle, target, number_format)
    size = target.stat().st_size / 1e6
    console.note(f"{target}: {size:.1f} MB, {number_format}")
    console.note(f"it needs {this_machine()} and nothing else; to use it:")
    example = [] if bundle.manifest.facts.has_turns else ["your text"]
    console.note("  " + shlex.join(["python", target.name, *example]))
    if json:
        record = {"path": str(target), "megabytes": size, "number_format": number_format}
        console.result_json(record)


def _with_format(bundle: "Bundle", formats: list[str] | None) -> "tuple[Bundle, str]":
    """Return the model in the format that was named, made if need be, or in its default."""
    from nmt_cli.bundle.folder import add_ctranslate2

    known = bundle.manifest.ctranslate2
    number_format = formats[0] if formats else known.get("auto", "int8")
    if number_format not in known.get("formats", {}):
        bundle = add_ctranslate2(bundle, number_format)
    return bundle, number_format
