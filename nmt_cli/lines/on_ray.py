"""Lines on a Ray cluster: the parts of outputs are made by processes on all its machines.

Each process holds the model. This one reads the input and sends a part's lines to whichever process
is free; so the input is read once, two parts a process are in memory, and what the machines have in
common is nothing but Ray and `nmt` itself. Parts are written here, as `parts.py` says: what was
made before a crash is not made again. A process that dies is started anew, and its part is given to
it again.
"""

import collections
import contextlib
import itertools
import os
import signal
import socket
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from nmt_cli.api.model import Model, load
from nmt_cli.bundle.manifest import MANIFEST
from nmt_cli.errors import ConfigError, NmtError, TrainingError
from nmt_cli.files import remove_dir, sha256_of
from nmt_cli.lines.work import Work
from nmt_cli.parts import Division, Part, folder_of, join
from nmt_cli.resources import WINDOW_LINES
from nmt_cli.search.translator import full_windows

AUTO = "auto"
_AHEAD = 2  # parts that a process has: one in work, and the next
_WAIT = 10.0  # seconds for a cluster to answer
_RETRIES = 3  # of a part whose process died


@dataclass(frozen=True, kw_only=True)
class Cluster:
    """Which cluster, and how many processes there.

    ConfigError: a number is below 1.
    """

    address: str = AUTO  # of its head, such as ray://host:10001; `auto` finds or starts one
    workers: int | None = None  # None is as many as there are cores, or GPUs
    threads: int = 1  # cores of each

    def __post_init__(self) -> None:
        if self.threads < 1 or (self.workers is not None and self.workers < 1):
            raise ConfigError("--ray-workers and --threads must be at least 1")


@dataclass(frozen=True)
class _Folder:
    """A model folder that travels; where it is on the disk already, only its name does."""

    path: str
    manifest: str  # hash of the manifest, which has those of the other files
    files: dict[str, bytes]  # empty where all is on one machine

    @classmethod
    def of(cls, path: Path, *, with_files: bool) -> "_Folder":
        path = path.resolve()
        found = (file for file in path.rglob("*") if with_files and file.is_file())
        files = {str(file.relative_to(path)): file.read_bytes() for file in found}
        return cls(str(path), sha256_of(path / MANIFEST), files)

    @contextlib.contextmanager
    def here(self) -> Iterator[str]:
        """Give a path of the folder on this machine; a copy is gone when the block ends."""
        manifest = Path(self.path) / MANIFEST
        if not self.files or (manifest.is_file() and sha256_of(manifest) == self.manifest):
            yield self.path
            return
        with tempfile.TemporaryDirectory(prefix="nmt-model-") as copy:
            for name, content in self.files.items():
                file = Path(copy) / name
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            yield copy


class _Worker:
    """A process on the cluster, which holds the model."""

    def __init__(
        self,
        kind: type[Work],
        settings: dict[str, Any],
        options: dict[str, Any],
        *,
        has_backward: bool,
    ) -> None:
        self._kind, self._settings, self._has_backward = kind, settings, has_backward
        self._options, self._copies = options, contextlib.ExitStack()
        self._work: Work | None = None

    def output(self, items: list[Any], folders: list[Any]) -> str:
        """Return the output of lines; `folders` are references to what `_shared` gave to Ray."""
        import ray

        # Not when it is started: Ray would not start it anew with references.
        if self._work is None:
            shared = ray.get(folders)
            paths = [self._copies.enter_context(folder.here()) for folder in shared]
            backward = paths.pop() if self._has_backward else None
            model = load(paths, backward=backward, **self._options)
            self._work = self._kind(model=model, **self._settings)
        found = self._work.found(full_windows(items, WINDOW_LINES))
        return "".join(map(self._work.line, found))

    def close(self) -> None:
        """Remove copies of the model."""
        self._copies.close()


def run(
    work: Work,
    divisions: Sequence[Division],
    cluster: Cluster,
    *,
    on_done: Callable[[int, int], None] = lambda *_: None,
) -> None:
    """Make all parts of outputs that are not there, and put them together.

    Args:
        work: What to do with each line.
        divisions: The outputs; their parts are gone in the end.
        cluster: Where.
        on_done: Called with how many lines are done, and of how many.

    Raises:
        NmtError: Ray is not installed, or its cluster cannot be reached; a line or the model is
            faulty; or processes died again and again.
    """
    ray = _connected(cluster)
    try:
        workers, folders = _started(ray, work, cluster), _shared(ray, work.model)
        missing = [(division, division.missing()) for division in divisions]
        total = sum(len(part.lines) for _, parts in missing for part in parts)
        tasks = chain.from_iterable(division.with_items(parts) for division, parts in missing)
        done = 0
        for part, output in _made(ray, workers, folders, tasks):
            with part.written() as stream:
                stream.write(output)
            done += len(part.lines)
            on_done(done, total)
    finally:
        ray.shutdown()
    for division in divisions:
        join(division.output)
        remove_dir(folder_of(division.output))


def encode(
    config: str | None, settings: list[str], cluster: Cluster, store: str | None = None
) -> None:
    """Encode the training text of a configuration, on each machine a share at a time.

    All machines see this working folder, in which the run has its vocabulary. `nmt_cli.encode`
    makes one of the parts.

    Args:
        config: A YAML file or a bundled name; None is the bundled sample.
        settings: Keys to change, as "data.dir=texts".
        cluster: Where; its `workers` are how many shares there are, None is one for each machine.
        store: See `nmt_cli.encode`.

    Raises:
        NmtError: See `run`, and `nmt_cli.encode`.
    """
    ray = _connected(cluster)
    try:
        cores = [node["Resources"].get("CPU", 0) for node in ray.nodes() if node["Alive"]]
        if not (cores := list(filter(None, cores))):
            raise ConfigError("--ray: the cluster has no core")
        total = cluster.workers or len(cores)
        task = ray.remote(_encode_share).options(num_cpus=min(cores), max_retries=_RETRIES)
        shares = [f"{number}/{total}" for number in range(1, total + 1)]
        here = str(Path.cwd())
        for begun in [task.remote(here, config, settings, share, store) for share in shares]:
            _result(ray, begun)
    finally:
        ray.shutdown()


