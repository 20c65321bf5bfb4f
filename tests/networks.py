"""Addresses for clients of tests: limits by address count a network, so each test takes one of its own."""

from __future__ import annotations

import secrets
from ipaddress import IPv6Address


def fresh_address() -> str:
    """An IPv6 address in a network from which no request has come yet."""
    groups = [secrets.token_hex(2) for _ in range(6)]
    return str(IPv6Address(":".join(["2001", "db8", *groups])))
