"""TensorFlow's server of this machine, and its connections with those of the others.

TensorFlow starts the server and waits for all others in one native call, for ever if one does not
come, and no other Python code runs meanwhile. Here a thread makes that call without Python's lock,
so that signals are heard and the wait has an end. Strangers are kept out before there is a server.
"""

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable, Collection
from concurrent.futures import Future, wait
from typing import Any

import tensorflow as tf
from tensorflow.compiler.xla.tsl.protobuf.coordination_config_pb2 import CoordinatedJob
from tensorflow.python import _pywrap_tfe
from tensorflow.python.eager import context

from nmt_cli.distributed import addresses
from nmt_cli.distributed.addresses import admitted
from nmt_cli.distributed.cluster import Cluster, split_address
from nmt_cli.distributed.peers import HEARTBEAT_S, Peers
from nmt_cli.errors import TrainingError
from nmt_cli.events import StopRequested
from nmt_cli.files import os_errors_as

_LIMIT_S = 120.0  # all are there, so it takes seconds
_LOOK_S = 0.1


def join(
    cluster: Cluster, peers: Peers, callers: Collection[str], should_stop: Callable[[], int]
) -> Any:
    """Connect with the other machines, which all wait for it; return TensorFlow's strategy.

    `callers` are IP addresses from which machines called the chief; they may differ from those in
    `cluster` where addresses are translated. `should_stop` is asked all the time, and
    `StopRequested` raised when it says so.

    TrainingError: a machine did not connect, or the port of this one is taken.
    """
    _keep_strangers_out(cluster, callers)
    strategy: Future[Any] = Future()
    opening = threading.Thread(
        target=_run, args=(strategy, lambda: _open_strategy(cluster)), daemon=True
    )
    opening.start()
    ends_at = time.monotonic() + _LIMIT_S
    while not strategy.done():
        if should_stop():
            raise StopRequested
        if time.monotonic() > ends_at:
            raise peers.late()
        _keep_signals()
        wait([strategy], _LOOK_S)
    _keep_signals()
    return strategy.result()


def _keep_strangers_out(cluster: Cluster, callers: Collection[str]) -> None:
    """Let only the machines reach the server, from its first moment to the end of the process."""
    if addresses.can_admit(ips := admitted(cluster)):
        _, port = split_address(cluster.workers[cluster.index])
        with os_errors_as(TrainingError, f"{cluster.name(cluster.index)} cannot listen"):
            addresses.admit_only(ips.union(callers), port).detach()
        os.environ["TF_GRPC_REUSE_PORT"] = "1"


def _run(result: "Future[Any]", function: Callable[[], Any]) -> None:
    try:
        result.set_result(function())
    except Exception as error:  # noqa: BLE001 - raised again by who waits
        result.set_exception(error)


def _open_strategy(cluster: Cluster) -> Any:
    """Return TensorFlow's strategy, which connects with the other machines."""
    resolver = tf.distribute.cluster_resolver.SimpleClusterResolver(
        tf.train.ClusterSpec({"worker": cluster.workers}),
        task_type="worker",
        task_id=cluster.index,
    )
    context.context().configure_coordination_service(
        service_type="standalone",
        service_leader="/job:worker/replica:0/task:0",
        cluster_register_timeout_in_ms=int(_LIMIT_S * 1000),
        heartbeat_timeout_in_ms=HEARTBEAT_S * 1000,  # a machine that is silent may only be busy
        coordinated_jobs=[CoordinatedJob(name="worker", num_tasks=cluster.size)],
    )
    context.pywrap_tfe.TFE_EnableCollectiveOps = _enable_collective_ops
    return tf.distribute.MultiWorkerMirroredStrategy(resolver)


def _enable_collective_ops(handle: Any, server: bytes) -> None:
    """Do what TensorFlow's function of this name does, without Python's lock."""
    library, unwrap = ctypes.CDLL(_pywrap_tfe.__file__), ctypes.pythonapi.PyCapsule_GetPointer
    unwrap.restype = library.TF_NewStatus.restype = ctypes.c_void_p
    unwrap.argtypes = (ctypes.py_object, ctypes.c_char_p)
    library.TF_Message.restype = ctypes.c_char_p
    status = ctypes.c_void_p(library.TF_NewStatus())
    own = ctypes.c_void_p(unwrap(handle, None))
    library.TFE_EnableCollectiveOps(own, server, ctypes.c_size_t(len(server)), status)
    if code := library.TF_GetCode(status):
        message = library.TF_Message(status).decode(errors="replace")
        raise tf.errors.exception_type_from_error_code(code)(None, None, message)


def _keep_signals() -> None:
    """Take signals back: TensorFlow installs a handler of its own for SIGTERM while it connects."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.getsignal(number))
