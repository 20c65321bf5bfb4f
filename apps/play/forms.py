"""What is asked for before an episode begins."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from gem import registry
from gem.agents import AGENT_KINDS
from gem.core import MAX_SEED
from gem.errors import MissingDependency, UnknownEnvironment

PACES = [("0.25", "4 turns a second"), ("0.5", "2 turns a second"), ("1", "1 turn a second"),
         ("2", "a turn in 2 seconds"), ("5", "a turn in 5 seconds")]  # fmt: skip


def environments() -> list[tuple[str, list[tuple[str, str]]]]:
    """Every environment that people may start from the web and that can be made here, games grouped by family."""
    families: dict[str, list[tuple[str, str]]] = {}
    for spec in registry.specs():
        if spec.cost == "fast" and not spec.missing():
            group = spec.family if spec.category == "game" else spec.category
            families.setdefault(group, []).append((spec.id, spec.id))
    return list(families.items())


class EnvironmentField(forms.CharField):
    """A registered environment; an unknown one is answered with the nearest."""

    def __init__(self) -> None:
        super().__init__(label="Environment", max_length=120, widget=forms.Select())
        self.error_messages["required"] = "Choose an environment."

    def clean(self, value: Any) -> str:
        """The id, if it is registered."""
        env_id: str = super().clean(value)
        try:
            spec = registry.spec(env_id)
        except UnknownEnvironment as error:
            raise forms.ValidationError(str(error)) from error
        if spec.cost != "fast":
            raise forms.ValidationError(f"{env_id} is too slow to be played in the browser yet.")
        missing = spec.missing()
        if missing:
            raise forms.ValidationError(str(MissingDependency(env_id, missing)))
        return env_id


class SeedField(forms.IntegerField):
    """A seed, or nothing for a new one."""

    def __init__(self) -> None:
        super().__init__(
            label="Seed",
            required=False,
            min_value=0,
            max_value=MAX_SEED,
            widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off", "maxlength": 19}),
            help_text="The same seed gives the same start. Empty draws a new one.",
            error_messages={
                "invalid": "A seed is a whole number, for example 42.",
                "min_value": "A seed is not negative; the smallest is 0.",
                "max_value": "A seed is at most 9,223,372,036,854,775,807.",
            },
        )


class NewForm(forms.Form):
    """Play an environment oneself."""

    env_id = EnvironmentField()
    seed = SeedField()
    unlisted = forms.BooleanField(
        required=False, label="Unlisted", help_text="In no list; whoever has the address can still open it."
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["env_id"].widget
        assert isinstance(widget, forms.Select)
        widget.choices = environments()


class WatchForm(forms.Form):
    """Let an agent play live."""

    env_id = EnvironmentField()
    agent = forms.ModelChoiceField(
        Agent.objects.none(),
        to_field_name="slug",
        empty_label=None,
        error_messages={"required": "Choose an agent.", "invalid_choice": "There is no such agent to choose."},
    )
    seed = SeedField()
    pace = forms.ChoiceField(choices=PACES, required=False, initial="1", help_text="It can be changed while it plays.")

    def __init__(self, user: Viewer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["env_id"].widget
        assert isinstance(widget, forms.Select)
        widget.choices = environments()
        agent = self.fields["agent"]
        assert isinstance(agent, forms.ModelChoiceField)
        agent.queryset = Agent.objects.selectable_by(user).filter(kind__in=AGENT_KINDS)

    def clean_pace(self) -> float:
        """Seconds for a turn; one if nothing was chosen."""
        return float(self.cleaned_data["pace"] or 1)
