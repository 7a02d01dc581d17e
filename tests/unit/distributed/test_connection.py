"""TensorFlow's server while the other machines do not come. In processes of their own."""

import json
import socket
import subprocess
import sys

from nmt_cli.distributed import addresses

# Connects as one of two workers, the other of which does not come. Tells who reaches the port
# meanwhile, whether a signal is heard, and the error.
JOIN = """
import json, os, signal, socket, sys
from nmt_cli.errors import TrainingError
from nmt_cli.distributed import connection
from nmt_cli.distributed.cluster import Cluster, split_address
from nmt_cli.distributed.peers import Peers

connection._LIMIT_S = 3.0
found = {"heard": 0, "let_in": {}}
cluster = Cluster(tuple(sys.argv[1:3]), int(sys.argv[3]))

def hear(*_):
    found["heard"] += 1

def look():
    address = split_address(cluster.workers[cluster.index])
    if found["let_in"].get("127.0.0.1"):
        os.kill(os.getpid(), signal.SIGTERM)
        return 0
    for source in ("127.0.0.1", "127.0.0.2"):
        try:
            with socket.create_connection(address, 0.5, source_address=(source, 0)) as line:
                found["let_in"][source] = bool(line.recv(1))
        except OSError:
            found["let_in"][source] = False
    return 0

signal.signal(signal.SIGTERM, hear)
try:
    connection.join(cluster, Peers(cluster), set(), look)
except TrainingError as error:
    print(json.dumps(found | {"error": str(error)}), flush=True)
    sys.exit(error.exit_code)
"""


def join(workers: tuple[str, ...], index: int) -> dict:
    """Let a process connect; return what it found."""
    command = [sys.executable, "-c", JOIN, *workers, str(index)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 5, done.stderr
    return json.loads(done.stdout)


def test_a_machine_that_does_not_connect_is_named_and_strangers_are_kept_out():
    with socket.socket() as one, socket.socket() as other:
        for free in (one, other):
            free.bind(("127.0.0.1", 0))
        workers = tuple(f"127.0.0.1:{free.getsockname()[1]}" for free in (one, other))
    found = join(workers, 0)
    assert found["error"] == f"worker 1 ({workers[1]}) did not connect in time"
    has_filter = addresses.can_admit(["127.0.0.1"])
    assert found["let_in"] == {"127.0.0.1": True, "127.0.0.2": not has_filter}
    assert found["heard"] > 0


def test_a_port_that_was_taken_after_the_meeting():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        found = join(("127.0.0.1:1", f"127.0.0.1:{taken.getsockname()[1]}"), 1)
    assert found["error"].endswith("cannot listen: Address already in use")
