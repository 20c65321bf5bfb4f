"""Which pages may open a socket: those of this site, by scheme, host and port."""

from __future__ import annotations

import pytest
from pytest_django.fixtures import Settings

from apps.live.origin import is_own_origin


@pytest.fixture(autouse=True)
def site(settings: Settings) -> None:
    """A site with a name, and another origin that it trusts."""
    settings.ALLOWED_HOSTS = ["gem.example.org", "127.0.0.1", "[::1]"]
    settings.CSRF_TRUSTED_ORIGINS = ["https://lab.example.org:8443", "https://*.gem.example.net"]


@pytest.mark.parametrize(
    ("origin", "host", "is_secure"),
    [
        ("https://gem.example.org", "gem.example.org", True),
        ("http://127.0.0.1:8000", "127.0.0.1:8000", False),
        ("http://[::1]:8000", "[::1]:8000", False),
        ("https://lab.example.org:8443", "gem.example.org", True),
        ("https://one.gem.example.net", "gem.example.org", True),
    ],
)
def test_a_page_of_this_site_may(origin: str, host: str, is_secure: bool) -> None:
    assert is_own_origin(origin, host, is_secure=is_secure)


@pytest.mark.parametrize(
    "origin",
    [
        "",
        "null",
        "http://gem.example.org",
        "https://gem.example.org:8443",
        "https://gem.example.org.evil.example",
        "https://gem.example.org@evil.example",
        "ftp://gem.example.org",
        "chrome-extension://gem.example.org",
        "https://lab.example.org",
        "http://one.gem.example.net",
        "https://one.gem.example.net:444",
        "https://evil.example",
        "https://[",
    ],
)
def test_no_other_scheme_host_or_port_may(origin: str) -> None:
    assert not is_own_origin(origin, "gem.example.org", is_secure=True)


def test_a_host_that_is_not_allowed_proves_nothing() -> None:
    assert not is_own_origin("https://evil.example", "evil.example", is_secure=True)
