"""The network that limits by address count: whoever has one IPv6 address has a whole network of them."""

from __future__ import annotations

import ipaddress

_IPV6_BITS = 64


def network_of(address: str) -> str:
    """The network of an IP address: the address itself with IPv4, also if it is written as IPv6; else its /64 network.

    What is no IP address, such as the empty address behind a Unix socket, stays as it is.
    """
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ip
    bits = _IPV6_BITS if ip.version == 6 else ip.max_prefixlen
    return str(ipaddress.ip_network(f"{ip}/{bits}", strict=False))
