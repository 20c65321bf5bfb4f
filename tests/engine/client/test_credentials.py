"""Which server and token a program uses, and how they are kept."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gem.errors import UsageError
from gem.net import credentials
from gem.net.credentials import Login, find_login, forget, normalize, sends_in_clear, store, stored_login, token_of

SITE, OTHER = "https://gemweb.example.org", "http://127.0.0.1:8123"


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    for name in ("GEMWEB_URL", "GEMWEB_TOKEN"):
        monkeypatch.delenv(name, raising=False)


def test_without_anything_it_is_the_site_of_this_machine() -> None:
    assert find_login() == Login("http://127.0.0.1:8000", "")


def test_each_server_keeps_its_token_and_the_last_one_is_used() -> None:
    store(Login(SITE, "gw_a"))
    path = store(Login(OTHER, "gw_b"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert find_login() == Login(OTHER, "gw_b")
    assert find_login(SITE) == Login(SITE, "gw_a")
    assert forget(OTHER)
    assert not forget(OTHER)
    assert stored_login() == Login(SITE, "gw_a")
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_what_is_given_comes_first_then_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    store(Login(SITE, "gw_stored"))
    monkeypatch.setenv("GEMWEB_TOKEN", "gw_environment")
    assert find_login() == Login(SITE, "gw_environment")
    monkeypatch.setenv("GEMWEB_URL", OTHER)
    assert find_login() == Login(OTHER, "gw_environment")
    assert find_login(token="gw_given") == Login(OTHER, "gw_given")
    assert find_login(token="") == Login(OTHER, "")


def test_a_server_has_its_own_token(monkeypatch: pytest.MonkeyPatch) -> None:
    store(Login(SITE, "gw_stored"))
    store(Login(f"{SITE}/lab", "gw_lab"))
    monkeypatch.setenv("GEMWEB_TOKEN", "gw_environment")
    assert [token_of(url) for url in (SITE, f"{SITE}/lab")] == ["gw_stored", "gw_lab"]
    assert [token_of(url) for url in (f"{SITE}.evil.example", OTHER)] == ["", ""]
    monkeypatch.setenv("GEMWEB_URL", f"{SITE}/api/v1")
    assert token_of(SITE) == "gw_environment"


@pytest.mark.parametrize("read", ["gw_a\n", " gw_a\r\n", "gw_a"])
def test_a_token_from_a_file_is_used_without_the_end_of_its_line(read: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMWEB_TOKEN", read)
    assert find_login().token == "gw_a"
    assert find_login(SITE, read).token == "gw_a"


@pytest.mark.parametrize("no_token", ["gw_é", "gw a", "gw_a\nX-Other: 1", "gw_\x00"])
def test_what_cannot_be_sent_is_no_token(no_token: str) -> None:
    with pytest.raises(UsageError, match="not a token"):
        find_login(SITE, no_token)


def test_a_token_is_not_sent_to_another_server_than_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    store(Login(SITE, "gw_stored"))
    monkeypatch.setenv("GEMWEB_URL", OTHER)
    monkeypatch.setenv("GEMWEB_TOKEN", "gw_environment")
    assert find_login(SITE) == Login(SITE, "gw_stored")
    assert find_login("https://elsewhere.example.org") == Login("https://elsewhere.example.org", "")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (f"{SITE}/", SITE),
        (f" {SITE}/api/v1/ ", SITE),
        ("gemweb.example.org", SITE),
        ("127.0.0.1:8000", "http://127.0.0.1:8000"),
        ("localhost:8000", "http://localhost:8000"),
        ("[::1]:8000", "http://[::1]:8000"),
        ("https://example.org/gemweb/", "https://example.org/gemweb"),
    ],
)
def test_an_address_has_one_form(written: str, meant: str) -> None:
    assert normalize(written) == meant


@pytest.mark.parametrize(
    "url", ["ftp://x", "http://", "http://a:b@x", "https://x?y=1", "http://x:99999", "http://[::1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError):
        normalize(url)


def test_a_token_in_clear_is_noticed() -> None:
    assert sends_in_clear("http://gemweb.example.org")
    assert not any(map(sends_in_clear, (SITE, OTHER, "http://localhost:1", "http://[::1]:8000")))


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = credentials.credentials_path()
    path.parent.mkdir(parents=True)
    path.write_text("{", "utf-8")
    with pytest.raises(UsageError, match="is damaged"):
        find_login()
    path.unlink()
    path.mkdir()
    with pytest.raises(UsageError, match="cannot be read"):
        find_login()
