"""How deliveries get there: each is leased, sent once, and recorded; failures are tried again, later and later.

An address is somebody else's choice, so requests go through the guarded client: no private addresses, no redirects, a
deadline for all of it, and at most `MAX_ANSWER_BYTES` of the answer are read.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from time import monotonic, time
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.agents import seal
from apps.agents.players import guard
from apps.episodes.text import storable
from apps.holders import new_token
from apps.leases import Heartbeat
from apps.webhooks import operations, signatures
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.sources import SOURCES
from gem.net.http import GuardedClient, HttpError, ResponseTooLarge
from gem.version import __version__

TIMEOUT_SECONDS = 10.0
"""For a try as a whole. A receiver should answer at once and work later."""
MAX_ANSWER_BYTES = 4096
MAX_ANSWER_CHARACTERS = 500
"""Of the answer that are kept for the log."""
AT_A_TIME, AT_A_TIME_EACH = 32, 4
"""Deliveries that one worker sends at the same time, and those of one webhook among them."""
FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS, GROWTH = 5.0, 6 * 3600.0, 3.0
MAX_TRIES = 12
"""With these pauses, the last try is about a day after the first."""
MAX_FAILURES = 50
"""A webhook is turned off after so many failed tries without a success, or when a delivery has used up its tries."""
GONE = 410
"""The status by which a receiver says that it wants nothing any more."""


@dataclass(frozen=True, slots=True)
class Letter:
    """What is sent: a delivery with all that the request needs."""

    delivery_id: str
    webhook_id: int
    attempt: int
    url: str
    secret: str
    body: bytes
    is_test: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a try."""

    status: int | None
    text: str
    seconds: float

    @property
    def is_success(self) -> bool:
        """Whether the receiver has the delivery."""
        return self.status is not None and 200 <= self.status < 300


def send_due() -> int:
    """Send deliveries that are due, at the same time, and record what became of them. Returns their number."""
    token = new_token()
    letters = _claim(token)
    if not letters:
        return 0
    with Heartbeat(lambda: Delivery.objects.owned_by(token).renew(), name="deliveries"):
        answers = asyncio.run(_send_all(letters))
    for letter, answer in zip(letters, answers, strict=True):
        _record(letter, answer, token)
    return len(letters)


def pause_after(attempt: int) -> timedelta:
    """How long to wait after a failed try with this number, from 1. It is drawn, so that not all come at once."""
    seconds = min(FIRST_PAUSE_SECONDS * GROWTH ** (attempt - 1), MAX_PAUSE_SECONDS)
    return timedelta(seconds=seconds * random.uniform(0.75, 1.25))


