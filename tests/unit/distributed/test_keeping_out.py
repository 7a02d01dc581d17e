"""A port of this process that only some addresses reach."""

import socket

import pytest

from nmt_cli.distributed import addresses

SECONDS = 0.3  # what is dropped gets no answer


def is_let_in(port: int, source: str) -> bool:
    """Whether a connection from an address of this machine is made."""
    host = "::1" if ":" in source else "127.0.0.1"
    try:
        socket.create_connection((host, port), SECONDS, source_address=(source, 0)).close()
    except OSError:
        return False
    return True


@pytest.mark.skipif(not addresses.can_admit([]), reason="the system cannot do it")
@pytest.mark.parametrize(
    ("ips", "let_in", "kept_out"),
    [
        (["127.0.0.1"], ["127.0.0.1"], ["127.0.0.2", "::1"]),
        (["::1", "127.0.0.9"], ["127.0.0.9", "::1"], ["127.0.0.1"]),
        ([f"10.0.0.{i}" for i in range(200)] + ["127.0.0.2"], ["127.0.0.2"], ["127.0.0.1"]),
        ([], [], ["127.0.0.1", "::1"]),
    ],
)
def test_only_some_addresses_reach_a_port(ips, let_in, kept_out):
    everyone = [source for source in (*let_in, *kept_out) if addresses.is_own(source)]
    with addresses.admit_only(ips, 0) as guard:
        port = guard.getsockname()[1]
        assert not any(is_let_in(port, source) for source in everyone)  # nobody is there yet
        with addresses.take(port, socket.SO_REUSEPORT) as server:
            server.listen()
            assert [s for s in everyone if is_let_in(port, s)] == [
                s for s in let_in if s in everyone
            ]
    with addresses.take(port, socket.SO_REUSEPORT) as server:
        server.listen()
        assert all(is_let_in(port, source) for source in everyone)


def test_a_port_that_is_taken():
    with addresses.take(0) as first:
        first.listen()
        port = first.getsockname()[1]
        for take in (addresses.take, lambda port: addresses.admit_only([], port)):
            with pytest.raises(OSError, match="Address already in use"):
                take(port)
    assert not addresses.is_own("192.0.2.77")
