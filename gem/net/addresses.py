"""Which network addresses the server may connect to on behalf of people who chose a host name."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable

from gem.errors import InvalidArgument, UnknownEnvironment

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_UNICAST = ipaddress.ip_network("2000::/3")
"""The only part of IPv6 that is assigned for the internet (RFC 4291); the rest is local, reserved or an alias."""
_SPECIAL_NETWORKS = [
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.175.48.0/24",
        "2001::/23",
        "2620:4f:8000::/48",
        "3fff::/20",
    )
]
"""Networks that IANA assigns to documentation, anycast relays and the like, although `is_global` is true for them."""

ADDRESSES_VARIABLE = "GEM_OPENENV_ADDRESSES"
"""The environment variable with the networks that may be connected to besides global addresses, separated by spaces, as
`AddressGuard` takes them. Without it every address may be; with `none` no server is."""
NO_ADDRESS = "none"


class AddressGuard:
    """Allows connections to global addresses and to those of a list.

    Args:
        allow: further networks with a port or `*`, such as `10.1.0.0/16:8000`, `127.0.0.0/8:*` or `[::1/128]:*`.
        shows_server_errors: whether a server's own error message may be shown, because nobody else can read it.

    Raises:
        InvalidArgument: if an entry is malformed.
    """

    def __init__(self, allow: Iterable[str] = (), *, shows_server_errors: bool = False) -> None:
        self._allowed = [_parse_entry(entry) for entry in allow]
        self.shows_server_errors = shows_server_errors

    def allows(self, address: str, port: int) -> bool:
        """Whether this address, such as `127.0.0.1` or `::1`, may be connected to on this port."""
        ip = _unwrap(ipaddress.ip_address(address.partition("%")[0]))
        if any(ip in network and allowed_port in (None, port) for network, allowed_port in self._allowed):
            return True
        if any(ip in network for network in _SPECIAL_NETWORKS) or (ip.version == 6 and ip not in _UNICAST):
            return False
        return ip.is_global and not ip.is_multicast and not ip.is_reserved


class UnrestrictedGuard(AddressGuard):
    """Allows every address, for people who choose the address of a server on their own machine."""

    def __init__(self) -> None:
        super().__init__(shows_server_errors=True)

    def allows(self, address: str, port: int) -> bool:
        """Return True."""
        return True


def _unwrap(ip: Address) -> Address:
    """Return the IPv4 address that an IPv6 address embeds (mapped, 6to4 or NAT64); other addresses as they are."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
    return ip.ipv4_mapped or ip.sixtofour or ip


def _parse_entry(entry: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, int | None]:
    """Return the network and the port of an entry of the list; the port is None for `*`."""
    network, _, port = entry.strip().rpartition(":")
    try:
        if port != "*" and not 0 < int(port) < 65536:
            raise ValueError("no such port")
        return ipaddress.ip_network(network.strip("[]")), None if port == "*" else int(port)
    except ValueError as error:
        raise InvalidArgument(
            f"{entry!r} is no network with a port: write 10.1.0.0/16:8000, 127.0.0.0/8:* or [::1/128]:*."
        ) from error


def allowed_addresses() -> AddressGuard:
    """The guard for the addresses of OpenEnv's servers, as the environment variable says.

    Raises:
        UnknownEnvironment: if no server may be connected to.
    """
    check_that_servers_are_allowed()
    allowed = os.environ.get(ADDRESSES_VARIABLE)
    return UnrestrictedGuard() if allowed is None else AddressGuard(allowed.split())


def check_that_servers_are_allowed() -> None:
    """Check that the environment variable does not say that no server may be connected to.

    Raises:
        UnknownEnvironment: if it does.
    """
    if os.environ.get(ADDRESSES_VARIABLE, "").strip() == NO_ADDRESS:
        raise UnknownEnvironment("Environments of other servers are not played here. Play them on your own machine.")
