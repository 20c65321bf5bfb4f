"""The form that adds or changes a webhook."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit, urlunsplit

from django import forms
from django.core.exceptions import ValidationError

from apps.agents.players import guard
from apps.webhooks.models import MAX_URL_CHARACTERS, OFFERED
from gem.client.events import EVENTS
from gem.errors import InvalidArgument
from gem.net.http import check_url

GROUPS = {
    "job": "Your evaluations",
    "training": "Your trainings",
    "episode": "Live episodes that you play or start",
    "duel": "Your duels",
}
"""The titles of the groups of events, by the beginning of their names."""
CHOSEN_AT_FIRST = ["job.ended", "training.ended"]


def check_address(address: str) -> str:
    """The address in a normalized form. It may have a query, as many receivers have one.

    Raises:
        ValidationError: if it is none, or names a private address that this site does not connect to.
    """
    try:
        parts = urlsplit(address.strip())
        url = check_url(urlunsplit(parts._replace(query="")))
    except (ValueError, InvalidArgument) as error:
        raise ValidationError(str(error)) from error
    host, port = urlsplit(url).hostname or "", urlsplit(url).port or (443 if parts.scheme == "https" else 80)
    try:
        ipaddress.ip_address(host)
    except ValueError:
        pass  # a name: what it means is checked whenever something is sent
    else:
        if not guard().allows(host, port):
            raise ValidationError(
                "This is a private address, and this site does not connect to it. Use a public one, or ask an "
                "administrator to put its network on the list (PRIVATE_ENDPOINTS)."
            )
    if not parts.query.isprintable() or any(character.isspace() for character in parts.query):
        raise ValidationError("An address has no spaces.")
    return f"{url}?{parts.query}" if parts.query else url


class WebhookForm(forms.Form):
    """An address, and the events that are sent to it."""

    url = forms.CharField(
        label="Address",
        max_length=MAX_URL_CHARACTERS,
        help_text="Receives a POST for each event. Use https://, so that nobody can read it in transit.",
        widget=forms.TextInput(attrs={"inputmode": "url", "autocomplete": "off", "spellcheck": "false"}),
        error_messages={
            "required": "Enter an address, for example https://example.org/gemweb.",
            "max_length": f"An address has at most {MAX_URL_CHARACTERS} characters.",
        },
    )
    events = forms.MultipleChoiceField(
        choices=[(name, name) for name in OFFERED],
        initial=CHOSEN_AT_FIRST,
        error_messages={
            "required": "Choose at least one event.",
            "invalid_choice": f"There is no event %(value)s. Choose from {', '.join(OFFERED)}.",
        },
    )

    def clean_url(self) -> str:
        """See `check_address`."""
        return check_address(self.cleaned_data["url"])

    @property
    def offered(self) -> list[tuple[str, list[tuple[str, str, bool]]]]:
        """The events that can be chosen in groups with their titles: name, what it means, and whether it is chosen."""
        chosen = self["events"].value() or []
        groups: dict[str, list[tuple[str, str, bool]]] = {}
        for name in OFFERED:
            meaning = (EVENTS[name].__doc__ or "").partition("\n")[0].replace("`", "")
            groups.setdefault(GROUPS[name.partition(".")[0]], []).append((name, meaning, name in chosen))
        return list(groups.items())
