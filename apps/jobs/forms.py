"""The form that becomes an `EvaluationSpec`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import QueryDict

import gem
from apps.agents.models import Agent
from apps.episodes.tools import choice as tool_choice
from apps.names import validate_name
from apps.spec_forms import SpecForm, number_field
from apps.visibility import VisibilityField
from gem.errors import UsageError
from gem.evaluation.spec import EvaluationSpec

FIELDS = (
    "agent",
    "benchmark",
    "env_id",
    "episodes_per_env",
    "seed",
    "repeats",
    "num_envs",
    "max_turns",
    "token_budget",
    "money_budget",
    "max_episode_tokens",
    "opponent",
    "name",
    "visibility",
    *tool_choice.FIELDS,
)
MULTIVALUED = ("env_id", "tool")
"""Fields that may have several values."""
SPEC_FIELDS = {
    "agent",
    "opponent",
    "num_envs",
    "episodes_per_env",
    "seed",
    "repeats",
    "token_budget",
    "money_budget",
    "max_episode_tokens",
    "max_turns",
}
"""Fields with the name of a field of the specification."""
NO_AGENT = "There is no such agent. Choose one from the list."
NUMBER = "{what} must be a whole number, for example {example}."


class EnvironmentsField(forms.MultipleChoiceField):
    """Environment ids. The specification checks that they exist, and its errors name the nearest id."""

    def valid_value(self, value: Any) -> bool:
        """Accept any text of at most 120 characters."""
        return len(str(value)) <= 120


def _number(label: str, what: str, example: int, initial: int | None = None, *, required: bool = True) -> forms.Field:
    invalid = NUMBER.format(what=what, example=example)
    return number_field(label, required=required, initial=initial, invalid=invalid)


class EvaluationForm(tool_choice.ToolChoice, SpecForm[EvaluationSpec]):
    """The form of an evaluation. After validation, `spec` is the request."""

    spec_model = EvaluationSpec
    sentences = {"agent": NO_AGENT, "opponent": NO_AGENT}

    agent = forms.CharField(max_length=80, error_messages={"required": "Choose an agent."})
    benchmark = forms.CharField(max_length=80, required=False)
    env_id = EnvironmentsField(required=False)
    episodes_per_env = _number("Episodes per environment", "The number of episodes", 100, 100)
    seed = _number("First seed", "A seed", 42, 0)
    repeats = _number("Tries per seed", "The number of tries", 4, 1, required=False)
    num_envs = _number("Episodes at a time", "The number of parallel environments", 16, 16)
    token_budget = _number("Token budget", "The token budget", 1_000_000, required=False)
    money_budget = forms.FloatField(
        label="Money budget",
        required=False,
        error_messages={"invalid": "The money budget must be a number, for example 2.50."},
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
    )
    max_episode_tokens = _number("Tokens per episode", "The token limit of an episode", 20_000, required=False)
    opponent = forms.CharField(label="Opponent", max_length=80, required=False, widget=forms.Select())
    max_turns = _number("Turn limit", "The turn limit", 20, required=False)
    name = forms.CharField(
        max_length=120,
        required=False,
        strip=True,
        error_messages={"max_length": "A name has at most 120 characters."},
        validators=[validate_name],
    )
    visibility = VisibilityField(
        help_text="Only public jobs are on the leaderboard. The name of the agent is part of its episodes. You can "
        "change it on the page of the job."
    )
    idempotency_key = forms.CharField(max_length=80, required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Validate the values with the specification. Each of its errors is shown at the field that it concerns."""
        values = super().clean() or {}
        if self.errors:
            return values
        spec_values = {
            "agent": values["agent"],
            "num_envs": values["num_envs"],
            "token_budget": values["token_budget"],
            "money_budget": values["money_budget"],
            "tools": values["tool"],
            "max_tool_uses": values["max_tool_uses"],
            "tool_format": values["tool_format"],
            **(
                {"benchmark": values["benchmark"]}
                if values["benchmark"]
                else {
                    "env_ids": values["env_id"],
                    "episodes_per_env": values["episodes_per_env"],
                    "seed": values["seed"],
                    "repeats": values["repeats"] or 1,
                    "max_turns": values["max_turns"],
                    "max_episode_tokens": values["max_episode_tokens"],
                    "opponent": values["opponent"] or None,
                }
            ),
        }
        self.validate_spec(spec_values)
        return values

    def field_of(self, place: str) -> str | None:
        """Errors without a field of their own are shown at the choice of environments."""
        name = place.partition(".")[0]
        if name in SPEC_FIELDS:
            return name
        return "benchmark" if self.cleaned_data["benchmark"] else "env_id"

    def offer(self, agents: Iterable[Agent]) -> None:
        """Offer these agents as opponents."""
        widget = self.fields["opponent"].widget
        assert isinstance(widget, forms.Select)
        widget.choices = [("", "nobody"), *((agent.slug, agent.name) for agent in agents)]

    @property
    def chosen(self) -> list[str]:
        """The ids of the ticked environments."""
        return [str(env_id) for env_id in self["env_id"].value() or []]


def prefilled(query: QueryDict) -> dict[str, Any]:
    """Initial form values from a query such as `?env_id=...&agent=...`, without unknown fields and environments."""
    values: dict[str, Any] = {name: query[name] for name in FIELDS if name in query and name not in MULTIVALUED}
    values["tool"] = query.getlist("tool")
    values["env_id"] = list(dict.fromkeys(env_id for env_id in query.getlist("env_id") if _exists(env_id)))
    return values


def _exists(env_id: str) -> bool:
    try:
        gem.spec(env_id)
    except UsageError:
        return False
    return True
