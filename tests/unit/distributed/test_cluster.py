"""Which machines train together: the command line, TF_CONFIG, and what is wrong with either."""

import json

import pytest

from nmt_cli.distributed.cluster import ALONE, Cluster, find_cluster, read_token, split_address
from nmt_cli.errors import ConfigError

TWO = "a.example:2222,10.0.0.2:2223"


def tf_config(jobs, kind, index) -> dict[str, str]:
    return {"TF_CONFIG": json.dumps({"cluster": jobs, "task": {"type": kind, "index": index}})}


def test_the_command_line_names_machines():
    cluster = find_cluster(TWO, 1, {})
    assert cluster == Cluster(("a.example:2222", "10.0.0.2:2223"), 1)
    assert cluster.size == 2
    assert not cluster.is_chief
    assert cluster.name(1) == "worker 1 (10.0.0.2:2223)"
    assert find_cluster(TWO, 0, {}).is_chief


def test_without_a_word_about_it_a_machine_is_alone():
    assert find_cluster(None, None, {}) == ALONE
    assert find_cluster(None, None, {"TF_CONFIG": ""}) == ALONE
    assert find_cluster(None, None, {"TF_CONFIG": "{}"}) == ALONE
    assert find_cluster("a:1", 0, {}) == ALONE
    assert (ALONE.size, ALONE.is_chief) == (1, True)


def test_tf_config_counts_the_chief_first():
    jobs = {"chief": ["c:1"], "worker": ["w:1", "w:2"]}
    assert find_cluster(None, None, tf_config(jobs, "chief", 0)).index == 0
    cluster = find_cluster(None, None, tf_config(jobs, "worker", 1))
    assert cluster == Cluster(("c:1", "w:1", "w:2"), 2)
    assert find_cluster(TWO, 1, tf_config(jobs, "worker", 1)).workers[0] == "a.example:2222"


@pytest.mark.parametrize(
    ("workers", "index", "message"),
    [
        (TWO, None, "--workers and --worker-index must be given together"),
        (None, 0, "--workers and --worker-index must be given together"),
        (TWO, 2, "--worker-index is 2, but --workers has workers 0 to 1"),
        (TWO, -1, "--worker-index is -1, but --workers has workers 0 to 1"),
        ("a:1,b", 0, "--workers: 'b' is not host:port"),
        ("a:1,", 0, "--workers: '' is not host:port"),
        ("a:1,b:0", 0, "'b:0' is not host:port"),
        ("a:1,b:65536", 0, "'b:65536' is not host:port"),
        ("a:1,http://b:2", 0, "'http://b:2' is not host:port"),
        ("a:1,a:1", 0, "--workers names an address twice"),
    ],
)
def test_nonsense_on_the_command_line(workers, index, message):
    with pytest.raises(ConfigError, match=message):
        find_cluster(workers, index, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "TF_CONFIG cannot be read"),
        ("[]", "TF_CONFIG cannot be read"),
        ('{"cluster": {"worker": ["a:1", "b:1"], "ps": ["c:1"]}}', "types 'chief' and 'worker'"),
        ('{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"index": 2}}', "has no worker 2"),
        ('{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"index": "x"}}', "cannot be read"),
        ('{"cluster": {"worker": ["a:1", "b"]}}', "TF_CONFIG: 'b' is not host:port"),
    ],
)
def test_nonsense_in_tf_config(text, message):
    with pytest.raises(ConfigError, match=message):
        find_cluster(None, None, {"TF_CONFIG": text})


def test_a_token_comes_from_a_file_and_is_shown_nowhere(tmp_path):
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    assert read_token(str(file)) == b"0123456789abcdef"
    assert "0123" not in repr(Cluster(("a:1", "b:1"), 0, read_token(str(file))))
    file.write_text("too short\n")
    for path, message in ((file, "fewer than 16 bytes"), (tmp_path, "Is a directory")):
        with pytest.raises(ConfigError, match=f"^--cluster-token-file: {path}.*{message}"):
            read_token(str(path))


def test_addresses():
    assert split_address("[::1]:80") == ("::1", 80)
    assert split_address("a-b.c_d:65535") == ("a-b.c_d", 65535)
