"""Webhooks: what is owed is written down once and sent until it arrives, whatever the receiver does."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from apps.accounts.models import User
from apps.agents import seal
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from apps.webhooks import collecting, keeping, operations, sending, signatures
from apps.webhooks.forms import check_address
from apps.webhooks.models import OFFERED, Delivery, Place, Webhook
from gem.client import events
from tests.apps.webhooks.receivers import Behaviour, answering, endless, garbled, receiver, silent
from tests.docs.blocks import blocks

pytestmark = pytest.mark.django_db
OK = answering("204 No Content")
State = Delivery.State
Submit = Callable[..., Job]
ENDINGS = ("job.ended", "training.ended")


def cancelled(submit: Submit) -> Job:
    """A job that was submitted and cancelled: two events, the second of which is `job.ended`."""
    job = submit()
    assert job.owner is not None
    return jobs.cancel(job.pk, job.owner)


def make_due(**fields: object) -> None:
    Delivery.objects.update(due=timezone.now() - timedelta(seconds=1), **fields)


def test_the_end_of_a_job_arrives_signed_and_once(ada: User, submit: Submit) -> None:
    with receiver(OK) as server:
        webhook, secret = operations.add(ada, server.url, ENDINGS)
        job = cancelled(submit)
        assert collecting.collect() == 1
        assert collecting.collect() == 0
        assert sending.send_due() == 1
        assert sending.send_due() == 0
        (request,) = server.received
    delivery = Delivery.objects.get()
    assert (delivery.state, delivery.status, delivery.attempt) == (State.DELIVERED, 204, 1)
    event = events.parse(request.body)
    assert isinstance(event, events.JobEnded)
    assert (event.job, event.state) == (job.pk, "cancelled")
    assert request.headers["webhook-id"] == delivery.pk
    expected = signatures.sign(secret, delivery.pk, int(request.headers["webhook-timestamp"]), request.body)
    assert request.headers["webhook-signature"] == expected
    assert secret not in Webhook.objects.get(pk=webhook.pk).sealed_secret


def test_a_signature_is_that_of_the_standard() -> None:
    """The example of the specification."""
    secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
    body = b'{"test": 2432232314}'
    expected = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
    assert signatures.sign(secret, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body) == expected


def test_the_receiver_of_the_documentation_believes_it_and_nothing_else(ada: User, submit: Submit) -> None:
    names: dict[str, Any] = {}
    block = next(block for block in blocks("python") if "def is_authentic" in block.text)
    exec(block.text, names)
    is_authentic = names["is_authentic"]
    with receiver(OK) as server:
        _, secret = operations.add(ada, server.url, ENDINGS)
        cancelled(submit)
        collecting.collect()
        sending.send_due()
        (request,) = server.received
    assert is_authentic(secret, request.headers, request.body)
    assert not is_authentic(secret, request.headers, request.body + b" ")
    assert not is_authentic(signatures.make_secret(), request.headers, request.body)
    assert not is_authentic(secret, {**request.headers, "webhook-id": "another"}, request.body)
    assert not is_authentic(secret, request.headers, request.body, tolerance_seconds=-1)


def test_only_what_was_chosen_and_happens_from_now_on_is_sent(ada: User, submit: Submit) -> None:
    earlier = submit()
    operations.add(ada, "http://127.0.0.1:1/", ENDINGS)
    operations.add(ada, "http://127.0.0.1:1/", OFFERED)
    jobs.cancel(earlier.pk, ada)
    somebody_else = User.objects.create_user("somebody-else")
    submit(somebody_else)
    collecting.collect()
    sent = sorted(Delivery.objects.values_list("webhook__pk", "event", "key"))
    assert [(event, job) for _, event, job in sent] == [("job.ended", earlier.pk)] * 2


def test_a_failure_is_tried_again_later_with_the_same_id_until_it_arrives(ada: User, submit: Submit) -> None:
    with receiver(answering("500 Internal Server Error", body=b"out of order"), OK) as server:
        operations.add(ada, server.url, ENDINGS)
        cancelled(submit)
        collecting.collect()
        sending.send_due()
        waiting = Delivery.objects.get()
        assert (waiting.state, waiting.status, waiting.answer) == (State.WAITING, 500, "out of order")
        assert waiting.due > timezone.now()
        assert sending.send_due() == 0, "it is not due yet"
        make_due()
        sending.send_due()
        ids = [request.headers["webhook-id"] for request in server.received]
        bodies = {request.body for request in server.received}
    assert ids == [waiting.pk] * 2
    assert len(bodies) == 1
    assert Delivery.objects.get().state == State.DELIVERED
    assert Webhook.objects.get().failures == 0


def test_pauses_grow_to_hours_and_all_tries_take_about_a_day() -> None:
    pauses = [sending.pause_after(attempt).total_seconds() for attempt in range(1, sending.MAX_TRIES)]
    assert 3 < pauses[0] < 7
    assert 12 * 3600 < sum(pauses) < 36 * 3600
    assert len({sending.pause_after(3) for _ in range(5)}) > 1, "they are drawn"


@pytest.mark.parametrize(
    ("behaviour", "status", "state"),
    [
        (silent, None, State.WAITING),
        (garbled, None, State.WAITING),
        (endless, 200, State.DELIVERED),
        (answering("302 Found", "Location: http://127.0.0.1:1/private"), 302, State.WAITING),
        (answering("200 OK", "Content-Encoding: gzip", body=b"x"), None, State.WAITING),
        (answering("200 OK", body=b"a\x00b\xff"), 200, State.DELIVERED),
    ],
)
def test_a_hostile_receiver_costs_a_try_at_most(
    ada: User,
    submit: Submit,
    monkeypatch: pytest.MonkeyPatch,
    behaviour: Behaviour,
    status: int | None,
    state: str,
) -> None:
    monkeypatch.setattr(sending, "TIMEOUT_SECONDS", 0.3)
    with receiver(behaviour) as server:
        operations.add(ada, server.url, ENDINGS)
        cancelled(submit)
        collecting.collect()
        assert sending.send_due() == 1
        assert len(server.received) == 1, "no redirect is followed"
    delivery = Delivery.objects.get()
    assert (delivery.status, delivery.state) == (status, state)
    assert len(delivery.answer) <= sending.MAX_ANSWER_CHARACTERS
    assert delivery.lease_token is None


def test_private_addresses_are_not_contacted(ada: User, submit: Submit, settings: Settings) -> None:
    with receiver(OK) as server:
        operations.add(ada, server.url, ENDINGS)
        operations.add(ada, server.url.replace("127.0.0.1", "localhost"), ENDINGS)
        settings.PRIVATE_ENDPOINTS = []
        cancelled(submit)
        collecting.collect()
        sending.send_due()
        assert server.received == []
    for delivery in Delivery.objects.all():
        assert delivery.status is None
        assert "does not have a public address" in delivery.answer


def test_a_webhook_that_only_fails_is_turned_off_and_says_so(
    ada: User, submit: Submit, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sending, "MAX_FAILURES", 3)
    with receiver(answering("503 Service Unavailable")) as server:
        operations.add(ada, server.url, ENDINGS)
        cancelled(submit)
        collecting.collect()
        for _ in range(3):
            make_due()
            sending.send_due()
        make_due()
        assert sending.send_due() == 0
        assert len(server.received) == 3
    webhook = Webhook.objects.get()
    assert webhook.disabled
    assert "its server answered 503" in webhook.why_disabled
    client.force_login(ada)
    assert "3 tries in a row failed" in client.get("/account/webhooks/").content.decode()
    with receiver(OK) as server:
        Webhook.objects.update(url=server.url)
        operations.turn_on(webhook)
        assert sending.send_due() == 1, "what waited is not lost"
        assert len(server.received) == 1


def test_a_receiver_that_is_gone_gets_nothing_more(ada: User, submit: Submit) -> None:
    with receiver(answering("410 Gone")) as server:
        operations.add(ada, server.url, ENDINGS)
        cancelled(submit)
        collecting.collect()
        sending.send_due()
    assert Webhook.objects.get().disabled
    assert Delivery.objects.get().state == State.FAILED


def test_a_delivery_is_given_up_after_its_last_try(ada: User, submit: Submit) -> None:
    with receiver(answering("500 Internal Server Error")) as server:
        operations.add(ada, server.url, ENDINGS)
        cancelled(submit)
        collecting.collect()
        make_due(attempt=sending.MAX_TRIES - 1)
        sending.send_due()
    assert Delivery.objects.get().state == State.FAILED
    assert not Webhook.objects.get().disabled, "other deliveries may arrive"


def test_what_a_worker_did_that_lost_its_lease_is_not_written_down(
    ada: User, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It dies, or is frozen, after the receiver has answered: another one sends it again, with the same id."""
    record = sending._record
    with receiver(OK) as server:
        operations.add(ada, server.url, ENDINGS)
        cancelled(submit)
        collecting.collect()
        monkeypatch.setattr(sending, "_record", lambda *_: None)
        assert sending.send_due() == 1
        assert sending.send_due() == 0, "it is leased"
        Delivery.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
        monkeypatch.setattr(sending, "_record", record)
        assert sending.send_due() == 1
        assert sending.send_due() == 0
        ids = {request.headers["webhook-id"] for request in server.received}
        assert len(server.received) == 2
    assert ids == {Delivery.objects.get().pk}


