"""The form that makes an API token."""

from __future__ import annotations

from datetime import timedelta

from django import forms

from apps.api.models import Scope
from apps.names import validate_name

LIFETIMES = {
    "30": "30 days",
    "90": "90 days",
    "365": "a year",
    "": "until it is revoked",
}
"""Days by the value of the choice; empty for ever."""


class TokenForm(forms.Form):
    """A name, what the token may do, and how long it is valid."""

    name = forms.CharField(
        max_length=80,
        help_text="What it is for, such as the name of a program or a machine.",
        validators=[validate_name],
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        error_messages={
            "required": "Give it a name, for example laptop.",
            "max_length": "A name has at most 80 characters.",
        },
    )
    scopes = forms.MultipleChoiceField(
        choices=[(scope.value, scope.label) for scope in Scope if scope is not Scope.READ],
        required=False,
        error_messages={"invalid_choice": "There is no such scope. Choose play, submit, answer or manage."},
    )
    days = forms.ChoiceField(
        label="Valid for",
        choices=list(LIFETIMES.items()),
        required=False,
        initial="90",
        error_messages={"invalid_choice": "Choose 30 days, 90 days, a year or until it is revoked."},
    )

    @property
    def lifetime(self) -> timedelta | None:
        """After validation, how long the token is valid; None for ever."""
        days = self.cleaned_data["days"]
        return timedelta(days=int(days)) if days else None

    @property
    def offered(self) -> list[tuple[str, str, bool]]:
        """Every scope that can be chosen, what it means, and whether it is chosen."""
        chosen = self["scopes"].value() or []
        return [(scope.value, scope.label, scope.value in chosen) for scope in Scope if scope is not Scope.READ]
