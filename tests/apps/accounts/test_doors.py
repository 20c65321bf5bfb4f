"""Accounts without a browser: names, links, locks, and where logging in leads."""

import html
import re
import secrets
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, transaction
from django.test import Client
from pytest_django import Settings

from apps.accounts import operations
from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.live.publisher import client as redis_client

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def nobody_has_tried() -> None:
    """Fill the buckets of all attempts to log in."""
    valkey = redis_client()
    for key in valkey.scan_iter("limit:login:*"):
        valkey.delete(key)


@pytest.fixture
def link(settings: Settings) -> str:
    """A fresh login link's path."""
    settings.LOCAL_MODE = True
    out = StringIO()
    call_command("login_link", base="http://127.0.0.1:8000/", stdout=out)
    found = re.search(r"http://127\.0\.0\.1:8000(/account/link/\S+)", out.getvalue())
    assert found is not None
    return found[1]


def test_the_link_makes_the_administrator_and_works_once(client: Client, link: str) -> None:
    assert client.get(link).status_code == 200
    assert not User.objects.filter(username="admin").exists()
    assert client.post(link).status_code == 302
    admin = User.objects.get(username="admin")
    assert admin.is_superuser
    assert not admin.has_usable_password()
    assert Client().post(link).status_code == 403


def test_using_a_link_makes_earlier_ones_worthless(client: Client, link: str) -> None:
    later = operations.make_login_link()
    assert client.post(f"/account/link/{later}/").status_code == 302
    assert Client().post(link).status_code == 403


def test_an_old_link_is_refused(client: Client, link: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "LINK_LIFETIME", timedelta(seconds=-1))
    assert client.post(link).status_code == 403
    assert not User.objects.filter(username="admin").exists()


