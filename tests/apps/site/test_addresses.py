"""Who gets what at every address. An address that is not in the table fails: decide who may see it, and add it."""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from tests.apps.site.addresses import FORMS, TABLE, addresses, requests
from tests.apps.site.api_addresses import ApiAddress
from tests.apps.site.objects import objects_of
from tests.apps.site.roles import OTHERS, ROLES, Address, Asker

pytestmark = pytest.mark.django_db


def test_every_address_is_in_the_table() -> None:
    assert set(addresses()) == set(TABLE)


def is_asked(role: str, address: Address, seen: set[Any]) -> bool:
    """Whether somebody of this role asks here.

    Nobody asks everywhere, and the owner at every address that is no operation of the API. Somebody else and staff ask
    where the answer may depend on who asks; what staff reads besides is read in `test_hidden_seeds.py`. People with an
    account ask the API with tokens, in `tests/apps/api/test_scopes.py`; here they ask one operation of each kind with a
    session.
    """
    if role == "nobody":
        return True
    if isinstance(address, ApiAddress):
        kind = (address.method, address.scope, address.answers, address.names_owned)
        is_first = kind not in seen
        seen.add(kind)
        return is_first
    return role == "the owner" or address.names_owned or address.depends_on_role


@pytest.mark.parametrize("role", ROLES)
def test_each_role_gets_its_answers(role: str, people: dict[str, User | None]) -> None:
    """The owner and staff ask about private objects, where more is refused to others.

    In each run one of the others asks about unlisted objects and the other one about public ones, which are all the
    same to them; what is private is asked for in `test_visibility.py`.
    """
    draw, seen = random.Random(os.environ["SHUFFLE"]), set[Any]()
    of_others = dict(zip(OTHERS, draw.sample(["public", "unlisted"], 2), strict=True))
    visibility = of_others.get(role, "private")
    objects, asker = objects_of(people, visibility), Asker(people[role])
    asked = [(name, address) for name, address in requests() if is_asked(role, address, seen)]
    assert len(asked) > 150
    answers = {(name, address.method): asker.status(name, address, objects) for name, address in asked}
    assert answers == {(name, address.method): address.status(role, visibility) for name, address in asked}


def test_no_method_of_an_address_is_missing(people: dict[str, User | None], objects: dict[str, Any]) -> None:
    client = Client(raise_request_exception=False)
    assert people["staff"] is not None
    client.force_login(people["staff"])
    assert set(FORMS) <= {name for name, address in TABLE.items() if not address.post}
    missing = []
    for name, address in TABLE.items():
        if name.startswith("api:"):
            continue  # operations share addresses; tests/apps/api/test_scopes.py compares them with the document
        path = reverse(name, args=[objects[part] for part in address.names])
        with transaction.atomic():
            answer = client.get(path) if address.post else client.post(path)
            transaction.set_rollback(True)
        if name not in FORMS and answer.status_code != 405:
            missing.append((name, answer.status_code))
    assert missing == []


def test_what_writes_is_never_a_get_and_never_without_a_token(
    objects: dict[str, Any], people: dict[str, User | None]
) -> None:
    writing = [(name, address) for name, address in requests() if address.post]
    assert len(writing) > 30
    guest, owner = Client(enforce_csrf_checks=True), Client(enforce_csrf_checks=True)
    owner.force_login(people["the owner"])  # type: ignore[arg-type]
    for name, address in writing:
        path = reverse(name, args=[objects[part] for part in address.names])
        client = owner if name.startswith("api:") else guest  # guests need no token, because they change nothing there
        refused = 401 if name.startswith("doors:") else 403  # protocols of other tools know tokens alone
        assert address.ask(client, path).status_code == refused, name
