"""What each token may do: the table of addresses, by role and by scope."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.api import operations
from apps.api.models import Scope
from apps.api.root import api
from tests.apps.site.api_addresses import API_TABLE, ApiAddress
from tests.apps.site.objects import objects_of, some_people

pytestmark = pytest.mark.django_db
TABLE = {name: address for name, address in API_TABLE.items() if isinstance(address, ApiAddress)}


def answered(client: Client, address: ApiAddress, name: str, objects: dict[str, Any], secret: str) -> Any:
    """What a program with this token is answered; nothing stays of the request."""
    path = reverse(name, args=[objects[part] for part in address.names])
    headers = {"Authorization": f"Bearer {secret}"} if secret else {}
    client.cookies.clear()
    with transaction.atomic():
        answer = address.ask(client, path, **headers)
        transaction.set_rollback(True)
    return answer


@pytest.mark.parametrize(("role", "visibility"), [("somebody else", "unlisted"), ("staff", "private")])
def test_tokens_open_to_each_role_what_the_table_says(role: str, visibility: str, client: Client) -> None:
    """Sessions do so too (`tests/apps/site/test_addresses.py`), and guests have no token."""
    people = some_people()
    objects = objects_of(people, visibility)
    secret = _token(people[role], Scope.values)
    statuses = {name: answered(client, address, name, objects, secret).status_code for name, address in TABLE.items()}
    assert statuses == {name: address.status(role, visibility) for name, address in TABLE.items()}


def test_a_token_may_do_what_its_scopes_say_and_nothing_else(client: Client) -> None:
    people = some_people()
    objects = objects_of(people, "private")
    owner = people["the owner"]
    alone = {scope: _token(owner, [scope]) for scope in Scope.values}
    others = {scope: _token(owner, [other for other in Scope.values if other != scope]) for scope in Scope.values}
    for name, address in TABLE.items():
        secret = alone[address.scope or Scope.READ]
        assert answered(client, address, name, objects, secret).status_code == address.status("the owner"), name
        if address.scope not in ("", Scope.READ):  # every token may read
            refused = answered(client, address, name, objects, others[address.scope])
            assert refused.status_code == 403, name
            assert f"no scope {address.scope}" in refused.json()["detail"]


def _token(person: User | None, scopes: list[str]) -> str:
    return "" if person is None else operations.make_token(person, "program", scopes)[1]


def test_the_document_names_the_scope_that_each_operation_needs() -> None:
    document = api.get_openapi_schema()
    operations_by_name = {
        f"api:{details['operationId']}": details
        for methods in document["paths"].values()
        for details in methods.values()
    }
    for name, details in operations_by_name.items():
        address = API_TABLE[name]
        assert isinstance(address, ApiAddress)
        expected = [{"Bearer": [address.scope]}] if address.scope else [{}, {"Bearer": []}]
        assert details["security"] == expected, name
    assert len(TABLE) == len(API_TABLE)
    assert set(API_TABLE) - set(operations_by_name) == {"api:openapi-json", "api:api-root"}
