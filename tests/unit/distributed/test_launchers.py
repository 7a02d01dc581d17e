"""Tests of nmt_cli/distributed/launchers.py: what launchers say becomes the two options."""

import json

import pytest

from nmt_cli.distributed.cluster import find_cluster
from nmt_cli.distributed.launchers import launched, slurm_hosts
from nmt_cli.errors import ConfigError

SLURM = {
    "SLURM_PROCID": "2",
    "SLURM_STEP_NODELIST": "node[09-10],gpu1",
    "SLURM_STEP_TASKS_PER_NODE": "2,1(x2)",
}
JOB = {"JOB_COMPLETION_INDEX": "1", "JOB_COMPLETIONS": "3"}


@pytest.mark.parametrize(
    ("names", "hosts"),
    [
        ("gpu1", ["gpu1"]),
        ("a,b-1", ["a", "b-1"]),
        ("node[01-03,7],gpu1", ["node01", "node02", "node03", "node7", "gpu1"]),
        ("r[1-2]n[9-10].x", ["r1n9.x", "r1n10.x", "r2n9.x", "r2n10.x"]),
    ],
)
def test_slurm_shortens_names(names, hosts):
    assert slurm_hosts(names) == hosts


def test_slurm_numbers_tasks_machine_by_machine():
    addresses = ["node09:2222", "node09:2223", "node10:2222", "gpu1:2222"]
    assert launched("auto", None, SLURM) == (",".join(addresses), 2)
    assert find_cluster(*launched("auto:99", None, SLURM), SLURM).workers[2] == "node10:99"


@pytest.mark.parametrize("host", ["nmt-1.nmt.default.svc.cluster.local", "set-job-0-1.set"])
def test_pods_of_an_indexed_job_are_called_by_their_number(monkeypatch, host):
    monkeypatch.setattr("socket.getfqdn", lambda: host)
    name, _, domain = host.partition(".")
    addresses = [f"{name[:-2]}-{number}.{domain}:2222" for number in range(3)]
    assert launched("auto", None, JOB) == (",".join(addresses), 1)


def test_tf_config_says_it_all():
    task = {"type": "worker", "index": 1}
    config = {"cluster": {"worker": ["a:1", "b:1"]}, "task": task, "environment": "cloud"}
    environment = SLURM | {"TF_CONFIG": json.dumps(config)}
    cluster = find_cluster(*launched("auto", None, environment), environment)
    assert (cluster.workers, cluster.index) == (("a:1", "b:1"), 1)


@pytest.mark.parametrize(("workers", "index"), [(None, None), ("a:1,b:1", 1), ("auto.x:1", 0)])
def test_what_is_named_stays(workers, index):
    assert launched(workers, index, SLURM) == (workers, index)


@pytest.mark.parametrize(
    ("index", "environment", "told"),
    [
        (None, {}, "neither Slurm nor Kubernetes"),
        (0, SLURM, "leave it out"),
        (None, {"SLURM_PROCID": "0"}, "SLURM_STEP_NODELIST is not set"),
        (None, SLURM | {"SLURM_STEP_TASKS_PER_NODE": "2"}, "shorter"),
        (None, SLURM | {"SLURM_STEP_NODELIST": "n[a-b]"}, "invalid literal"),
        (None, {"JOB_COMPLETION_INDEX": "0"}, "JOB_COMPLETIONS is not set"),
        (None, JOB, "not as number 1 of an indexed Job"),
    ],
)
def test_what_is_unusual_is_told(monkeypatch, index, environment, told):
    monkeypatch.setattr("socket.getfqdn", lambda: "laptop")
    with pytest.raises(ConfigError, match=told):
        launched("auto", index, environment)
