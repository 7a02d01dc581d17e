"""Addresses and ports: whether strangers may be near a run's machines, and keeping them out.

TensorFlow's server asks for no password, reads and writes files for everyone, and listens on all
interfaces whatever its address is. But Linux lets a process choose which of its sockets at a port
gets a packet. So a socket that drops everything takes the port first and shares it with TensorFlow:
packets from admitted addresses go to TensorFlow, all others are dropped (Linux,
Documentation/networking/filter.rst, classic BPF; socket(7), SO_ATTACH_REUSEPORT_CBPF).
"""

import ctypes
import ipaddress
import itertools
import socket
import struct
import sys
from collections.abc import Collection, Iterable

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
    """Look all machines up before anything is done; `is_trusted`: nobody else can reach them.

    ConfigError: two are the same, one cannot be called, or one may be on a public network.
    """
    owners: dict[tuple[str, int], str] = {}
    for address in cluster.workers:
        ips = resolve(address)
        for ip in ips:
            owner = owners.setdefault((ip, split_address(address)[1]), address)
            if owner != address:
                raise ConfigError(f"{owner} and {address} are the same", hint=SAME_EVERYWHERE)
            if ipaddress.ip_address(ip).is_unspecified:
                raise ConfigError(f"no machine can reach {address}", hint=SAME_EVERYWHERE)
        if not is_trusted and not (ips and _are_private(ips)):
            raise ConfigError(
                f"{address} ({', '.join(sorted(ips)) or 'the name is unknown here'}) may be on a "
                "public network, and TensorFlow's connections have no password",
                hint="connect the machines by ssh or a VPN, or use --trusted-network if nobody "
                "else can reach them (nmt_cli/training/README.md)",
            )


def admitted(cluster: Cluster) -> set[str]:
    """Return from where TensorFlow's port may be reached: the machines, and this one."""
    return LOOPBACK.union(*map(resolve, cluster.workers))


def danger(cluster: Cluster) -> str:
    """Return the warning that a run with several machines begins with."""
    _, port = split_address(cluster.workers[cluster.index])
    if can_admit(admitted(cluster)):
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


_ATTACH_FILTER, _ATTACH_CHOICE = 26, 51  # SO_ATTACH_FILTER, SO_ATTACH_REUSEPORT_CBPF
_IP_HEADER = 0xFFF00000  # SKF_NET_OFF: offsets from here are in the IP header
_SOURCE = {4: 12, 6: 8}  # where it begins in that header
_INSTRUCTION = struct.Struct("HBBI")  # what to do, steps to skip if true and if false, a number
_LOAD_BYTE, _LOAD_WORD, _SHIFT_RIGHT, _JUMP_IF_EQUAL, _RETURN = 0x30, 0x20, 0x74, 0x15, 0x06
_OURS, _SERVERS = (_RETURN, 0, 0, 0), (_RETURN, 0, 0, 1)  # by who listened first
_DROP = (_RETURN, 0, 0, 0)

_Step = tuple[int, int, int, int]


def take(port: int, *options: int) -> socket.socket:
    """Return a socket at a port, on all interfaces as TensorFlow's will be.

    `options` of the socket are switched on. OSError: the port is taken, or not for everyone.
    """
    has_ipv6 = is_own("::1")  # by this gRPC decides
    own = socket.socket(socket.AF_INET6 if has_ipv6 else socket.AF_INET)
    try:
        for option in (socket.SO_REUSEADDR, *options):
            own.setsockopt(socket.SOL_SOCKET, option, 1)
        if has_ipv6:
            own.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        own.bind(("", port))
    except OSError:
        own.close()
        raise
    return own


def is_own(ip: str) -> bool:
    """Return whether this machine has an IP address."""
    with socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET) as own:
        try:
            own.bind((ip, 0))
        except OSError:
            return False
    return True


def can_admit(ips: Collection[str]) -> bool:
    """Return whether `admit_only` works on this system, and for so many addresses."""
    if sys.platform != "linux":
        return False
    try:
        admit_only(ips, 0).close()
    except OSError:
        return False
    return True


def admit_only(ips: Collection[str], port: int) -> socket.socket:
    """Drop all that comes to a port, but for what some addresses send to a server there.

    That server takes the port later, in this process, and shares it (SO_REUSEPORT). The socket that
    is returned works until it is closed. OSError: the port is taken.
    """
    own = take(port, socket.SO_REUSEPORT)
    blocks = itertools.chain(*(_block(ipaddress.ip_address(ip)) for ip in sorted(ips)))
    try:
        _attach(own, _ATTACH_FILTER, [_DROP])
        _attach(own, _ATTACH_CHOICE, [*blocks, _OURS])
        own.listen()
    except OSError:
        own.close()
        raise
    return own


def _attach(own: socket.socket, option: int, steps: list[_Step]) -> None:
    program = ctypes.create_string_buffer(b"".join(_INSTRUCTION.pack(*step) for step in steps))
    pointer = struct.pack("HP", len(steps), ctypes.addressof(program))
    own.setsockopt(socket.SOL_SOCKET, option, pointer)


def _block(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> list[_Step]:
    """Return the steps that admit an address, or else go on to the next block."""
    words = struct.unpack(f"!{len(ip.packed) // 4}I", ip.packed)
    left = 2 * len(words) + 1  # steps of the block after the next one
    steps = [
        (_LOAD_BYTE, 0, 0, _IP_HEADER),
        (_SHIFT_RIGHT, 0, 0, 4),
        (_JUMP_IF_EQUAL, 0, left, ip.version),
    ]
    for index, word in enumerate(words):
        left -= 2
        steps.append((_LOAD_WORD, 0, 0, _IP_HEADER + _SOURCE[ip.version] + 4 * index))
        steps.append((_JUMP_IF_EQUAL, 0, left, word))
    return [*steps, _SERVERS]
