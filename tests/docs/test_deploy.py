"""Tests of configs/deploy/: what each file starts is started, as far as that goes without root."""

import contextlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml
from serving import serving

from nmt_cli.distributed.cluster import find_cluster
from nmt_cli.distributed.launchers import launched
from nmt_cli.server import own

DEPLOY = Path(__file__).parents[2] / "configs/deploy"


def of_systemd() -> list[str]:
    (line,) = re.findall("^ExecStart=(.*)$", (DEPLOY / "nmt.service").read_text(), re.MULTILINE)
    return shlex.split(line)


def of_image() -> list[str]:
    text = (DEPLOY / "Containerfile").read_text()
    (line,) = re.findall("^ENTRYPOINT (.*)$", text, re.MULTILINE)
    return json.loads(line)


def of_cluster() -> list[str]:
    return [*of_image(), *container()["args"]]


def container() -> dict:
    deployment = next(yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text()))
    return deployment["spec"]["template"]["spec"]["containers"][0]


@pytest.mark.parametrize("command", [of_systemd, of_image, of_cluster])
def test_what_is_started_serves(command, toy_bundle, tmp_path):
    started = command()
    arguments = started[started.index("serve") + 1 :]
    is_locked = "--api-key-file" in arguments
    (tmp_path / "keys").write_text("secret\n")
    values = {"--port": "0", "--api-key-file": "keys", "--host": "127.0.0.1"}
    arguments = [
        values.get(before, argument)
        for before, argument in zip(["", *arguments], arguments, strict=False)
    ]
    with serving("-m", str(toy_bundle), *arguments, cwd=tmp_path) as (_, url):
        assert httpx.get(f"{url}/health").status_code == 200
        assert httpx.get(f"{url}/languages").status_code == (403 if is_locked else 200)


def test_probes_ask_what_is_answered():
    probes = [container()[f"{kind}Probe"]["httpGet"] for kind in ("startup", "readiness")]
    probes.append(container()["livenessProbe"]["httpGet"])
    assert {probe["path"] for probe in probes} <= set(own.GETS)
    (port,) = container()["ports"]
    assert {probe["port"] for probe in probes} == {port["name"]}
    assert str(port["containerPort"]) in of_image()


def of_slurm() -> tuple[list[str], dict[str, str]]:
    command = ["bash", str(DEPLOY / "slurm-translate.sh"), "in.txt", "out.txt"]
    return command, {"SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "8"} | {
        "SLURM_ARRAY_TASK_ID": "2"
    }


def of_job() -> tuple[list[str], dict[str, str]]:
    job = yaml.safe_load((DEPLOY / "kubernetes-translate.yaml").read_text())
    (shard,) = job["spec"]["template"]["spec"]["containers"]
    assert shard["command"][:2] == of_image()[:2]
    (total,) = shard["env"]
    assert (job["spec"]["completionMode"], total["value"]) == (
        "Indexed",
        str(job["spec"]["completions"]),
    )
    there = {"/texts/in/*.en.gz": "in.txt", "/texts/big.de": "out.txt"}
    arguments = [there.get(argument, argument) for argument in shard["args"]]
    command = [sys.executable, "-m", "nmt_cli", shard["command"][2], *arguments]
    return command, {"JOB_COMPLETION_INDEX": "1", total["name"]: total["value"]}


@pytest.mark.parametrize("started", [of_slurm, of_job])
def test_a_task_translates_its_share(started, toy_bundle, tmp_path):
    command, environment = started()
    (tmp_path / "in.txt").write_text("red dog\n" * 16)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment |= os.environ | {"NMT_MODEL": str(toy_bundle), "PATH": path}
    subprocess.run(command, cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "out.txt.parts" / "2-of-8").read_text() == "rot hund\n" * 2


def loopback(folder: Path, toy_corpus: Path) -> dict[str, str]:
    """Put the toy corpus and a secret into a folder; return what a machine has around it."""
    shutil.copytree(toy_corpus, folder, dirs_exist_ok=True)
    text = (folder / "toy.yaml").read_text().replace("max_steps: 300", "max_steps: 2")
    (folder / "my.yaml").write_text(text)
    (folder / "token").write_text("0123456789abcdef")
    return os.environ | {"PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}"}


def program(path: Path, *lines: str) -> None:
    path.write_text("\n".join(["#!/bin/bash", *lines, ""]))
    path.chmod(0o755)


def by_slurm(folder: Path, ports: list[int]) -> list[tuple[list[str], dict[str, str]]]:
    step = "SLURM_STEP_NODELIST=127.0.0.[1] SLURM_STEP_TASKS_PER_NODE=2"
    program(
        folder / "srun",
        "shift",
        *(f'{step} SLURM_PROCID={task} "$@" & pids[{task}]=$!' for task in range(2)),
        "wait ${pids[0]} && wait ${pids[1]}",
    )
    job = {"SLURM_JOB_ID": str(ports[0] - 20000)}
    return [(["bash", str(DEPLOY / "slurm-train.sh"), "my.yaml"], job)]


