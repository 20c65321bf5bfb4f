"""Making and revoking tokens on the account page and on the command line; the reference of the REST API."""

from __future__ import annotations

import io

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from apps.accounts import personal_data
from apps.accounts.models import User
from apps.api.models import ApiToken
from apps.api.root import api

pytestmark = pytest.mark.django_db
TOKENS = "/account/tokens/"


@pytest.fixture
def person(owner: User, client: Client) -> Client:
    client.force_login(owner)
    return client


def test_a_token_is_shown_once(person: Client) -> None:
    answer = person.post(TOKENS, {"name": "laptop", "scopes": ["play"], "days": "30"})
    secret = answer.context["secret"]
    assert secret.startswith("gw_")
    assert secret in answer.content.decode()
    assert secret not in person.get(TOKENS).content.decode()
    token = ApiToken.objects.get()
    assert (token.name, token.scopes) == ("laptop", ["read", "play"])
    assert token.expires is not None
    assert Client().get("/api/v1/account", headers={"Authorization": f"Bearer {secret}"}).status_code == 200


def test_the_account_page_loads_the_panel_and_htmx_gets_only_the_panel(person: Client) -> None:
    assert f'hx-get="{TOKENS}"' in person.get(reverse("accounts:account")).content.decode()
    part = person.get(TOKENS, headers={"HX-Request": "true"}).content.decode()
    assert part.strip().startswith("<section")
    refused = person.post(TOKENS, {"name": ""}, headers={"HX-Request": "true"})
    assert refused.status_code == 200  # htmx shows no other response
    assert "Give it a name" in refused.content.decode()


def test_whoever_is_logged_out_meanwhile_is_sent_to_the_login_and_back_to_the_page(client: Client) -> None:
    headers = {"HX-Request": "true", "HX-Current-URL": "http://testserver/account/"}
    answer = client.post(TOKENS, {"name": "laptop"}, headers=headers, follow=True)
    assert answer["HX-Redirect"] == "/account/login/?next=/account/"
    assert "<html" not in answer.content.decode(), "a page in the place of a panel"


@pytest.mark.parametrize(
    "entries",
    [{}, {"name": "x", "scopes": ["root"]}, {"name": "x", "days": "31"}, {"name": "\u202e"}, {"name": "a" * 81}],
)
def test_a_form_with_an_error_makes_nothing(person: Client, entries: dict[str, str | list[str]]) -> None:
    assert person.post(TOKENS, entries).status_code == 422
    assert not ApiToken.objects.exists()


def test_revoking_ends_a_token_of_ones_own_alone(person: Client, owner: User) -> None:
    person.post(TOKENS, {"name": "laptop"})
    token = ApiToken.objects.get()
    other = Client()
    other.force_login(User.objects.create_user("grace"))
    other.post(reverse("programs:revoke", args=[token.pk]))
    assert ApiToken.objects.exists()
    person.post(reverse("programs:revoke", args=[token.pk]))
    assert not ApiToken.objects.exists()


def test_the_command_prints_a_token_and_makes_the_account() -> None:
    out = io.StringIO()
    call_command("api_token", "lin", "--scope", "play", "--days", "7", stdout=out)
    secret = out.getvalue().strip()
    user = User.objects.get(username="lin")
    assert not user.has_usable_password()
    answer = Client().get("/api/v1/account", headers={"Authorization": f"Bearer {secret}"}).json()
    assert (answer["name"], answer["token"]["scopes"]) == ("lin", ["read", "play"])
    call_command("api_token", "LIN", stdout=out)
    assert User.objects.filter(username__iexact="lin").count() == 1


@pytest.mark.parametrize("name", ["admin", "a b", "x" * 41, ""])
def test_the_command_refuses_names_that_nobody_may_have(name: str) -> None:
    with pytest.raises(CommandError, match="none can be created"):
        call_command("api_token", name)


def test_the_command_makes_no_token_of_a_closed_account(owner: User) -> None:
    personal_data.close(owner)
    with pytest.raises(CommandError, match="closed or disabled"):
        call_command("api_token", owner.username)


def test_the_reference_has_every_operation_and_field(client: Client) -> None:
    page = client.get(reverse("programs:rest")).content.decode()
    document = api.get_openapi_schema()
    for path, methods in document["paths"].items():
        for method, details in methods.items():
            assert f"{method.upper()} {path}" in page
            assert f'id="{details["operationId"]}"' in page
            assert details["summary"]
    assert client.get(reverse("api:openapi-json")).json()["openapi"] == "3.1.0"
