"""Tests of configs/deploy/: what each file starts is started, as far as that goes without root."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
import yaml
from serving import serving

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


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
def test_systemd_takes_the_unit():
    done = subprocess.run(
        ["systemd-analyze", "verify", DEPLOY / "nmt.service"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