@pytest.mark.parametrize("why", ["forged", "old", "used"])
def test_a_link_that_does_not_work_says_so_before_anybody_presses(
    client: Client, link: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why == "old":
        monkeypatch.setattr(operations, "LINK_LIFETIME", timedelta(seconds=-1))
    if why == "used":
        Client().post(link)
    answer = client.get(link[:-6] + "aaaaa/" if why == "forged" else link)
    assert answer.status_code == 403
    assert "This link no longer works" in answer.content.decode()


def test_a_link_that_does_not_work_names_the_command_that_prints_one_of_this_stack(
    client: Client, link: str, settings: Settings
) -> None:
    settings.PORT, settings.STATE_DIR = 8123, "/srv/my state"
    page = html.unescape(client.get(link[:-6] + "aaaaa/").content.decode())
    assert "PORT=8123 STATE_DIR='/srv/my state' .venv/bin/python -m gemweb.local.manage login_link" in page
    out = StringIO()
    call_command("login_link", stdout=out)
    assert out.getvalue().startswith("http://127.0.0.1:8123/account/link/")


def test_a_forged_link_is_refused(client: Client, link: str) -> None:
    assert client.post(link[:-6] + "aaaaa/").status_code == 403


def test_links_are_for_this_machine_only(client: Client, link: str, settings: Settings) -> None:
    assert client.get(link, REMOTE_ADDR="203.0.113.9").status_code == 404
    settings.LOCAL_MODE = False
    assert client.get(link).status_code == 404
    with pytest.raises(CommandError, match="LOCAL_MODE"):
        call_command("login_link")


def test_names_that_differ_in_case_are_one(client: Client) -> None:
    User.objects.create_user("Ada", password=PASSWORD)
    answer = client.post("/account/signup/", {"username": "aDa", "password": PASSWORD})
    assert "This name is taken" in answer.content.decode()
    with pytest.raises(IntegrityError), transaction.atomic():
        User.objects.create_user("ADA")
    assert client.post("/account/login/", {"username": "ada", "password": PASSWORD}).status_code == 302


@pytest.mark.parametrize("name", ["admin", "Expert", "human", "a b", "ä", "<b>", "x" * 41, "", "\0", "a\nb"])
def test_some_names_are_refused(client: Client, name: str) -> None:
    answer = client.post("/account/signup/", {"username": name, "password": PASSWORD})
    assert answer.status_code == 200
    assert 'aria-invalid="true"' in answer.content.decode()
    assert User.objects.count() == 0


@pytest.mark.parametrize("password", ["short", "password123", "ada-lovelace", "", "x" * 201, "\0" * 12])
def test_some_passwords_are_refused(client: Client, password: str) -> None:
    answer = client.post("/account/signup/", {"username": "ada-lovelace", "password": password})
    assert answer.status_code == 200
    assert User.objects.count() == 0


@pytest.mark.parametrize(
    ("wanted", "leads_to"),
    [
        ("/jobs/", "/jobs/"),
        ("https://example.com/", "/"),
        ("//example.com/", "/"),
        ("/\\example.com", "/"),
        ("javascript:alert(1)", "/"),
        ("", "/"),
    ],
)
def test_logging_in_leads_to_pages_of_this_site_only(client: Client, wanted: str, leads_to: str) -> None:
    User.objects.create_user("ada", password=PASSWORD)
    answer = client.post("/account/login/", {"username": "ada", "password": PASSWORD, "next": wanted})
    assert answer["Location"] == leads_to


def test_logging_out_is_a_post(client: Client) -> None:
    client.force_login(User.objects.create_user("ada"))
    assert client.get("/account/logout/").status_code == 405
    assert client.post("/account/logout/").status_code == 302
    assert client.get("/account/").status_code == 302


def test_what_a_visitor_played_follows_them(client: Client) -> None:
    client.post("/begin/", {"env_id": "game:GuessTheNumber-v0-easy", "seed": "1"})
    client.post("/account/signup/", {"username": "ada", "password": PASSWORD})
    seat = Episode.objects.get().seats.get()
    assert seat.user == User.objects.get(username="ada")


def test_a_new_password_keeps_this_browser_and_drops_the_others(client: Client) -> None:
    user = User.objects.create_user("ada", password=PASSWORD)
    other = Client()
    client.force_login(user)
    other.force_login(user)
    client.post("/account/", {"old": PASSWORD, "new": "another horse altogether"})
    assert client.get("/account/").status_code == 200
    assert other.get("/account/").status_code == 302


def test_an_address_that_makes_many_accounts_is_told_when_to_come_back(settings: Settings) -> None:
    settings.SIGNUPS_PER_HOUR = 2
    address = {"REMOTE_ADDR": f"198.51.100.{secrets.randbelow(256)}"}
    redis_client().delete(f"limit:signup:from:{address['REMOTE_ADDR']}/32")
    for name in ("ada", "bob"):
        assert Client().post("/account/signup/", {"username": name, "password": PASSWORD}, **address).status_code == 302
    person = Client()
    answer = person.post("/account/signup/", {"username": "eve", "password": PASSWORD}, **address)
    assert answer.status_code == 429
    assert 1700 < int(answer["Retry-After"]) <= 1800
    page = answer.content.decode()
    assert "At most 2 accounts an hour can be created from one IP address" in page
    assert "Try again in 30 minutes" in page
    assert 'value="eve"' in page, "what was typed is still there"
    assert not User.objects.filter(username="eve").exists()
    elsewhere = {"REMOTE_ADDR": "203.0.113.77"}
    assert person.post("/account/signup/", {"username": "eve", "password": PASSWORD}, **elsewhere).status_code == 302


def test_the_old_password_cannot_be_tried_for_ever(client: Client, settings: Settings) -> None:
    settings.PASSWORD_CHANGES_PER_HOUR = 3
    user = User.objects.create_user("ada", password=PASSWORD)
    redis_client().delete(f"limit:password:of:{user.pk}")
    client.force_login(user)
    for _ in range(3):
        answer = client.post("/account/", {"old": "a wrong guess", "new": "another long password"})
        assert "This is not your current password" in answer.content.decode()
    answer = client.post("/account/", {"old": PASSWORD, "new": "another long password"})
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
    assert "Nothing was changed" in answer.content.decode()
    user.refresh_from_db()
    assert user.check_password(PASSWORD)
