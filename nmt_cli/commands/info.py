"""`nmt info`: what a model is and how well it does, read from its manifest alone."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from nmt_cli.errors import ConfigError
from nmt_cli.terminal import console
from nmt_cli.terminal import options as opt
from nmt_cli.terminal.number_formats import describe

if TYPE_CHECKING:
    from nmt_cli.bundle.manifest import Manifest


def info(
    model: str | None = opt.argument("[MODEL]", "A model or run folder; default: the newest."),
    model_option: str | None = opt.option("DIR", "The same as MODEL.", "--model -m"),
    verify: bool = opt.switch("--verify", "Check the hash of every file."),
    json: opt.Json = False,
) -> None:
    """Show a model's task, architecture, vocabulary, training, scores, sizes and speed.

    Example: nmt info runs/quickstart --verify
    """
    from nmt_cli.bundle.finding import find_bundle

    if model and model_option:
        raise ConfigError("give either MODEL or --model, not both")
    bundle = find_bundle(model or model_option)
    if verify:
        bundle.verify()
    manifest = bundle.manifest
    if json:
        console.result_json({"path": str(bundle.path), **asdict(manifest)})
        return
    size, words = manifest.model, manifest.vocabulary
    parts = ", ".join(f"{name} {count:,}" for name, count in manifest.parts.items())
    rows = {
        "model": bundle.named,
        "task": f"{manifest.task} {manifest.known_languages.text}".strip(),
        "architecture": f"{manifest.layers} layers, "
        f"d_model {size['d_model']}, d_ff {size['d_ff']}, {size['num_heads']} heads, "
        f"{size['norm']}-norm, {size['activation']}, {size['positions']} positions"
        f"{', turn embeddings' if size.get('turn_embeddings') else ''}",
        "parameters": f"{manifest.parameters:,}" + (f" ({parts})" if parts else ""),
        "vocabulary": f"{words['source']:,} tokens, joint"
        if words["joint"]
        else f"{words['source']:,} source and {words['target']:,} target tokens",
        **_origin(manifest),
    }
    if manifest.facts.has_labels:
        head = manifest.classification
        labels, kind = head["labels"], "any" if head["multi_label"] else "one"
        rows["labels"] = (
            f"{len(labels):,}, {kind} a text: {', '.join(labels)}" if labels else "none"
        )
        rows["pooling"] = head["pooling"]
    if manifest.dev_loss:
        rows["dev loss"] = manifest.dev_loss
    rows |= _scores(manifest) | _formats(manifest)
    rows["licence"] = manifest.licence or "not stated (set data.licence)"
    rows["versions"] = ", ".join(f"{name} {v}" for name, v in manifest.versions.items())
    if verify:
        rows["files"] = f"{len(manifest.files)} verified"
    for name, text in rows.items():
        console.result(f"{name:<13} {text}")


def _origin(manifest: "Manifest") -> dict[str, str]:
    """Return what it was trained on, or where it was imported from."""
    training = manifest.training
    if origin := training.get("imported"):
        at = f" at {origin['revision']}" if origin["revision"] else ""
        return {"imported": f"{origin['family']} from {origin['source']}{at}"}
    rows = {}
    if "pairs" in training:
        known = training.get("fingerprint", "fingerprint not known")
        rows["trained on"] = f"{training['pairs']:,} {manifest.examples} ({known})"
    if "step" in training:
        rows["best at step"] = f"{training['step']:,}"
    return rows


def _scores(manifest: "Manifest") -> dict[str, str]:
    """Return the scores, each with the beam size of its search if there was one."""
    beam = f" (beam {manifest.decode['beam_size']})"
    search = {"dev": " (greedy)", "test": beam} if manifest.facts.best_by == "bleu" else {}
    return {
        f"{split} {name}": f"{value['score']:.2f}{search.get(split, '')}  {value['signature']}"
        for split, scores in manifest.scores.items()
        for name, value in scores.items()
    }


def _formats(manifest: "Manifest") -> dict[str, str]:
    """Return the number formats of CTranslate2: size, score and speed."""
    rows = {}
    for name, facts in manifest.ctranslate2.get("formats", {}).items():
        known = {"megabytes": manifest.megabytes(name)} | facts
        used = " (used)" if name == manifest.ctranslate2["auto"] else ""
        rows[name] = describe(known, manifest.decode["beam_size"]) + used
    return rows
