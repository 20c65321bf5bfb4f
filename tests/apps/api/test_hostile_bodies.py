"""Hostile values in every field of every body: none of them is an error of the site."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import transaction
from django.urls import reverse

from tests.apps.site.api_addresses import API_TABLE, ApiAddress
from tests.apps.site.objects import objects_of, some_people

pytestmark = [pytest.mark.django_db, pytest.mark.long]
VALUES: tuple[Any, ...] = (
    None,
    "",
    "a" * 10_000,
    "\u202egnp.exe",
    "\x01",
    -1,
    2**63,
    10**400,
    0.1,
    True,
    [],
    {},
    [[]],
    {"a": {"b": ["c"]}},
    "'; DROP TABLE episodes_episode; --",
    "../../etc/passwd",
)


def variants(body: Any) -> Iterator[Any]:
    """The body with each of its parts replaced by each value, and the values themselves."""
    yield from VALUES
    if isinstance(body, dict):
        for name, part in body.items():
            yield from ({**body, name: variant} for variant in variants(part))
            yield {key: value for key, value in body.items() if key != name}
        yield {**body, "unknown": 1}
    elif isinstance(body, list):
        yield from ([variant] for part in body[:1] or [None] for variant in variants(part))


def test_no_body_is_an_error_of_the_site(program_of: Any) -> None:
    people = some_people()
    objects, program = objects_of(people), program_of(people["the owner"])
    logging.disable(logging.CRITICAL)
    failures, count = [], 0
    for name, address in API_TABLE.items():
        assert isinstance(address, ApiAddress)
        if not address.body:
            continue
        path = reverse(name, args=[objects[part] for part in address.names]).removeprefix("/api/v1/")
        for body in variants(address.body):
            with transaction.atomic():
                answer = program.send(address.method, path, json.dumps(body).encode())
                transaction.set_rollback(True)
            count += 1
            if answer.status_code >= 500:
                failures.append(f"{name} {json.dumps(body)[:200]}: {answer.exc_info and answer.exc_info[1]!r:.300}")
    logging.disable(logging.NOTSET)
    assert failures == []
    assert count > 500