def test_what_one_may_no_longer_see_is_not_sent(ada: User, submit: Submit) -> None:
    with receiver(OK) as server:
        operations.add(ada, server.url, OFFERED)
        job = cancelled(submit)
        collecting.collect()
        somebody_else = User.objects.create_user("somebody-else")
        Job.objects.filter(pk=job.pk).update(owner=somebody_else)
        job.batch.visibility = "private"
        job.batch.save()
        sending.send_due()
        assert server.received == []
    assert set(Delivery.objects.values_list("state", flat=True)) == {State.WITHHELD}


def test_nothing_is_sent_for_a_closed_account(ada: User, submit: Submit) -> None:
    with receiver(OK) as server:
        operations.add(ada, server.url, OFFERED)
        cancelled(submit)
        collecting.collect()
        ada.is_active = False
        ada.save()
        sending.send_due()
        assert collecting.collect() == 0
        assert server.received == []


def test_one_sends_again_what_was_delivered(ada: User, submit: Submit, client: Client) -> None:
    with receiver(OK) as server:
        operations.add(ada, server.url, ENDINGS)
        cancelled(submit)
        collecting.collect()
        sending.send_due()
        delivery = Delivery.objects.get()
        client.force_login(User.objects.create_user("somebody-else"))
        assert client.post(f"/account/webhooks/deliveries/{delivery.pk}/again/").status_code == 404
        client.force_login(ada)
        assert client.post(f"/account/webhooks/deliveries/{delivery.pk}/again/").status_code == 302
        sending.send_due()
        assert [request.headers["webhook-id"] for request in server.received] == [delivery.pk] * 2


