"""Pages of webhooks: the list, which the account page shows too, and the log of one with its deliveries."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_variables
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from apps.accounts.models import User
from apps.episodes.lists.paging import page_of
from apps.htmx import wants_part
from apps.webhooks import operations, sending
from apps.webhooks.forms import WebhookForm
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.operations import CannotTest, TooManyWebhooks

DELIVERIES_ON_A_PAGE = 50


@sensitive_variables("secret")
@never_cache
@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def list(request: HttpRequest) -> HttpResponse:  # noqa: A001 (the page's name)
    """A person's webhooks, and the form for another one. Its secret is shown once, in the response to the form."""
    assert isinstance(request.user, User)
    form, secret, status = WebhookForm(request.POST or None), "", 200
    if request.method == "POST":
        form, status = WebhookForm(request.POST), 422
        if form.is_valid():
            try:
                _, secret = operations.add(request.user, form.cleaned_data["url"], form.cleaned_data["events"])
                form, status = WebhookForm(), 200
            except TooManyWebhooks as refusal:
                form.add_error(None, str(refusal))
    context = {"form": form, "secret": secret, "webhooks": Webhook.objects.filter(owner=request.user)}
    if wants_part(request):
        return render(request, "webhooks/list.html#webhooks", context)  # htmx shows only what comes with status 200
    return render(request, "webhooks/list.html", context, status=status)


@require_GET
@never_cache
@login_required
def webhook(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """A webhook of your own with its deliveries, the newest first."""
    return _page(request, _webhook(request, webhook_id))


def _page(request: HttpRequest, webhook: Webhook, form: WebhookForm | None = None) -> HttpResponse:
    page = page_of(webhook.deliveries.all(), request.GET, lambda rows: rows, DELIVERIES_ON_A_PAGE)
    waiting = webhook.deliveries.filter(state=Delivery.State.WAITING).count()
    form = form or WebhookForm(initial={"url": webhook.url, "events": webhook.events})
    context = {"webhook": webhook, "page": page, "waiting": waiting, "most": sending.MAX_TRIES, "form": form}
    return render(request, "webhooks/webhook.html", context, status=422 if form.is_bound else 200)


@require_POST
@login_required
def edit(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Change the address of a webhook of your own, and what it sends."""
    webhook, form = _webhook(request, webhook_id), WebhookForm(request.POST)
    if not form.is_valid():
        return _page(request, webhook, form)
    operations.change(webhook, **form.cleaned_data)
    messages.info(request, "The webhook is changed. The change applies to new events.")
    return redirect(webhook)


@require_POST
@login_required
def change(request: HttpRequest, webhook_id: int) -> HttpResponse:
    """Turn a webhook of your own off or on, try it, or delete it."""
    webhook = _webhook(request, webhook_id)
    do = request.POST.get("do")
    if do == "off":
        operations.turn_off(webhook)
        messages.info(request, "The webhook is off. Waiting deliveries are kept.")
    elif do == "on":
        operations.turn_on(webhook)
        messages.info(request, "The webhook is on. It sends waiting deliveries and new events.")
    elif do == "test":
        try:
            operations.send_test(webhook)
            messages.info(request, "A test is sent. Your server's answer appears in the log below; reload the page.")
        except CannotTest as refusal:
            messages.info(request, str(refusal))
    elif do == "delete":
        operations.delete(webhook)
        messages.info(request, "The webhook is deleted. Nothing more will be sent to this address.")
        return redirect("accounts:account")
    else:
        messages.info(request, "Nothing was changed.")
    return redirect(webhook)


@require_POST
@login_required
def send_again(request: HttpRequest, delivery_id: str) -> HttpResponse:
    """Send a delivery of a webhook of your own again."""
    delivery = Delivery.objects.select_related("webhook").filter(pk=delivery_id, webhook__owner=request.user.pk).first()
    if delivery is None:
        raise Http404("There is no such delivery.")
    operations.send_again(delivery)
    if delivery.webhook.disabled:
        messages.info(request, "It is sent when you turn the webhook on.")
    else:
        messages.info(request, f"{delivery.event} is sent again, with the same id.")
    return redirect(delivery.webhook)


def _webhook(request: HttpRequest, webhook_id: int) -> Webhook:
    webhook = Webhook.objects.filter(pk=webhook_id, owner=request.user.pk).first()
    if webhook is None:
        raise Http404("There is no such webhook.")
    return webhook
