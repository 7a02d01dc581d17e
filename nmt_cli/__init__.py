"""nmt: train, use and understand Transformers for translation, chat and classification.

From Python (see README.md in this folder):

    import nmt_cli

    model = nmt_cli.load("runs/quickstart")
    print(model.translate(["The old man reads a book."])[0].text)
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nmt_cli import events
    from nmt_cli.api.encoding import encode
    from nmt_cli.api.functions import check, evaluate, tokenize, train
    from nmt_cli.api.model import Model, load
    from nmt_cli.documents.translating import translate_document
    from nmt_cli.errors import NmtError
    from nmt_cli.pretrained.importing import import_model
    from nmt_cli.search.glossary import Glossary
    from nmt_cli.search.memory import Memory

__version__ = "0.1.0"
__all__ = [
    "Glossary",
    "Memory",
    "Model",
    "NmtError",
    "check",
    "encode",
    "evaluate",
    "events",
    "import_model",
    "load",
    "tokenize",
    "train",
    "translate_document",
]

_HOMES = {
    "Glossary": "nmt_cli.search.glossary",
    "Memory": "nmt_cli.search.memory",
    "Model": "nmt_cli.api.model",
    "load": "nmt_cli.api.model",
    "NmtError": "nmt_cli.errors",
    "import_model": "nmt_cli.pretrained.importing",
    "check": "nmt_cli.api.functions",
    "encode": "nmt_cli.api.encoding",
    "evaluate": "nmt_cli.api.functions",
    "tokenize": "nmt_cli.api.functions",
    "train": "nmt_cli.api.functions",
    "translate_document": "nmt_cli.documents.translating",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use: importing the package alone must cost nothing."""
    if name == "events":
        return importlib.import_module("nmt_cli.events")
    if name not in _HOMES:
        raise AttributeError(f"module 'nmt_cli' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)
