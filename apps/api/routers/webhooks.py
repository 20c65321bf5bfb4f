"""Webhooks of the caller, and the log of their deliveries."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest
from ninja import Router, Status

from apps.api.answers import known
from apps.api.callers import account, manager, reader
from apps.api.forms import checked, entries
from apps.api.idempotency import remember_no_answer
from apps.api.paging import Cursor, Limit, newest_first
from apps.webhooks import operations
from apps.webhooks.forms import WebhookForm
from apps.webhooks.models import Delivery, Webhook
from gem.client import schemas

router = Router(tags=["webhooks"], auth=reader)


@router.get("", response=schemas.Webhooks)
def list_webhooks(request: HttpRequest) -> schemas.Webhooks:
    """Your webhooks, the oldest first. One person has few, so they come together."""
    return schemas.Webhooks(items=[_answer(row) for row in _own(request)])


@router.post("", response={201: schemas.MadeWebhook}, auth=manager)
def create_webhook(request: HttpRequest, sent: schemas.NewWebhook) -> Status[schemas.MadeWebhook]:
    """Add a webhook. The answer has its secret, which is not shown again and is stored nowhere in clear.

    So an `Idempotency-Key` does nothing here: sent again, it adds another webhook.
    """
    remember_no_answer(request)
    form = checked(WebhookForm(entries(sent.model_dump())))
    made, secret = operations.add(account(request), form.cleaned_data["url"], form.cleaned_data["events"])
    return Status(201, schemas.MadeWebhook(webhook=_answer(_find(request, made.pk)), secret=secret))


@router.get("/{int:webhook_id}", response=schemas.Webhook)
def get_webhook(request: HttpRequest, webhook_id: int) -> schemas.Webhook:
    """One webhook of your own."""
    return _answer(_find(request, webhook_id))


@router.patch("/{int:webhook_id}", response=schemas.Webhook, auth=manager)
def change_webhook(request: HttpRequest, webhook_id: int, sent: schemas.WebhookChange) -> schemas.Webhook:
    """Change the address or the events of a webhook, or turn it on or off. What waits is kept."""
    row = _find(request, webhook_id)
    given = sent.model_dump(include={"url", "events"}, exclude_none=True)
    form = checked(WebhookForm(entries({"url": row.url, "events": row.events} | given)))
    operations.change(row, **{name: form.cleaned_data[name] for name in given})
    if sent.on is not None:
        (operations.turn_on if sent.on else operations.turn_off)(row)
    return _answer(_find(request, webhook_id))


@router.delete("/{int:webhook_id}", response={204: None}, auth=manager)
def delete_webhook(request: HttpRequest, webhook_id: int) -> Status[None]:
    """Delete a webhook with the log of its deliveries. Nothing is sent to its address any more."""
    operations.delete(_find(request, webhook_id))
    return Status(204, None)


@router.post("/{int:webhook_id}/test", response={201: schemas.Delivery}, auth=manager)
def send_test(request: HttpRequest, webhook_id: int) -> Status[schemas.Delivery]:
    """Send the event `webhook.test` once. What the server answers is in the log some seconds later."""
    return Status(201, _delivery(operations.send_test(_find(request, webhook_id))))


@router.get("/{int:webhook_id}/deliveries", response=schemas.DeliveryPage)
def list_deliveries(
    request: HttpRequest,
    webhook_id: int,
    state: schemas.DeliveryState | None = None,
    cursor: Cursor = "",
    limit: Limit = 50,
) -> schemas.DeliveryPage:
    """The log of a webhook, the newest first: its deliveries of the last 30 days, up to 1,000."""
    rows = Delivery.objects.filter(webhook=_find(request, webhook_id)).defer("body")
    page, following = newest_first(rows if state is None else rows.filter(state=state), cursor, limit)
    return schemas.DeliveryPage(items=[_delivery(row) for row in page], next=following)


@router.get("/{int:webhook_id}/deliveries/{delivery_id}", response=schemas.Delivery)
def get_delivery(request: HttpRequest, webhook_id: int, delivery_id: str) -> schemas.Delivery:
    """One delivery of a webhook of your own."""
    return _delivery(_find_delivery(request, webhook_id, delivery_id))


@router.post("/{int:webhook_id}/deliveries/{delivery_id}/send-again", response=schemas.Delivery, auth=manager)
def send_delivery_again(request: HttpRequest, webhook_id: int, delivery_id: str) -> schemas.Delivery:
    """Send a delivery again, whatever became of it, with the same id and body. A webhook that is off sends it later."""
    operations.send_again(_find_delivery(request, webhook_id, delivery_id))
    return _delivery(_find_delivery(request, webhook_id, delivery_id))


def _own(request: HttpRequest) -> QuerySet[Webhook]:
    waiting = Count("deliveries", filter=Q(deliveries__state=Delivery.State.WAITING))
    return Webhook.objects.filter(owner=account(request)).annotate(waiting=waiting).order_by("created", "pk")


def _find(request: HttpRequest, webhook_id: int) -> Webhook:
    row = _own(request).filter(pk=webhook_id).first() if webhook_id < 2**63 else None
    if row is None:
        raise Http404("You have no such webhook.")
    return row


def _find_delivery(request: HttpRequest, webhook_id: int, delivery_id: str) -> Delivery:
    row = Delivery.objects.filter(webhook=_find(request, webhook_id), pk=delivery_id).first()
    if row is None:
        raise Http404("This webhook has no such delivery.")
    return row


def _answer(row: Webhook) -> schemas.Webhook:
    return schemas.Webhook(
        id=row.pk,
        url=row.url,
        events=row.events,
        disabled=row.disabled,
        why_disabled=row.why_disabled,
        failures=row.failures,
        waiting=row.waiting,  # type: ignore[attr-defined]  # annotated by `_own`
        created=row.created,
    )


def _delivery(row: Delivery) -> schemas.Delivery:
    return schemas.Delivery(
        id=row.pk,
        event=row.event,
        topic=known(row.topic),
        key=row.key,
        seq=row.seq,
        state=known(row.state),
        tries=row.attempt,
        status=row.status,
        answer=row.answer,
        seconds=row.seconds,
        tried=row.tried,
        due=row.due if row.state == Delivery.State.WAITING else None,
        created=row.created,
    )
