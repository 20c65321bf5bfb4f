"""Webhooks through the API: everything that their pages do, for programs of their owner alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from pytest_django import Settings

from apps.accounts.models import User
from apps.api import operations as tokens
from apps.api.models import IdempotentRequest, Scope
from apps.jobs.models import Job
from apps.webhooks import collecting, sending
from apps.webhooks.models import Delivery, Webhook
from gem.client import events
from tests.apps.api.conftest import Program
from tests.apps.webhooks.receivers import answering, receiver
from tests.apps.webhooks.test_webhooks import cancelled

pytestmark = pytest.mark.django_db
OK = answering("204 No Content")
Submit = Callable[..., Job]


def program_of(person: User, *scopes: str) -> Program:
    _, secret = tokens.make_token(person, "program", scopes or Scope.values)
    return Program(secret)


@pytest.fixture
def program(ada: User) -> Program:
    return program_of(ada)


def make(program: Program, url: str, **more: Any) -> int:
    answer = program.post("webhooks", {"url": url, **more})
    assert answer.status_code == 201, answer.content
    return int(answer.json()["webhook"]["id"])


def test_a_webhook_is_added_changed_and_deleted(program: Program) -> None:
    made = program.post("webhooks", {"url": "HTTPS://example.org/hook?a=b"}).json()
    assert made["secret"].startswith("whsec_")
    assert (made["webhook"]["url"], made["webhook"]["events"]) == (
        "https://example.org/hook?a=b", ["job.ended", "training.ended"],
    )  # fmt: skip
    key = made["webhook"]["id"]
    changed = program.send("PATCH", f"webhooks/{key}", {"events": ["episode.ended", "job.ended"], "on": False}).json()
    assert (changed["url"], changed["events"]) == ("https://example.org/hook?a=b", ["job.ended", "episode.ended"])
    assert changed["disabled"]
    assert program.send("PATCH", f"webhooks/{key}", {"on": True}).json()["disabled"] is None
    assert [item["id"] for item in program.get("webhooks").json()["items"]] == [key]
    assert "whsec" not in program.get("webhooks").content.decode()
    assert program.send("DELETE", f"webhooks/{key}").status_code == 204
    assert program.get(f"webhooks/{key}").status_code == 404


def test_everything_wrong_is_named(program: Program, settings: Settings) -> None:
    settings.PRIVATE_ENDPOINTS, settings.WEBHOOKS_PER_USER = [], 1
    refused = program.post("webhooks", {"url": "http://10.0.0.1/", "events": ["job.begun"]})
    assert refused.status_code == 422
    said = {error["field"]: error["detail"] for error in refused.json()["errors"]}
    assert said.keys() == {"url", "events"}
    assert said["events"].startswith("There is no event job.begun. Choose from ")
    assert "job.ended, " in said["events"]  # a program sees no list
    key = make(program, "https://example.org/")
    assert program.post("webhooks", {"url": "https://example.org/"}).status_code == 409
    assert program.send("PATCH", f"webhooks/{key}", {"events": []}).status_code == 422
    assert Webhook.objects.get().events == ["job.ended", "training.ended"]


def test_a_secret_is_in_no_stored_answer(program: Program) -> None:
    sent = {"url": "https://example.org/"}
    first, second = (program.post("webhooks", sent, Idempotency_Key="k") for _ in range(2))
    assert first.json()["secret"] != second.json()["secret"]
    assert not IdempotentRequest.objects.exists()


def test_only_the_owner_knows_a_webhook_and_only_with_the_scope(ada: User, program: Program) -> None:
    key = make(program, "https://example.org/")
    delivery = program.post(f"webhooks/{key}/test").json()["id"]
    others = program_of(User.objects.create_user("eve"))
    reader = program_of(ada, Scope.READ)
    for method, path in (
        ("PATCH", ""), ("DELETE", ""), ("POST", "/test"), ("POST", f"/deliveries/{delivery}/send-again"),
    ):  # fmt: skip
        assert others.send(method, f"webhooks/{key}{path}", {}).status_code == 404, path
        assert reader.send(method, f"webhooks/{key}{path}", {}).status_code == 403, path
    for path in ("", "/deliveries", f"/deliveries/{delivery}"):
        assert others.get(f"webhooks/{key}{path}").status_code == 404, path
        assert reader.get(f"webhooks/{key}{path}").status_code == 200, path
        assert Program().get(f"webhooks/{key}{path}").status_code == 401, path


def test_a_test_arrives_signed_and_its_failure_counts_for_nothing(program: Program) -> None:
    with receiver(OK, answering("500 Internal Server Error")) as server:
        key = make(program, server.url)
        first = program.post(f"webhooks/{key}/test").json()
        assert program.post(f"webhooks/{key}/test").status_code == 409, "one waits"
        sending.send_due()
        program.post(f"webhooks/{key}/test")
        sending.send_due()
        (request, _) = server.received
    event = events.parse(request.body)
    assert isinstance(event, events.WebhookTest)
    assert (event.webhook, request.headers["webhook-id"]) == (key, first["id"])
    log = program.get(f"webhooks/{key}/deliveries").json()["items"]
    assert [(one["event"], one["state"], one["status"]) for one in log] == [
        ("webhook.test", "failed", 500), ("webhook.test", "delivered", 204),
    ]  # fmt: skip
    assert program.get(f"webhooks/{key}").json()["failures"] == 0
    program.send("PATCH", f"webhooks/{key}", {"on": False})
    assert "Turn it on first" in program.post(f"webhooks/{key}/test").json()["detail"]


def test_the_log_is_paged_filtered_and_sent_again(program: Program, submit: Submit) -> None:
    with receiver(OK) as server:
        key = make(program, server.url)
        jobs = [cancelled(submit).pk for _ in range(3)]
        collecting.collect()
        sending.send_due()
        first = program.get(f"webhooks/{key}/deliveries?limit=2").json()
        rest = program.get(f"webhooks/{key}/deliveries?limit=2&cursor={first['next']}").json()
        log = [*first["items"], *rest["items"]]
        assert ({one["key"] for one in log}, rest["next"]) == (set(jobs), None)
        assert program.get(f"webhooks/{key}/deliveries?state=failed").json()["items"] == []
        again = program.post(f"webhooks/{key}/deliveries/{log[0]['id']}/send-again").json()
        assert (again["state"], again["id"]) == ("waiting", log[0]["id"])
        sending.send_due()
        ids = [request.headers["webhook-id"] for request in server.received]
    assert ids.count(log[0]["id"]) == 2
    assert json.loads(Delivery.objects.get(pk=log[0]["id"]).body)["job"] == log[0]["key"]


def test_the_page_tries_and_changes_one(ada: User, program: Program, client: Client) -> None:
    key = make(program, "https://example.org/")
    client.force_login(ada)
    page = f"/account/webhooks/{key}/"
    client.post(f"{page}change/", {"do": "test"})
    assert "a test" in client.get(page).content.decode()
    client.post(f"{page}edit/", {"url": "https://example.org/new", "events": ["duel.ended"]})
    assert Webhook.objects.get().url == "https://example.org/new"
    assert client.post(f"{page}edit/", {"url": "x", "events": ["duel.ended"]}).status_code == 422
