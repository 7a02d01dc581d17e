"""Where the machines of a run are: their IP addresses, and whether strangers may be near them."""

import ipaddress
import socket
from collections.abc import Iterable

from nmt_cli.distributed import ports
from nmt_cli.distributed.cluster import SAME_EVERYWHERE, Cluster, split_address
from nmt_cli.errors import ConfigError

LOOPBACK = {"127.0.0.1", "::1"}
_PRIVATE = [
    ipaddress.ip_network(network)
    for network in (
        *("127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16"),
        *("::1/128", "fc00::/7", "fe80::/10"),
    )
]


def resolve(address: str) -> set[str]:
    """Return the IP addresses of a `host:port`; none when the name of the host is unknown."""
    host, port = split_address(address)
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        return set()
    return {plain_ip(str(address[0])) for *_, address in found}


def plain_ip(text: str) -> str:
    """Return an IP address without its zone, and as IPv4 when it is an IPv4 address in IPv6."""
    ip = ipaddress.ip_address(text.partition("%")[0])
    return str((ip.version == 6 and ip.ipv4_mapped) or ip)


def check_addresses(cluster: Cluster, *, is_trusted: bool) -> None:
    """Look all machines up, before anything is done.

    Args:
        cluster: The machines.
        is_trusted: The user says that nobody else can reach them.

    Raises:
        ConfigError: Two are the same, one cannot be called, or one may be in a public network.
    """
    owners: dict[tuple[str, int], str] = {}
    for address in cluster.workers:
        ips = resolve(address)
        for ip in ips:
            owner = owners.setdefault((ip, split_address(address)[1]), address)
            if owner != address:
                raise ConfigError(f"{owner} and {address} are the same", hint=SAME_EVERYWHERE)
            if ipaddress.ip_address(ip).is_unspecified:
                raise ConfigError(f"no machine can call {address}", hint=SAME_EVERYWHERE)
        if not is_trusted and not (ips and _are_private(ips)):
            raise ConfigError(
                f"{address} ({', '.join(sorted(ips)) or 'the name is unknown here'}) may be in a "
                "public network, and TensorFlow's connections have no password",
                hint="connect the machines by ssh or a VPN, or give --trusted-network when nobody "
                "else can reach them (nmt_cli/training/README.md)",
            )


def admitted(cluster: Cluster) -> set[str]:
    """Return from where TensorFlow's port may be reached: the machines, and what runs on this."""
    return LOOPBACK.union(*map(resolve, cluster.workers))


def danger(cluster: Cluster) -> str:
    """Return the warning that a run with several machines begins with."""
    _, port = split_address(cluster.workers[cluster.index])
    if ports.can_admit(admitted(cluster)):
        who = "any program on these machines, and anyone on the network between them,"
        others = "Other addresses are kept out."
    else:
        who = f"anyone who reaches port {port} of this machine"
        others = "This system cannot keep anyone out: use a firewall."
    return (
        "TensorFlow's connections between machines have no password and no encryption: "
        f"{who} can read and write files as you. {others}"
    )


def _are_private(ips: Iterable[str]) -> bool:
    return all(any(ipaddress.ip_address(ip) in network for network in _PRIVATE) for ip in ips)
