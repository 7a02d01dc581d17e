"""The machines of a run as the launcher that started it names them: `nmt train --workers auto`.

Slurm's `srun` and Kubernetes start the same command on all machines, and tell each in variables
which one it is. What is read of these becomes the two options that otherwise say it,
`--workers host:port,...` and `--worker-index`. All have the same port, or, where several run on a
machine, that port and those that follow it.
"""

import re
import socket
from collections.abc import Mapping
from itertools import chain

from nmt_cli.errors import ConfigError

PORT = 2222
_AUTO = re.compile(r"auto(?::(\d+))?")
_HOST = re.compile(r"(?:[^,\[]|\[[^\]]*\])+")  # a name of Slurm's list, with its ranges
_TASKS = re.compile(r"(\d+)(?:\(x(\d+)\))?")  # on one machine, or on each of some


def launched(
    workers: str | None, index: int | None, environment: Mapping[str, str]
) -> tuple[str | None, int | None]:
    """Return `--workers` and `--worker-index` with what the launcher says in place of `auto`.

    `auto:PORT` is another port than 2222. TF_CONFIG, which `find_cluster` reads, leaves both open.

    ConfigError: no launcher that is known started this process, or its variables are unusual.
    """
    match = _AUTO.fullmatch(workers or "")
    if match is None:
        return workers, index
    if index is not None:
        raise ConfigError("--workers auto finds the --worker-index, too: leave it out")
    port = int(match[1] or PORT)
    if environment.get("TF_CONFIG", "").strip():
        return None, None
    try:
        if "SLURM_PROCID" in environment:
            return ",".join(_of_slurm(environment, port)), int(environment["SLURM_PROCID"])
        if "JOB_COMPLETION_INDEX" in environment:
            own = int(environment["JOB_COMPLETION_INDEX"])
            total = int(environment["JOB_COMPLETIONS"])
            return ",".join(_of_indexed_job(socket.getfqdn(), own, total, port)), own
    except KeyError as error:
        raise ConfigError(f"--workers auto: {error.args[0]} is not set") from error
    except ValueError as error:
        raise ConfigError(f"--workers auto: {error}") from error
    raise ConfigError(
        "--workers auto: neither Slurm nor Kubernetes started this",
        hint="they set SLURM_PROCID, TF_CONFIG, or JOB_COMPLETION_INDEX (set JOB_COMPLETIONS, too)",
    )


def _of_slurm(environment: Mapping[str, str], port: int) -> list[str]:
    """Return the address of each task of a step, which `srun` numbers machine by machine."""
    hosts = slurm_hosts(environment["SLURM_STEP_NODELIST"])
    tasks = _TASKS.findall(environment["SLURM_STEP_TASKS_PER_NODE"])
    on_each = chain.from_iterable([int(count)] * int(times or 1) for count, times in tasks)
    counts = zip(hosts, on_each, strict=True)
    return [f"{host}:{port + task}" for host, count in counts for task in range(count)]


def slurm_hosts(names: str) -> list[str]:
    """Return the hosts that Slurm means by `gpu1,node[01-03,7]`; ValueError: none."""
    return [host for name in _HOST.findall(names) for host in _expanded(name)]


def _expanded(name: str) -> list[str]:
    head, has_ranges, rest = name.partition("[")
    if not has_ranges:
        return [head]
    ranges, _, tail = rest.partition("]")
    numbers: list[str] = []
    for one in ranges.split(","):
        first, _, last = one.partition("-")
        within = range(int(first), int(last or first) + 1)
        numbers += [str(number).zfill(len(first)) for number in within]
    return [head + number + end for number in numbers for end in _expanded(tail)]


def _of_indexed_job(own_name: str, own: int, total: int, port: int) -> list[str]:
    """Return the address of each pod: their names differ from this one's in the number."""
    host, dot, domain = own_name.partition(".")
    job = host.removesuffix(f"-{own}")
    if job == host:
        raise ValueError(f"this pod is called {host}, not as number {own} of an indexed Job")
    return [f"{job}-{index}{dot}{domain}:{port}" for index in range(total)]
