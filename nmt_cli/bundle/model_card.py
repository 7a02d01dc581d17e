"""The README.md of a bundle: what the model is, for people and (front matter) for model hubs."""

import json
import shlex
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nmt_cli.bundle.manifest import Manifest

_BAR = r"\|"
# All that nmt requires, in the versions that it requires, but for TensorFlow.
WITHOUT_TENSORFLOW = r"""pip install --no-deps nmt-cli
python -c "from importlib.metadata import requires; print(*[r for r in requires('nmt-cli')
    if not r.startswith(('tensorflow', 'keras')) and 'extra' not in r], sep='\n')" > needs.txt
pip install -r needs.txt"""


def model_card(manifest: "Manifest", file: str = ".") -> str:
    """Return the card's Markdown text; a recipient gives `file` to `-m`."""
    rows = [  # a bar ends a table's cell, even inside backticks
        f"| {split} | {name} | {value['score']:.2f} | `{value['signature'].replace('|', _BAR)}` |"
        for split, scores in manifest.scores.items()
        for name, value in scores.items()
    ]
    table = ["| split | metric | score | signature |", "|---|---|---|---|", *rows, ""]
    size, facts = manifest.model, manifest.facts
    labels = manifest.classification.get("labels", [])
    text = "" if facts.has_turns else ' "..."'
    return "\n".join(
        [
            *front_matter(manifest),
            "",
            f"# {manifest.name}",
            "",
            f"A {manifest.task} Transformer {_origin(manifest)}: "
            f"{manifest.layers} layers, width {size['d_model']}, "
            f"{manifest.parameters:,} parameters.",
            *(["", f"Labels: {', '.join(labels)}"] if labels else []),
            "",
            "    pip install nmt-cli",
            f"    nmt {facts.command} -m {shlex.quote(file)}" + text,
            "",
            "Or without TensorFlow, which using the model does not need: 0.5 GB instead of 2.5 GB.",
            "",
            textwrap.indent(WITHOUT_TENSORFLOW, "    "),
            "",
            *(table if rows else []),
        ]
    )


def _origin(manifest: "Manifest") -> str:
    """Return where a model comes from, for people."""
    version, origin = manifest.versions["nmt"], manifest.training.get("imported")
    if origin is None:
        pairs = f"{manifest.training.get('pairs', 0):,} {manifest.examples}"
        return f"trained with nmt {version} on {pairs}"
    revision = f", revision {origin['revision']}" if origin["revision"] else ""
    return f"imported with nmt {version} from {origin['source']}{revision}"


def front_matter(manifest: "Manifest", library: str = "nmt") -> list[str]:
    """Return the YAML that model hubs read; JSON's strings and lists are YAML."""
    languages = (*manifest.known_languages.source, *manifest.known_languages.target)
    fields = {
        "library_name": library,
        "pipeline_tag": manifest.facts.pipeline,
        "tags": ["nmt", manifest.task],
        "language": list(dict.fromkeys(languages)),
        "license": manifest.licence,
        "base_model": _base(manifest),
        "model-index": _results(manifest),
    }
    lines = [f"{name}: {json.dumps(value)}" for name, value in fields.items() if value]
    return ["---", *lines, "---"]


def _base(manifest: "Manifest") -> str:
    """Return the hub's name of the model that was imported; "" if it is from elsewhere."""
    origin = manifest.training.get("imported") or {}
    return str(origin.get("source", "")) if origin.get("revision") else ""


def _results(manifest: "Manifest") -> list[dict[str, object]]:
    """Return the scores in the shape of a model index, with their signatures as names."""
    results = [
        {
            "task": {"type": manifest.facts.pipeline},
            "dataset": {"type": manifest.name, "name": manifest.name, "split": split},
            "metrics": [
                {"type": name, "value": round(value["score"], 2), "name": value["signature"]}
                for name, value in scores.items()
            ],
        }
        for split, scores in manifest.scores.items()
    ]
    return [{"name": manifest.name, "results": results}] if results else []
