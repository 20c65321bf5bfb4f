"""Limits by address count networks: a /64 of IPv6 is one address, and IPv4 written as IPv6 is IPv4."""

from __future__ import annotations

import uuid

import pytest
from django.test import Client, RequestFactory

from apps.accounts import visitors
from apps.accounts.models import User
from apps.live.consumers import _socket_limit
from apps.live.publisher import client as valkey
from apps.live.session_user import identify
from apps.networks import network_of
from apps.play.operations import begin
from tests.networks import fresh_address


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("198.51.100.7", "198.51.100.7/32"),
        ("::ffff:198.51.100.7", "198.51.100.7/32"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("", ""),
        ("198.51.100.7:80", "198.51.100.7:80"),
        ("no\0address", "no\0address"),
    ],
)
def test_the_network_of_an_address(address: str, network: str) -> None:
    assert network_of(address) == network
    request = RequestFactory().get("/", REMOTE_ADDR=address)
    request.user = identify("").viewer
    assert len(visitors.address(request)) == 32
    assert _socket_limit(identify(""), {"client": (address, 1)})[0] == f"network {network}"


@pytest.mark.django_db
def test_every_limit_by_address_counts_the_network() -> None:
    address = fresh_address()
    client, episode = Client(REMOTE_ADDR=address), _episode()
    client.post("/account/login/", {"username": "nobody", "password": "wrong"})
    client.post(f"/reports/report/episode/{episode}/", {"reason": "It shows a secret."})
    client.post("/play/new/", {"env_id": "game:GuessTheNumber-v0-easy"})
    client.post("/account/signup/", {"username": uuid.uuid4().hex, "password": "correct horse battery"})
    assert {"login", "report", "start", "signup"} <= kinds_of_buckets(network_of(address))
    assert kinds_of_buckets(address) == set()


def kinds_of_buckets(place: str) -> set[str]:
    """The kinds of limits that have counted this address or network."""
    keys = valkey().scan_iter(f"limit:*:from:*{place}*", count=10_000)
    return {key.decode().split(":")[1] for key in keys}


def _episode() -> str:
    owner = User.objects.create_user(uuid.uuid4().hex)
    return begin("game:GuessTheNumber-v0-easy", seed=1, visibility="public", user=owner, visitor="").pk