def test_a_large_event_is_sent_without_its_lists() -> None:
    finished = {
        "id": "a" * 12, "slot": 1, "env_id": "x", "seed": 1, "outcome": "won", "total_reward": 1.0, "turn_count": 1
    }  # fmt: skip
    event = events.JobEpisodes.model_validate(
        {"job": "b" * 12, "seq": 3, "text": "t" * 5000, "episodes": [finished] * 2000, "done": 2000, "total": 2000}
    )
    sent = collecting.bounded(event.model_dump_json())
    assert len(sent.encode()) < collecting.MAX_BODY_BYTES
    parsed = events.parse(sent)
    assert isinstance(parsed, events.JobEpisodes)
    assert (parsed.done, parsed.episodes) == (2000, [])
    assert json.loads(sent)["shortened"] is True
    small = event.model_copy(update={"episodes": []}).model_dump_json()
    assert collecting.bounded(small) == small


def test_a_receiver_that_is_away_for_long_holds_back_what_is_read(
    ada: User, submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "MAX_WAITING", 2)
    operations.add(ada, "http://127.0.0.1:1/", ENDINGS)
    for _ in range(4):
        cancelled(submit)
    collecting.collect()
    assert collecting.collect() == 0
    assert Delivery.objects.count() == 2
    Delivery.objects.update(state=State.DELIVERED)
    collecting.collect()
    assert Delivery.objects.count() == 4, "nothing was lost"
    assert Place.objects.count() == 4


