"""Which addresses are asked: none inside, whatever name or spelling leads there."""

from __future__ import annotations

import socket
from typing import Any

import pytest

from gem.errors import InvalidArgument
from gem.net.http import (
    AddressBlocked,
    AddressGuard,
    GuardedClient,
    ServerUnreachable,
    UnrestrictedGuard,
    check_url,
    origin,
)
from tests.model_server import ModelServer

INSIDE = [
    "127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
    "255.255.255.255", "240.0.0.1", "198.18.0.1", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "::ffff:127.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b:1::1", "::ffff:0:7f00:1", "2001::1", "192.0.0.8", "192.88.99.1", "2002:7f00:1::",
    "2001:db8::1", "fe80::1%eth0", "fec0::1", "::127.0.0.1", "5f00::1", "2001:0:7f00:1::", "3fff::1", "3fff:fff::1",
    "192.31.196.1", "192.52.193.9", "192.175.48.6", "2620:4f:8000::1", "::ffff:192.31.196.1", "2002:c034:c101::",
]  # fmt: skip
OUTSIDE = ["8.8.8.8", "1.1.1.1", "2606:4700:4700::1111", "64:ff9b::808:808", "::ffff:8.8.8.8"]


@pytest.mark.parametrize("address", INSIDE)
def test_addresses_inside_are_blocked(address: str) -> None:
    assert not AddressGuard().allows(address, 443)
    assert UnrestrictedGuard().allows(address, 443)


@pytest.mark.parametrize("address", OUTSIDE)
def test_global_addresses_are_allowed(address: str) -> None:
    assert AddressGuard().allows(address, 443)


def test_the_list_allows_a_network_on_a_port_or_on_all() -> None:
    guard = AddressGuard(["10.1.0.0/16:8000", "[fd00::/8]:*", "127.0.0.1/32:*"])
    assert guard.allows("10.1.2.3", 8000)
    assert not guard.allows("10.1.2.3", 8001)
    assert not guard.allows("10.2.2.3", 8000)
    assert guard.allows("fd12::1", 1)
    assert guard.allows("::ffff:127.0.0.1", 9)
    assert not guard.allows("127.0.0.2", 9)


@pytest.mark.parametrize("entry", ["10.0.0.0/8", "10.0.0.0/8:", "10.0.0.1/8:80", "x:80", "10.0.0.0/8:0", "::1:*x"])
def test_an_entry_that_cannot_be_read_is_refused(entry: str) -> None:
    with pytest.raises(InvalidArgument, match="is no network with a port"):
        AddressGuard([entry])


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"])
async def test_no_spelling_of_loopback_is_connected_to(server: ModelServer, host: str) -> None:
    port = server.server_address[1]
    async with GuardedClient(AddressGuard()) as client:
        with pytest.raises(AddressBlocked, match="does not have a public address"):
            await fetch(client, f"http://{host}:{port}/v1/chat/completions")
    assert server.requests == []


async def test_a_name_with_one_address_inside_is_blocked_and_the_checked_address_is_the_one_connected_to(
    server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name server that answers differently every time gets one question."""
    asked = []
    answers = [["8.8.8.8", "127.0.0.1"], ["127.0.0.1"], ["10.0.0.1"]]

    def resolve(host: str, port: int, *_: Any, **__: Any) -> list[tuple[Any, ...]]:
        asked.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, port)) for ip in answers.pop(0)]

    port = server.server_address[1]
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    async with GuardedClient(AddressGuard()) as client:
        with pytest.raises(AddressBlocked):
            await fetch(client, f"http://rebinding.example:{port}/")
    async with GuardedClient(AddressGuard(["127.0.0.1/32:*"])) as client:
        assert await fetch(client, f"http://rebinding.example:{port}/v1/other") == 404
    assert asked == ["rebinding.example"] * 2
    assert server.headers_seen[0]["host"] == f"rebinding.example:{port}"


async def test_proxies_of_the_environment_are_not_asked(server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    async with GuardedClient(AddressGuard(["127.0.0.0/8:*"])) as client:
        assert await fetch(client, f"{server.url}/other") == 404


async def test_a_name_that_does_not_exist_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: Any, **__: Any) -> list[Any]:
        raise socket.gaierror("no such name")

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    async with GuardedClient(AddressGuard()) as client:
        with pytest.raises(ServerUnreachable, match="The name of the server cannot be found"):
            await fetch(client, "http://nowhere.example/")


@pytest.mark.parametrize(("given", "sent"), [
    (" http://127.0.0.1:8000/v1/ ", "http://127.0.0.1:8000/v1"), ("https://api.example.org/v1", "https://api.example.org/v1"),
    ("http://[::1]:80/v1", "http://[::1]:80/v1"), ("https://BÜCHER.example/v1", "https://xn--bcher-kva.example/v1"),
])  # fmt: skip
def test_an_address_is_written_as_it_can_be_sent(given: str, sent: str) -> None:
    assert check_url(given) == sent


@pytest.mark.parametrize("url", [
    "ftp://x/v1", "x/v1", "http://", "http://user:pw@x/v1", "http://x/v1?key=1", "http://x/v1#a", "http://x:99999/v1",
    "http://x/v 1", "http://x/\x00", "file:///etc/passwd", "http://[::1/v1", "javascript:alert(1)",
])  # fmt: skip
def test_an_address_that_cannot_be_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument):
        check_url(url)


def test_the_origin_is_what_a_key_belongs_to() -> None:
    assert origin("https://a.example/v1") == origin("https://a.example:443/v2") == "https://a.example:443"
    assert origin("http://a.example/v1") != origin("https://a.example/v1")
    assert origin("http://[::1]:8/v1") == "http://[::1]:8"


async def fetch(client: GuardedClient, url: str) -> int:
    headers = {"Content-Type": "application/json"}
    content = b'{"model": "bisect", "messages": []}'
    async with client.send("POST", url, headers, content, timeout_seconds=5, max_bytes=10_000) as response:
        async for _ in response.body:
            pass
        return response.status