def _claim(token: UUID) -> list[Letter]:
    """Lease deliveries that are due, some of each webhook. Those that may not be sent are withheld."""
    due = Delivery.objects.filter(state=Delivery.State.WAITING, due__lte=Now())
    webhooks = Webhook.objects.filter(disabled=None, pk__in=due.free().values("webhook")).select_related("owner")
    letters: list[Letter] = []
    for webhook in webhooks.order_by("?")[: AT_A_TIME // AT_A_TIME_EACH]:
        with transaction.atomic():
            keys = due.free().filter(webhook=webhook).order_by("due").claim(token, AT_A_TIME_EACH)
            letters += _letters(webhook, list(Delivery.objects.filter(pk__in=keys, lease_token=token)))
    return letters


def _letters(webhook: Webhook, deliveries: Sequence[Delivery]) -> list[Letter]:
    visible = _visible(webhook.owner, deliveries)
    withheld = [delivery.pk for delivery in deliveries if delivery.pk not in visible]
    if withheld:
        why = "You can no longer see what this is about."
        Delivery.objects.filter(pk__in=withheld).release(state=Delivery.State.WITHHELD, answer=why)
    try:
        secret = seal.unseal(webhook.sealed_secret)
    except seal.CannotUnseal:
        secret = None
    if secret is None:
        operations.turn_off(webhook, "Its secret can no longer be read. Delete it and add it again.")
        Delivery.objects.filter(pk__in=[delivery.pk for delivery in deliveries]).release()
        return []
    return [
        Letter(
            delivery.pk,
            webhook.pk,
            delivery.attempt,
            webhook.url,
            secret.get_secret_value(),
            delivery.body.encode(),
            delivery.is_test,
        )
        for delivery in deliveries
        if delivery.pk in visible
    ]


def _visible(owner: User, deliveries: Sequence[Delivery]) -> set[str]:
    """The deliveries about what their owner may see now, and tests."""
    if not owner.is_active:
        return set()
    keys: dict[str, set[str]] = {}
    for delivery in deliveries:
        keys.setdefault(delivery.topic, set()).add(delivery.key)
    seen = {(topic, key) for topic, source in SOURCES.items() for key in source.visible(owner, keys.get(topic, ()))}
    return {one.pk for one in deliveries if one.is_test or (one.topic, one.key) in seen}


async def _send_all(letters: Sequence[Letter]) -> list[Answer]:
    async with GuardedClient(guard()) as client:
        return await asyncio.gather(*(_send(client, letter) for letter in letters))


async def _send(client: GuardedClient, letter: Letter) -> Answer:
    """Send one delivery. The status decides; of the answer only the beginning is read."""
    started = monotonic()
    headers = {
        "Content-Type": "application/json",
        "Content-Length": str(len(letter.body)),
        "User-Agent": f"gemweb/{__version__}",
        **signatures.headers(letter.secret, letter.delivery_id, int(time()), letter.body),
    }
    status, parts = None, b""
    try:
        async with client.send(
            "POST", letter.url, headers, letter.body, timeout_seconds=TIMEOUT_SECONDS, max_bytes=MAX_ANSWER_BYTES
        ) as response:
            status = response.status
            async for part in response.body:
                parts += part
    except ResponseTooLarge:
        pass  # the status is known, and the rest of the answer is not needed
    except HttpError as error:
        if status is None:
            return Answer(None, str(error), monotonic() - started)
    text = storable(parts.decode(errors="replace"))[:MAX_ANSWER_CHARACTERS]
    return Answer(status, text, monotonic() - started)


@transaction.atomic
def _record(letter: Letter, answer: Answer, token: UUID) -> None:
    """Write down what became of a try, unless another worker has taken the delivery over in the meantime."""
    webhook = Webhook.objects.select_for_update().filter(pk=letter.webhook_id).first()
    ours = Delivery.objects.filter(pk=letter.delivery_id, lease_token=token, state=Delivery.State.WAITING)
    if webhook is None or not ours.exists():
        return
    log = {"status": answer.status, "answer": answer.text, "seconds": answer.seconds, "tried": Now()}
    if answer.is_success:
        ours.release(state=Delivery.State.DELIVERED, **log)
        Webhook.objects.filter(pk=webhook.pk).update(failures=0)
        return
    has_tries_left = letter.attempt < MAX_TRIES and answer.status != GONE and not letter.is_test
    state = Delivery.State.WAITING if has_tries_left else Delivery.State.FAILED
    ours.release(state=state, due=Now() + pause_after(letter.attempt), **log)
    if letter.is_test:  # its owner looks at it, and it says nothing of what else waits
        return
    Webhook.objects.filter(pk=webhook.pk).update(failures=F("failures") + 1)
    failures = webhook.failures + 1
    if answer.status == GONE:
        operations.turn_off(webhook, "Its server answered 410 (gone): it wants no further events.")
    elif failures >= MAX_FAILURES or (not has_tries_left and failures >= MAX_TRIES):
        operations.turn_off(
            webhook,
            f"{failures:,} tries in a row failed; the last one: {_in_words(answer)} Nothing that waits is lost: fix "
            f"the receiver, and turn the webhook on again.",
        )


def _in_words(answer: Answer) -> str:
    return answer.text if answer.status is None else f"its server answered {answer.status}."
