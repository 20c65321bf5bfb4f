"""schemathesis sends to every operation of the OpenAPI document what its schema allows, and what it does not allow.

Whatever is sent, no answer is an error of the site, and every answer has the form that the document promises.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, transaction
from hypothesis import HealthCheck, given, settings

from apps.accounts.models import User
from apps.api import operations
from apps.api.models import Scope
from tests.apps.site.objects import objects_of, some_people

pytestmark = pytest.mark.django_db
QUICK, LONG = 1, 20
"""Requests to each operation."""
KINDS = {"agents": "agent", "uploads": "upload", "trainings": "training", "jobs": "job", "leaderboard": "benchmark"}


@pytest.fixture
def world() -> Iterator[tuple[Any, dict[str, Any], str]]:
    """The document, the objects of somebody, and a token of theirs."""
    import schemathesis  # here, because every process of a run reads this file, and one runs it

    people = some_people()
    owner = people["the owner"]
    assert isinstance(owner, User)
    objects = objects_of(people)
    _, secret = operations.make_token(owner, "schemathesis", Scope.values)
    signals = (request_started, request_finished)
    for signal in signals:  # as Django's test client does: the connection of the test stays open
        signal.disconnect(close_old_connections)
    yield schemathesis.openapi.from_wsgi("/api/v1/openapi.json", WSGIHandler()), objects, secret
    for signal in signals:
        signal.connect(close_old_connections)


def checks() -> list[Any]:
    """What every answer is held to.

    Not whether every value that the schema allows is accepted: it may name something that does not exist.
    """
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks as of_openapi

    return [
        not_a_server_error,
        of_openapi.status_code_conformance,
        of_openapi.content_type_conformance,
        of_openapi.response_headers_conformance,
        of_openapi.response_schema_conformance,
    ]


def send_to_every_operation(world: tuple[Any, dict[str, Any], str], requests: int, *, real: bool) -> list[str]:
    """Send so many requests to each operation; with `real`, about objects that exist. Returns what was found."""
    from schemathesis.core.failures import FailureGroup

    schema, objects, secret = world
    found = []
    all_operations = [result.ok() for result in schema.get_all_operations()]
    for operation in all_operations:
        resource = operation.path.split("/")[3]
        names = {
            "env_id": objects["env_id"],
            "slug": objects[KINDS.get(resource, "agent")],
            "episode_id": objects["episode"],
            "duel_id": objects["duel"],
            "job_id": objects[KINDS.get(resource, "job")],
            "name": objects["benchmark"],
            "score_id": objects["score"],
            "number": 1,
            "signature": "nobody-was-sent-this",
            "kind": "episode",
            "table": "episodes",
            "form": "csv",
            "key": objects["episode"],
            "slot": 1,
            "truth_id": "1",
            "webhook_id": objects["webhook"],
            "challenge_id": objects["challenge"],
            "row_id": objects["reported"],
            "training_id": objects["outside"],
            "study_id": objects["started"],
            "evaluation_id": objects["reported_evaluation"],
            "delivery_id": objects["delivery"],
        }
        try:
            send_to(operation, names if real else {}, requests, secret)
        except FailureGroup as failures:
            found.append(f"{operation.label}: {failures}")
    assert len(all_operations) > 60
    return found


def send_to(operation: Any, names: dict[str, Any], requests: int, secret: str) -> None:
    """Send so many requests to one operation. `names` fill in its address."""

    @settings(
        max_examples=requests,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        if names and case.path_parameters:
            case.path_parameters = {name: names[name] for name in case.path_parameters}
        with transaction.atomic():
            answer = case.call(headers={"Authorization": f"Bearer {secret}", "Accept-Encoding": "identity"})
            case.validate_response(answer, checks=checks())
            transaction.set_rollback(True)

    send()


def test_every_operation_keeps_what_its_schema_promises(world: tuple[Any, dict[str, Any], str]) -> None:
    assert send_to_every_operation(world, QUICK, real=True) == []


@pytest.mark.long
@pytest.mark.parametrize("real", [True, False])
def test_schemathesis_finds_nothing(world: tuple[Any, dict[str, Any], str], real: bool) -> None:
    assert send_to_every_operation(world, LONG, real=real) == []