def test_one_person_has_so_many_webhooks(ada: User, settings: Settings) -> None:
    settings.WEBHOOKS_PER_USER = 1
    operations.add(ada, "http://127.0.0.1:1/", ENDINGS)
    with pytest.raises(operations.TooManyWebhooks, match="the most that one person may have"):
        operations.add(ada, "http://127.0.0.1:1/", ENDINGS)


def test_the_page_adds_one_and_shows_its_secret_once(ada: User, client: Client) -> None:
    client.force_login(ada)
    address = "/account/webhooks/"
    sent = {"url": "https://example.org/hook?key=1", "events": list(ENDINGS)}
    assert signatures.PREFIX in client.post(address, sent).content.decode()
    assert signatures.PREFIX not in client.get(address).content.decode()
    assert Webhook.objects.get().url == "https://example.org/hook?key=1"
    for wrong in ({"url": "https://example.org/"}, {"url": "ftp://example.org/", "events": "job.ended"}, {}):
        assert client.post(address, wrong).status_code == 422
    webhook = Webhook.objects.get()
    for do, is_off in (("off", True), ("on", False), ("nonsense", False)):
        client.post(f"{webhook.get_absolute_url()}change/", {"do": do})
        assert bool(Webhook.objects.get().disabled) == is_off
    client.post(f"{webhook.get_absolute_url()}change/", {"do": "delete"})
    assert not Webhook.objects.exists()


def test_addresses_that_cannot_be_sent_to_are_refused(settings: Settings) -> None:
    settings.PRIVATE_ENDPOINTS = []
    assert check_address("HTTPS://Example.org/a/?b=c") == "https://example.org/a?b=c"
    for wrong in ("", "x", "https://", "https://a b/", "https://u:p@example.org/", "http://10.0.0.1/", "http://[::1]/"):
        with pytest.raises(ValidationError):
            check_address(wrong)


def test_old_deliveries_are_forgotten(ada: User, submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "MOST_KEPT", 1)
    operations.add(ada, "http://127.0.0.1:1/", ENDINGS)
    for _ in range(4):
        cancelled(submit)
    collecting.collect()
    first, second, third, waiting = Delivery.objects.order_by("created", "pk")
    Delivery.objects.exclude(pk=waiting.pk).update(state=State.DELIVERED)
    Delivery.objects.filter(pk=first.pk).update(created=timezone.now() - timedelta(days=31))
    assert keeping.forget_old() == 2
    assert Delivery.objects.filter(pk=waiting.pk).exists()
    assert Delivery.objects.filter(pk__in=[second.pk, third.pk]).count() == 1


def test_new_keys_seal_the_secrets_too(ada: User, submit: Submit) -> None:
    from django.core.management import call_command

    with receiver(OK) as server:
        _, secret = operations.add(ada, server.url, ENDINGS)
        call_command("rotate_endpoint_keys", forget_old=True)
        opened = seal.unseal(Webhook.objects.get().sealed_secret)
        assert opened is not None
        assert opened.get_secret_value() == secret
        cancelled(submit)
        collecting.collect()
        assert sending.send_due() == 1
        assert len(server.received) == 1
