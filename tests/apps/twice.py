"""Forms that a browser sends twice: what it sends, and where it is led."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.test import Client

from tests.apps.meanwhile import Elsewhere, meanwhile


def entries_of(page: HttpResponse, action: str) -> dict[str, str]:
    """The hidden fields of the first form with this address, its key among them."""
    text = page.content.decode()
    form = text[text.index(f'action="{html.escape(action)}') :].partition("</form>")[0]
    fields = [dict(re.findall(r'(\w+)="([^"]*)"', field)) for field in re.findall("<input[^>]*>", form)]
    hidden = [field for field in fields if field.get("type") == "hidden"]
    entries = {field["name"]: html.unescape(field.get("value", "")) for field in hidden}
    assert re.fullmatch("[0-9a-f]{32}", entries.get("idempotency_key", "")), "the form has no key"
    return {name: value for name, value in entries.items() if name != "csrfmiddlewaretoken"}


def key_on(page: HttpResponse, action: str) -> str:
    """The key of the first form with this address."""
    return entries_of(page, action)["idempotency_key"]


def twice_at_once(send: Callable[[], HttpResponse], before: str = 'INTO "episodes_seat"') -> list[str]:
    """Where two requests lead that are sent at once."""
    answers: list[HttpResponse] = []
    again = Elsewhere(lambda: answers.append(send()))
    with meanwhile(before, again) as it:
        answers.append(send())
    again.end()
    assert it.happened
    assert again.refusal is None
    return [answer["Location"] for answer in answers]


def copy_of(client: Client) -> Any:
    """Another connection of the same browser, with the cookies that it has now."""
    other = type(client)()
    other.cookies.load({name: morsel.value for name, morsel in client.cookies.items()})
    return other
