"""The forms of connections: the name of a remote agent, its seats, and an episode to play by chat completions."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.names import validate_free_name
from apps.play.starting.forms import EnvironmentField, EnvironmentInput, SeedField, environments
from apps.remote.models import MOST_SEATS, USUAL_SEATS


class NewForm(forms.Form):
    """A remote agent to add."""

    name = forms.CharField(
        max_length=80,
        help_text="Shown on all pages.",
        validators=[validate_free_name],
        widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
        error_messages={
            "required": "Give it a name, for example my-agent.",
            "max_length": "A name has at most 80 characters.",
        },
    )


class SeatsForm(forms.Form):
    """How many turns an agent is asked for at a time."""

    seats = forms.IntegerField(
        label="Seats at once",
        min_value=1,
        max_value=MOST_SEATS,
        initial=USUAL_SEATS,
        error_messages={
            "required": "Say how many seats it takes at a time.",
            "invalid": f"The number of seats is a whole number from 1 to {MOST_SEATS}.",
            "min_value": "An agent takes at least one seat.",
            "max_value": f"An agent takes at most {MOST_SEATS} seats at a time.",
        },
    )


class ChatForm(forms.Form):
    """An episode that a program plays by chat completions."""

    env_id = EnvironmentField()
    seed = SeedField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["env_id"].widget
        assert isinstance(widget, EnvironmentInput)
        widget.choices = environments()
