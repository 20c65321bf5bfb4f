"""The operations of people on webhooks: add one, change it, turn it off and on, delete it, try it, and send again."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.db.models import Max
from django.db.models.functions import Now
from django.utils import timezone
from pydantic import SecretStr

from apps.accounts import quotas
from apps.accounts.models import User
from apps.agents import seal
from apps.episodes.errors import Refusal
from apps.queue import enqueue
from apps.webhooks.limits import WEBHOOKS
from apps.webhooks.models import OFFERED, Delivery, Webhook
from apps.webhooks.signatures import make_secret
from apps.webhooks.sources import SOURCES
from gem.client.events import WebhookTest

TASK = "webhooks.deliver"


class TooManyWebhooks(Refusal):
    """The person has as many webhooks as one person may have. The message is a sentence for them."""

    status = 409
    title = "Too many webhooks"


class CannotTest(Refusal):
    """No test can be sent now. The message is a sentence for the owner."""

    status = 409
    title = "No test was sent"


@transaction.atomic
def add(owner: User, url: str, events: Iterable[str]) -> tuple[Webhook, str]:
    """Add a webhook, and return it with its secret, which is not shown again. It sends what happens from now on.

    Args:
        url: an address that `forms.check_address` has accepted.
        events: names of `OFFERED`.

    Raises:
        TooManyWebhooks: if the person has as many as one person may have.
    """
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls count each other
    if problem := quotas.refusal(owner, WEBHOOKS):
        raise TooManyWebhooks(problem)
    secret = make_secret()
    webhook = Webhook.objects.create(
        owner=owner,
        url=url,
        events=_in_order(events),
        sealed_secret=seal.seal(SecretStr(secret)),
    )
    _begin_now(webhook)
    return webhook, secret


@transaction.atomic
def change(webhook: Webhook, *, url: str | None = None, events: Iterable[str] | None = None) -> Webhook:
    """Change the address of a webhook or the events that it sends; what waits goes to the new address.

    Of events that were not chosen before, those are sent that happen from now on.
    """
    webhook = Webhook.objects.select_for_update().get(pk=webhook.pk)
    before = webhook.events
    if url is not None:
        webhook.url = url
    if events is not None:
        webhook.events = _in_order(events)
    webhook.save(update_fields=["url", "events"])
    changed = [
        topic for topic, source in SOURCES.items() if source.is_chosen(before) != source.is_chosen(webhook.events)
    ]
    _begin_now(webhook, changed)
    return webhook


@transaction.atomic
def turn_off(webhook: Webhook, why: str = "") -> None:
    """Send nothing any more. What waits is kept. `why` is the sentence for the owner, if it was not their choice."""
    Webhook.objects.filter(pk=webhook.pk, disabled=None).update(disabled=Now(), why_disabled=why)


@transaction.atomic
def turn_on(webhook: Webhook) -> None:
    """Send what waits, and what happens from now on. What happened in between is not sent."""
    off = Webhook.objects.select_for_update().filter(pk=webhook.pk).exclude(disabled=None).first()
    if off is not None:  # with the events that are chosen now
        Webhook.objects.filter(pk=off.pk).update(disabled=None, why_disabled="", failures=0)
        Delivery.objects.filter(webhook=off, state=Delivery.State.WAITING).update(due=Now(), attempt=0)
        _begin_now(off)
        enqueue(TASK)


def delete(webhook: Webhook) -> None:
    """Delete a webhook with its deliveries."""
    webhook.delete()


@transaction.atomic
def send_again(delivery: Delivery) -> None:
    """Send a delivery again, whatever became of it, with the same id and body."""
    again = Delivery.objects.filter(pk=delivery.pk).free()
    if again.update(state=Delivery.State.WAITING, due=Now(), attempt=0):
        enqueue(TASK)


@transaction.atomic
def send_test(webhook: Webhook) -> Delivery:
    """Send an event that says nothing, once, so that the owner sees whether it arrives.

    Raises:
        CannotTest: if the webhook is off, or another test waits.
    """
    Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)
    if webhook.disabled is not None:
        raise CannotTest("This webhook is off, so nothing is sent to it. Turn it on first.")
    tests = Delivery.objects.filter(webhook=webhook, topic="webhook")
    if tests.filter(state=Delivery.State.WAITING).exists():
        raise CannotTest("A test is being sent already. Its result appears in the log.")
    seq = (tests.aggregate(last=Max("seq"))["last"] or 0) + 1
    now = timezone.now()
    event = WebhookTest(seq=seq, at=now, webhook=webhook.pk)
    delivery = Delivery.objects.create(
        webhook=webhook,
        event=event.event,
        topic="webhook",
        key=str(webhook.pk),
        seq=seq,
        body=event.model_dump_json(),
        due=now,
    )
    enqueue(TASK)
    return delivery


def _begin_now(webhook: Webhook, topics: Iterable[str] = tuple(SOURCES)) -> None:
    """Let a webhook send what happens from now on: all rows of its owner are read up to now."""
    for topic in topics:
        source = SOURCES[topic]
        if source.is_chosen(webhook.events):
            source.begin(webhook)
        else:
            source.end(webhook)


def _in_order(names: Iterable[str]) -> list[str]:
    chosen = set(names)
    return [name for name in OFFERED if name in chosen]
