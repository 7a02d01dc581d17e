"""Models of the Hugging Face hub: the files that are needed, in the hub's own cache."""

import os
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from huggingface_hub import HfApi, hf_hub_download
from huggingface_hub.errors import (
    GatedRepoError,
    LocalEntryNotFoundError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from nmt_cli.errors import ModelFileError, NmtError
from nmt_cli.pretrained.tensors import PICKLED, SAFE

NAME = re.compile(r"\w[\w.-]*/[\w.-]+")
_NO_NETWORK = (LocalEntryNotFoundError, ConnectionError)
_TOKEN = "a private model needs a token: hf auth login, or HF_TOKEN=..."  # noqa: S105


def download(name: str, revision: str | None, files_of: Callable[[Path], Sequence[str]]) -> Path:
    """Return the folder, named by its commit, of a repository.

    First comes its `config.json` alone; `files_of` says of that folder what else is needed. Files
    come one after another in this thread, the weights last, so that Ctrl-C ends it at once: the
    library's own download of many waits for its threads. ModelFileError: It cannot be had.
    """
    try:
        with warnings.catch_warnings(action="ignore"):  # what matters of them is an error, too
            folder = Path(hf_hub_download(name, "config.json", revision=revision)).parent
            optional = ["generation_config.json", "README.md", *files_of(folder)]
            for file in _offered(name, folder, optional):
                hf_hub_download(name, file, revision=folder.name)
    except NmtError:
        raise
    except Exception as error:  # of the hub's library, of the one that it has for HTTP, of the disk
        raise _told(name, error) from error
    return folder


def _offered(name: str, folder: Path, optional: Sequence[str]) -> list[str]:
    """Return which files to ask for; none without a network if all is in the cache already."""
    try:
        offered = HfApi().list_repo_files(name, revision=folder.name)
    except Exception:
        if (folder / SAFE).exists() or (folder / PICKLED).exists():  # they came last
            return []
        raise
    weights = SAFE if SAFE in offered else PICKLED
    return [file for file in (*optional, weights) if file in offered]


def _told(name: str, error: Exception) -> NmtError:
    """Return what a problem of the hub is, in one line, and what to do about it."""
    if isinstance(error, GatedRepoError):
        problem, hint = "its owner wants you to accept terms first", f"see https://hf.co/{name}"
    elif isinstance(error, RevisionNotFoundError):
        problem, hint = "has no such revision", "leave --revision out for the newest"
    elif isinstance(error, RepositoryNotFoundError):
        problem, hint = "no such folder, and no such model on the Hugging Face hub", _TOKEN
    elif isinstance(error, RemoteEntryNotFoundError):
        problem, hint = "holds no config.json", "nmt help pretrained lists what can be imported"
    elif isinstance(error, _NO_NETWORK) or type(error).__module__.startswith("httpx"):
        problem = "the Hugging Face hub cannot be reached"
        hint = "check the network; the same command keeps the files that came whole"
    else:
        reason = getattr(error, "strerror", None) or str(error).strip() or type(error).__name__
        where = f" ({error.filename})" if isinstance(error, OSError) and error.filename else ""
        problem = f"cannot be had from the Hugging Face hub: {reason.splitlines()[0]}{where}"
        hint = f"HF_HOME={os.environ.get('HF_HOME', '~/.cache/huggingface')} is where it is kept"
    return ModelFileError(f"{name}: {problem}", hint=hint)
