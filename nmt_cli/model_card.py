"""The README.md of a bundle: what the model is, for people and (front matter) for model hubs."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.bundle import Manifest

_BAR = r"\|"


def model_card(manifest: "Manifest") -> str:
    """Return the card's Markdown text."""
    languages = [lang for lang in (manifest.source_lang, manifest.target_lang) if lang]
    command = {"translation": 'nmt translate -m . "..."', "chat": "nmt chat -m ."}[manifest.task]
    front = ["---", f"tags: [nmt, {manifest.task}]"]
    if languages:
        front.append(f"language: [{', '.join(dict.fromkeys(languages))}]")
    rows = [  # a bar ends a table's cell, even inside backticks
        f"| {split} | {name} | {value['score']:.2f} | `{value['signature'].replace('|', _BAR)}` |"
        for split, scores in manifest.scores.items()
        for name, value in scores.items()
    ]
    size = manifest.model
    return "\n".join(
        [
            *front,
            "---",
            "",
            f"# {manifest.name}",
            "",
            f"A {manifest.task} Transformer trained with nmt {manifest.versions['nmt']}: "
            f"{size['encoder_layers']}+{size['decoder_layers']} layers, width {size['d_model']}, "
            f"{manifest.parameters:,} parameters, {manifest.training.get('pairs', 0):,} pairs.",
            "",
            f"    {command}",
            "",
            "| split | metric | score | signature |",
            "|---|---|---|---|",
            *rows,
            "",
        ]
    )
