"""Where machines are: private networks only, unless the user says otherwise."""

import socket

import pytest

from nmt_cli.distributed import addresses
from nmt_cli.distributed.addresses import check_addresses, danger, plain_ip, resolve
from nmt_cli.distributed.cluster import ALONE, Cluster
from nmt_cli.errors import ConfigError

NAMES = {"near": ["10.1.2.3", "fd00::3"], "far": ["203.0.113.9"], "mixed": ["10.0.0.1", "8.8.8.8"]}


@pytest.fixture(autouse=True)
def _names(monkeypatch):
    """Names that are known; an address is itself."""
    real = socket.getaddrinfo

    def look_up(host, port, **options):
        if host not in NAMES and not host[0].isdigit() and ":" not in host:
            raise socket.gaierror
        return [found for ip in NAMES.get(host, [host]) for found in real(ip, port, **options)]

    monkeypatch.setattr(addresses.socket, "getaddrinfo", look_up)


@pytest.mark.parametrize(
    "workers",
    [
        ("127.0.0.1:1", "127.0.0.1:2", "[::1]:1"),
        ("10.0.0.1:1", "172.16.0.1:1", "172.31.255.255:1", "192.168.1.1:1"),
        ("169.254.1.1:1", "[fe80::1]:1", "[fd12::1]:1", "near:1"),
    ],
)
def test_private_addresses_need_no_consent(workers):
    check_addresses(Cluster(workers), is_trusted=False)
    check_addresses(ALONE, is_trusted=False)


@pytest.mark.parametrize(
    ("address", "named"),
    [
        *(("8.8.8.8:1", "8.8.8.8"), ("172.32.0.1:1", "172.32.0.1"), ("far:1", "203.0.113.9")),
        *(("[2001:db8::1]:1", "2001:db8::1"), ("192.0.2.1:1", "192.0.2.1")),
        *(("mixed:1", "10.0.0.1, 8.8.8.8"), ("nowhere:1", "the name is unknown here")),
    ],
)
def test_others_need_it(address, named):
    cluster = Cluster(("10.0.0.1:2", address))
    with pytest.raises(ConfigError) as caught:
        check_addresses(cluster, is_trusted=False)
    assert str(caught.value).startswith(f"{address} ({named}) may be on a public network")
    assert "--trusted-network" in str(caught.value.hint)
    assert caught.value.exit_code == 2
    check_addresses(cluster, is_trusted=True)


@pytest.mark.parametrize(
    ("workers", "message"),
    [
        (("near:1", "10.1.2.3:1"), "near:1 and 10.1.2.3:1 are the same"),
        (("[::1]:1", "[0:0::1]:1"), r"\[::1\]:1 and \[0:0::1\]:1 are the same"),
        (("10.0.0.1:1", "[::ffff:10.0.0.1]:1"), "are the same"),
        (("10.0.0.1:1", "0.0.0.0:2"), "no machine can reach 0.0.0.0:2"),
        (("10.0.0.1:1", "[::]:2"), r"no machine can reach \[::\]:2"),
    ],
)
def test_addresses_that_cannot_be_right(workers, message):
    with pytest.raises(ConfigError, match=message):
        check_addresses(Cluster(workers), is_trusted=True)


def test_the_warning_says_who_can_get_in(monkeypatch):
    cluster = Cluster(("10.0.0.1:2222", "near:2223"), 1)
    monkeypatch.setattr(addresses, "can_admit", lambda ips: "10.1.2.3" in ips)
    assert "Other addresses are kept out" in danger(cluster)
    monkeypatch.setattr(addresses, "can_admit", lambda _: False)
    assert "anyone who reaches port 2223 of this machine can read and write" in danger(cluster)


def test_addresses_are_compared_as_what_they_are():
    assert plain_ip("::ffff:10.0.0.1") == "10.0.0.1"
    assert plain_ip("fe80::1%eth0") == "fe80::1"
    assert resolve("near:5") == {"10.1.2.3", "fd00::3"}
    assert resolve("nowhere:5") == set()
