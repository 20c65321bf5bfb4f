"""Where sign-ups are not open, it takes an invitation to create an account."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.accounts import invitations
from apps.accounts.models import User

pytestmark = pytest.mark.django_db

PERSON = {"username": "invited", "password": "correct horse battery"}


@pytest.fixture(autouse=True)
def by_invitation(settings: Settings) -> None:
    settings.OPEN_SIGNUPS = False


def printed(**options: object) -> str:
    """The path of the link that the command prints."""
    out = StringIO()
    call_command("invitation", base="https://gem.example.org/", stdout=out, **options)
    start, path = out.getvalue().strip().split("https://gem.example.org")
    assert not start
    return path


def test_without_an_invitation_nobody_creates_an_account(client: Client) -> None:
    for answer in (client.get("/account/signup/"), client.post("/account/signup/", PERSON)):
        assert answer.status_code == 403
        assert "Ask whoever runs this site for a link" in answer.text
        assert "expired" not in answer.text
    assert not User.objects.filter(username="invited").exists()
    assert "by invitation" in client.get("/account/login/").text
    assert 'href="/account/signup/' not in client.get("/account/login/").text


def test_the_link_is_for_everybody_who_has_it(client: Client) -> None:
    link = printed()
    page = client.get(link)
    token = page.context["invitation"]
    assert f'name="invitation" value="{token}"' in page.text
    wrong = client.post("/account/signup/", {**PERSON, "password": "short", "invitation": token})
    assert wrong.status_code == 200
    assert f'name="invitation" value="{token}"' in wrong.text, "the invitation is not lost with a mistake"
    assert client.post("/account/signup/", {**PERSON, "invitation": token}).status_code == 302
    assert Client().post(link, {**PERSON, "username": "another"}).status_code == 302
    assert User.objects.filter(username__in=["invited", "another"]).count() == 2


def test_a_link_that_expired_or_was_cut_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    link, now = printed(days=2), timezone.now()
    assert "expired" in client.get(link[:-3]).text
    monkeypatch.setattr(invitations.timezone, "now", lambda: now + timedelta(days=1.9))
    assert client.get(link).status_code == 200
    monkeypatch.setattr(invitations.timezone, "now", lambda: now + timedelta(days=2.1))
    assert client.get(link).status_code == 403
    assert client.post(link, PERSON).status_code == 403
    assert not User.objects.filter(username="invited").exists()


def test_where_sign_ups_are_open_nobody_needs_one(client: Client, settings: Settings) -> None:
    settings.OPEN_SIGNUPS = True
    said = StringIO()
    call_command("invitation", stdout=StringIO(), stderr=said)
    assert "nobody needs a link" in said.getvalue()
    assert 'href="/account/signup/' in client.get("/account/login/").text
    assert client.post("/account/signup/", PERSON).status_code == 302


def test_how_long_it_works_has_limits() -> None:
    with pytest.raises(CommandError, match="from 1 to 366"):
        call_command("invitation", days=0)
