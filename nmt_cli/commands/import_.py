"""`nmt import`: a published model becomes one of ours."""

import os
import shlex
import sys
from typing import TYPE_CHECKING

from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt

if TYPE_CHECKING:
    from nmt_cli.bundle.folder import Bundle

_ENGLISH = ("en", "eng_Latn")


def import_model(
    source: str = opt.argument(
        "SOURCE", "A folder, an archive, or a name on the hub.", default=...
    ),
    folder: str | None = opt.argument(
        "[DIR]", "The model's folder; runs/NAME/model if left out.", callback=opt.no_url
    ),
    revision: str | None = opt.option("R", "A branch, tag or commit of the hub."),
    json: opt.Json = False,
) -> None:
    """Import a pretrained model: from the Hugging Face hub, or a folder or archive on disk.

    The result is like a model that `nmt train` wrote: use it with every command, or fine-tune it.
    Files from the hub are kept in its cache: after an interruption the same command fetches only
    those that did not come whole. No code from a model is ever run. nmt help pretrained lists the
    models that can be imported.

    Example: nmt import Helsinki-NLP/opus-mt-en-de
    """
    # What the hub's library reads when it is imported: no bars in a pipe, nothing of each new try.
    os.environ.setdefault("HF_HUB_VERBOSITY", "error")
    if not sys.stderr.isatty():
        os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    try:
        from nmt_cli.pretrained.importing import import_model as write_bundle

        bundle = write_bundle(source, folder, revision=revision, on_note=console.note)
    except KeyboardInterrupt:
        console.note("stopped: no model was written")
        raise
    if json:
        manifest = bundle.manifest
        console.result_json(
            {
                "path": str(bundle.path),
                "name": manifest.name,
                "task": manifest.task,
                "languages": [manifest.source_lang, manifest.target_lang],
                "parameters": manifest.parameters,
                "licence": manifest.licence,
                "number_format": manifest.ctranslate2["auto"],
                **manifest.training["imported"],
            }
        )
    else:
        _tell(bundle, is_default=folder is None)


def _tell(bundle: "Bundle", *, is_default: bool) -> None:
    """Say what was recognised, where it lies, and what to type next."""
    from nmt_cli.pretrained.importing import FAMILIES

    manifest, size = bundle.manifest, bundle.manifest.model
    languages, known = manifest.known_languages.text, manifest.known_languages
    if manifest.facts.has_turns:
        languages = manifest.target_lang
    number_format = manifest.ctranslate2["auto"]
    about = FAMILIES[manifest.training["imported"]["family"]].about
    console.note(
        f"{about}: {manifest.facts.name} {languages}".rstrip()
        + f", {manifest.layers} layers, width {size['d_model']}, "
        f"{manifest.parameters:,} parameters, {manifest.vocabulary['source']:,} tokens"
    )
    console.note(f"licence: {manifest.licence or 'not stated; look where the model is from'}")
    megabytes = sum(known["bytes"] for known in manifest.files.values()) / 1e6
    console.note(
        f"{bundle.path}: {megabytes:,.0f} MB, of which {number_format} for CTranslate2 takes "
        f"{manifest.megabytes(number_format):,.0f}"
    )
    where = [] if is_default else ["-m", str(bundle.path)]
    if known.tokens:
        # The text to try is English.
        source = next((c for c in _ENGLISH if c in known.source), next(iter(known.source), ""))
        where += known.options((source, [c for c in known.target if c != source][-1]))
    if manifest.facts.has_labels:  # an encoder, which labels nothing yet
        tuning = shlex.join(["nmt", "train", "my.yaml", "--from", str(bundle.path)])
        console.note(f"next: nmt init my.yaml && {tuning}")
        return
    command = [manifest.facts.command, *where, *([] if manifest.facts.has_turns else ["Hello!"])]
    console.note(f"next: {shlex.join(['nmt', *command])}")
