"""The machines that train one model together, and which of them this is.

The command line names them, or the variable TF_CONFIG, which launchers of clusters set.
"""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from nmt_cli.errors import ConfigError

_ADDRESS = re.compile(r"(?P<host>[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(?P<port>[0-9]{1,5})")
_LARGEST_PORT = 65535
_SHORTEST_TOKEN = 16  # bytes
SAME_EVERYWHERE = "every machine gets the same --workers host:port,host:port in the same order"


@dataclass(frozen=True)
class Cluster:
    """Machines that train together."""

    workers: tuple[str, ...] = ()  # the address `host:port` of each; one machine alone needs none
    # Which of them this is. The first, 0, is the chief: it alone evaluates and writes.
    index: int = 0
    token: bytes = field(default=b"", repr=False)  # the secret by which they know each other
    # what the user calls each, where these are some of the machines of the command line
    numbers: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """How many machines there are."""
        return max(1, len(self.workers))

    @property
    def is_chief(self) -> bool:
        """Whether this one evaluates and writes."""
        return self.index == 0

    def number(self, index: int) -> int:
        """Return the number that the user gave one of the machines."""
        return self.numbers[index] if self.numbers else index

    def name(self, index: int) -> str:
        """Return what to call one of the machines."""
        return f"worker {self.number(index)} ({self.workers[index]})"


ALONE = Cluster()


def find_cluster(workers: str | None, index: int | None, environment: Mapping[str, str]) -> Cluster:
    """Return the cluster of the command line, else that of TF_CONFIG, else this machine alone.

    ConfigError: the options do not fit together, or an address is none.
    """
    if workers is not None and index is not None:
        return _checked(workers.split(","), index, "--workers", "--worker-index")
    if workers is not None or index is not None:
        raise ConfigError(
            "--workers and --worker-index must be given together", hint=SAME_EVERYWHERE
        )
    text = environment.get("TF_CONFIG", "").strip()
    return _of_tf_config(text) if text else ALONE


def read_token(path: str) -> bytes:
    """Return the secret in a file; ConfigError when it cannot be read or is too short."""
    try:
        token = Path(path).read_bytes().strip()
    except OSError as error:
        raise ConfigError(f"--cluster-token-file: {path}: {error.strerror}") from error
    if len(token) < _SHORTEST_TOKEN:
        raise ConfigError(
            f"--cluster-token-file: {path} has fewer than {_SHORTEST_TOKEN} bytes",
            hint=f"make a secret with: openssl rand -hex 32 > {shlex.quote(path)}",
        )
    return token


def split_address(address: str) -> tuple[str, int]:
    """Return host and port; ValueError when it is not `host:port`."""
    match = _ADDRESS.fullmatch(address)
    if match is None or not 0 < int(match["port"]) <= _LARGEST_PORT:
        raise ValueError(f"'{address}' is not host:port")
    return match["host"].strip("[]"), int(match["port"])


def _of_tf_config(text: str) -> Cluster:
    """Read `{"cluster": {"worker": [...]}, "task": {"type": "worker", "index": 0}}`."""
    try:
        settings = json.loads(text)
        jobs, task = settings.get("cluster", {}), settings.get("task", {})
        chiefs, others = list(jobs.get("chief", [])), list(jobs.get("worker", []))
        kind, index = task.get("type", "worker"), int(task.get("index", 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"TF_CONFIG cannot be read: {error}") from error
    if kind not in ("chief", "worker") or jobs.keys() - {"chief", "worker"}:
        raise ConfigError(
            "TF_CONFIG may have tasks of the types 'chief' and 'worker' only",
            hint="nmt uses only equal workers, no parameter servers or evaluators",
        )
    if not chiefs and not others:
        return ALONE
    own = chiefs if kind == "chief" else others
    if not 0 <= index < len(own):
        raise ConfigError(f"TF_CONFIG has no {kind} {index}: it names {len(own)}")
    first = 0 if kind == "chief" else len(chiefs)
    return _checked([*chiefs, *others], first + index, "TF_CONFIG", "its task")


def _checked(workers: list[str], index: int, source: str, index_source: str) -> Cluster:
    addresses = tuple(str(worker).strip() for worker in workers)
    for address in addresses:
        try:
            split_address(address)
        except ValueError as error:
            raise ConfigError(f"{source}: {error}", hint=SAME_EVERYWHERE) from error
    if len(set(addresses)) < len(addresses):
        raise ConfigError(f"{source} names an address twice", hint=SAME_EVERYWHERE)
    if not 0 <= index < len(addresses):
        last = len(addresses) - 1
        raise ConfigError(f"{index_source} is {index}, but {source} has workers 0 to {last}")
    return Cluster(addresses, index) if len(addresses) > 1 else ALONE
