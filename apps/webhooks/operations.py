"""The operations of people on webhooks: add one, turn it off and on, delete it, and send a delivery again."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import connection, transaction
from django.db.models.functions import Now
from pydantic import SecretStr

from apps.accounts import quotas
from apps.accounts.models import User
from apps.agents import seal
from apps.queue import enqueue
from apps.webhooks.limits import WEBHOOKS
from apps.webhooks.models import OFFERED, Delivery, Webhook
from apps.webhooks.signatures import make_secret

TASK = "webhooks.deliver"


class TooManyWebhooks(Exception):
    """The person has as many webhooks as one person may have. The message is a sentence for them."""


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
    chosen = set(events)
    webhook = Webhook.objects.create(
        owner=owner,
        url=url,
        events=[name for name in OFFERED if name in chosen],
        sealed_secret=seal.seal(SecretStr(secret)),
    )
    _begin_now(webhook)
    return webhook, secret


@transaction.atomic
def turn_off(webhook: Webhook, why: str = "") -> None:
    """Send nothing any more. What waits is kept. `why` is the sentence for the owner, if it was not their choice."""
    Webhook.objects.filter(pk=webhook.pk, disabled=None).update(disabled=Now(), why_disabled=why)


@transaction.atomic
def turn_on(webhook: Webhook) -> None:
    """Send what waits, and what happens from now on. What happened in between is not sent."""
    if Webhook.objects.filter(pk=webhook.pk).exclude(disabled=None).update(disabled=None, why_disabled="", failures=0):
        Delivery.objects.filter(webhook=webhook, state=Delivery.State.WAITING).update(due=Now(), attempt=0)
        _begin_now(webhook)
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


def _begin_now(webhook: Webhook) -> None:
    """Let a webhook send what happens from now on: all jobs of its owner are read up to now."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO webhooks_place (webhook_id, job, seq) SELECT %s, id, seq FROM jobs_job WHERE owner_id = %s
            ON CONFLICT (webhook_id, job) DO UPDATE SET seq = excluded.seq
            """,
            [webhook.pk, webhook.owner_id],
        )