def by_ssh(folder: Path, ports: list[int]) -> list[tuple[list[str], dict[str, str]]]:
    program(folder / "ssh", '[ "$1" = -tt ] && [ "$2" = 127.0.0.1 ] && exec bash -c "$3"')
    machines = [f"127.0.0.1:{port}" for port in ports]
    return [(["bash", str(DEPLOY / "ssh-train.sh"), "my.yaml", *machines], {})]


def by_ray(folder: Path, ports: list[int]) -> list[tuple[list[str], dict[str, str]]]:
    pytest.importorskip("ray")
    text = (DEPLOY / "ray-train.py").read_text().replace("PORT = 2222", f"PORT = {ports[0]}")
    (folder / "ray-train.py").write_text(text)
    command = [sys.executable, "ray-train.py", "my.yaml", "--machines", "2", "--trusted-network"]
    return [(command, {})]


def by_kubeflow(folder: Path, ports: list[int]) -> list[tuple[list[str], dict[str, str]]]:
    (job,) = yaml.safe_load_all((DEPLOY / "kubeflow-train.yaml").read_text())
    worker = job["spec"]["tfReplicaSpecs"]["Worker"]
    (container,) = worker["template"]["spec"]["containers"]
    assert container["name"] == "tensorflow"
    return [
        (trained_by(container), {"TF_CONFIG": json.dumps(found)})
        for found in (
            {
                "cluster": {"worker": [f"127.0.0.1:{port}" for port in ports]},
                "task": {"type": "worker", "index": index},
                "environment": "cloud",
            }
            for index in range(2)
        )
    ]


def trained_by(container: dict) -> list[str]:
    assert "--cluster-token-file" in container["args"]
    arguments = [argument.replace("/token/token", "token") for argument in container["args"]]
    return [*container["command"], *arguments]


def free_ports() -> list[int]:
    """Return ports that are free, and so are those behind them."""
    found = []
    for port in range(20000 + os.getpid() % 9000, 29998, 2):
        with contextlib.suppress(OSError), socket.socket() as one, socket.socket() as next_one:
            one.bind(("", port))
            next_one.bind(("", port + 1))
            found += [port, port + 1]
        if len(found) == 2:
            return found
    raise AssertionError("no port is free")


@pytest.mark.parametrize(
    "started",
    [
        by_slurm,
        pytest.param(by_ssh, marks=pytest.mark.slow),
        pytest.param(by_ray, marks=pytest.mark.slow),
        pytest.param(by_kubeflow, marks=pytest.mark.slow),
    ],
)
def test_a_launcher_trains_on_all_machines(started, toy_corpus, tmp_path):
    environment = loopback(tmp_path, toy_corpus)
    processes = [
        subprocess.Popen(
            command, cwd=tmp_path, env=environment | own, stderr=subprocess.PIPE, text=True
        )
        for command, own in started(tmp_path, free_ports())
    ]
    said = [process.communicate()[1] for process in processes]
    assert not any(process.returncode for process in processes), said
    assert "this is worker 1 (" in "".join(said)
    assert (tmp_path / "runs/toy/model").is_dir()


def test_pods_find_each_other(monkeypatch):
    service, job = yaml.safe_load_all((DEPLOY / "kubernetes-train.yaml").read_text())
    pod, name = job["spec"]["template"]["spec"], job["metadata"]["name"]
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {"job-name": name}
    assert pod["subdomain"] == service["metadata"]["name"]
    (container,) = pod["containers"]
    (total,) = container["env"]
    assert int(total["value"]) == job["spec"]["completions"] == job["spec"]["parallelism"]
    kubeflow = by_kubeflow(Path(), [0, 0])[0][0]
    assert trained_by(container) == kubeflow
    monkeypatch.setattr("socket.getfqdn", lambda: f"{name}-3.{pod['subdomain']}.default.svc")
    environment = {"JOB_COMPLETION_INDEX": "3", total["name"]: total["value"]}
    workers = kubeflow[kubeflow.index("--workers") + 1]
    cluster = find_cluster(*launched(workers, None, environment), environment)
    (port,) = container["ports"]
    assert cluster.workers[0] == f"nmt-train-0.nmt-train.default.svc:{port['containerPort']}"
    assert (cluster.size, cluster.index) == (4, 3)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_takes_the_unit():
    done = subprocess.run(
        ["systemd-analyze", "verify", DEPLOY / "nmt.service"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["kubernetes", "kubernetes-train", "kubernetes-translate"])
def test_kubernetes_takes_the_manifests(name):
    """With `pip install kubernetes-validate`, 100 MB of schemas; it has none of Kubeflow's."""
    schemas = pytest.importorskip("kubernetes_validate")
    for resource in yaml.safe_load_all((DEPLOY / f"{name}.yaml").read_text()):
        schemas.validate(resource, schemas.latest_version(), strict=True)
