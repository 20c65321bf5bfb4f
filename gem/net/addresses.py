"""Which network addresses may be connected to on behalf of people who chose a name."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from gem.errors import InvalidArgument

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""The only part of IPv6 that is given out for the internet (RFC 4291); the rest is local, reserved or a disguise."""
_NOT_GLOBAL = [ipaddress.ip_network(one) for one in ("192.0.0.0/24", "192.88.99.0/24", "2001::/23")]
"""What Python 3.11's `is_global` lets through, or did in one of its releases."""


class Guard:
    """Which addresses may be connected to: global ones, and those on the list.

    Args:
        allow: networks and ports beyond the global addresses: `10.1.0.0/16:8000`, `127.0.0.0/8:*`, `[::1/128]:*`.

    Raises:
        InvalidArgument: if an entry cannot be read.
    """

    def __init__(self, allow: Iterable[str] = ()) -> None:
        self._allowed = [_allowed(entry) for entry in allow]

    def permits(self, address: str, port: int) -> bool:
        """Whether this address, such as `127.0.0.1` or `::1`, may be connected to on this port."""
        ip = _unwrapped(ipaddress.ip_address(address.partition("%")[0]))
        if any(ip in network and wanted in (None, port) for network, wanted in self._allowed):
            return True
        if any(ip in network for network in _NOT_GLOBAL) or (ip.version == 6 and ip not in _UNICAST):
            return False
        return ip.is_global and not ip.is_multicast and not ip.is_reserved


class Anywhere(Guard):
    """No limits: for people who name the address themselves, on their own machine."""

    def permits(self, address: str, port: int) -> bool:
        """Always."""
        return True


def _unwrapped(ip: Address) -> Address:
    """The IPv4 address that an IPv6 one stands for: mapped, 6to4 and NAT64 reach the same machine."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _allowed(entry: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, int | None]:
    network, _, port = entry.strip().rpartition(":")
    try:
        if port != "*" and not 0 < int(port) < 65536:
            raise ValueError("no such port")
        return ipaddress.ip_network(network.strip("[]")), None if port == "*" else int(port)
    except ValueError as error:
        raise InvalidArgument(
            f"{entry!r} is no network with a port: write 10.1.0.0/16:8000, 127.0.0.0/8:* or [::1/128]:*."
        ) from error