def _encode_share(
    folder: str, config: str | None, settings: list[str], share: str, store: str | None
) -> None:
    from nmt_cli.api import encoding  # not needed where lines are worked on

    os.chdir(folder)
    encoding.encode(config, set=settings, shard=share, store=store)


def check(cluster: Cluster) -> None:
    """Raise NmtError if Ray is not installed, or nothing listens at the address of its cluster."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is sent anywhere
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # the first of many is told
    try:
        import ray  # noqa: F401
    except ImportError:
        hint = "pip install 'nmt-cli[ray]'"
        raise NmtError("--ray needs Ray, which is not installed", hint=hint) from None
    _check_reachable(cluster.address)


def _connected(cluster: Cluster) -> Any:
    """Return Ray, connected to a cluster; `auto` starts one on this machine if there is none."""
    check(cluster)
    import ray

    before = signal.getsignal(signal.SIGTERM)
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "error"}
    try:
        if cluster.address == AUTO:
            _join_or_start(ray, include_dashboard=False, **quiet)
        else:
            ray.init(address=cluster.address, **quiet)
    except Exception as error:  # Ray itself raises nothing more exact
        reason = str(error).splitlines()[0]
        raise NmtError(f"--ray {cluster.address}: no cluster can be reached: {reason}") from error
    signal.signal(signal.SIGTERM, before)  # Ray's own prints a stack
    return ray


def _join_or_start(ray: Any, **settings: Any) -> None:
    """Connect to the cluster that `ray start` made this machine part of, else start one.

    Ray's own "auto" takes any, such as that of another command, which ends with that.
    """
    try:
        ray.init(**settings)
    except ConnectionError:  # it is gone
        ray.init(address="local", **settings)


def _check_reachable(address: str) -> None:
    """Raise NmtError unless something listens at an address; Ray tries again for minutes."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if address == AUTO:
        return
    if not (host and port.isdecimal()):
        raise ConfigError(f"--ray {address}: give auto, HOST:PORT or ray://HOST:PORT")
    try:
        socket.create_connection((host, int(port)), timeout=_WAIT).close()
    except (OSError, OverflowError) as error:
        raise NmtError(f"--ray {address}: no cluster can be reached: {error}") from error


def _shared(ray: Any, model: Model) -> list[Any]:
    """Return references to the folders of a model's bundles, which all machines can get."""
    is_far = sum(node["Alive"] for node in ray.nodes()) > 1
    return [ray.put(_Folder.of(one.path, with_files=is_far)) for one in model.bundle.all]


def _started(ray: Any, work: Work, cluster: Cluster) -> list[Any]:
    """Return the processes; Ray starts them, and starts those that die anew."""
    options = work.model.options
    is_gpu = options.device == "gpu"
    there = ray.cluster_resources()
    most = int(there.get("GPU", 0) if is_gpu else there.get("CPU", 0) // cluster.threads)
    if most < (number := cluster.workers or max(1, most)):  # Ray would wait for more machines
        each = "a GPU" if is_gpu else f"{cluster.threads} CPU"
        problem = f"--ray: the cluster has room for {most} processes of {each}, not for {number}"
        raise ConfigError(problem)
    actor = ray.remote(_Worker).options(
        num_cpus=cluster.threads,
        num_gpus=1 if is_gpu else 0,
        max_restarts=-1,
        max_task_retries=_RETRIES,
    )
    of_engine = vars(options) | {"threads": cluster.threads}
    has_backward = work.model.bundle.backward is not None
    settings = type(work), work.settings(), of_engine
    return [actor.remote(*settings, has_backward=has_backward) for _ in range(number)]


def _made(
    ray: Any, workers: list[Any], folders: list[Any], tasks: Iterator[tuple[Part, list[Any]]]
) -> Iterator[tuple[Part, str]]:
    """Yield parts with their output, as they are made; each process is given two at a time.

    Behind the last one, the processes remove what they have on their disks.
    """
    free = collections.deque(workers * _AHEAD)
    begun: dict[Any, tuple[Part, Any]] = {}
    used: set[Any] = set()
    while True:
        for part, items in itertools.islice(tasks, len(free)):
            worker = free.popleft()
            begun[worker.output.remote(items, folders)] = part, worker
            used.add(worker)
        if not begun:
            closing = [worker.close.remote() for worker in used]
            if closing:
                ray.wait(closing, num_returns=len(closing), timeout=_WAIT)
            return
        (done,), _ = ray.wait(list(begun), num_returns=1)
        part, worker = begun.pop(done)
        yield part, _result(ray, done)
        free.append(worker)


def _result(ray: Any, done: Any) -> Any:
    """Return the output of a part; what went wrong where it was made is raised here."""
    try:
        return ray.get(done)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, NmtError):
            raise error.cause from None
        raise
    except (ray.exceptions.RayActorError, ray.exceptions.WorkerCrashedError) as error:
        hint = "there may be too little memory for so many: --ray-workers gives their number"
        raise TrainingError(
            f"--ray: the process of a part died {_RETRIES + 1} times", hint=hint
        ) from error
