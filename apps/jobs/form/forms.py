"""The form that becomes a `Submission`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django import forms
from django.http import QueryDict

from apps.agents.models import Agent
from apps.episodes.tools import choice as tool_choice
from apps.jobs.form import entries, matrix, picker
from apps.jobs.form.entries import FIELDS, ONE, SEVERAL
from apps.names import validate_name
from apps.spec_forms import SpecForm, number_field
from apps.visibility import VisibilityField
from gem import benchmarks
from gem.evaluation import wrapping
from gem.evaluation.by_benchmark import DEFAULT_MAX_ERROR_SHARE
from gem.evaluation.submission import MAX_NAME, MAX_NOTES, Submission

__all__ = ["FIELDS", "EvaluationForm", "TagsField", "prefilled"]

NUMBER = "{what} must be a whole number, for example {example}."
MAX_VALUE = 400
"""Characters of a value that is chosen and not typed."""
BACKENDS = (("sync", "one after the other"), ("threads", "in threads"))
PRIORITIES = (("normal", "normal"), ("high", "high: before my other jobs"), ("low", "low: after my other jobs"))
ERRORS = (("unanswered", "The agent gave no answer"), ("environment", "The environment failed"))


class ValuesField(forms.MultipleChoiceField):
    """Values that the specification checks, whose errors name what was probably meant."""

    def valid_value(self, value: Any) -> bool:
        """Accept any text of reasonable length."""
        return len(str(value)) <= MAX_VALUE

    def to_python(self, value: Any) -> list[str]:
        """The values that are not empty."""
        return [text for text in super().to_python(value) if text]


class EnvironmentsField(ValuesField):
    """Ids and patterns of environments."""

    def valid_value(self, value: Any) -> bool:
        """Accept any text of at most 120 characters."""
        return len(str(value)) <= 120


class TagsField(forms.CharField):
    """Tags between commas."""

    def clean(self, value: Any) -> list[str]:
        """The tags, each once."""
        tags = [tag.strip() for tag in str(super().clean(value)).split(",")]
        for tag in filter(None, tags):
            validate_name(tag)
        return list(dict.fromkeys(filter(None, tags)))


class AgainstField(forms.CharField):
    """The id of a job, which may also be the address of its page, or `group`."""

    def to_python(self, value: Any) -> str:
        """The id alone."""
        return (super().to_python(value) or "").partition("?")[0].rstrip("/").rpartition("/")[2]


def _number(label: str, what: str, example: int, initial: int | None = None, *, required: bool = True) -> forms.Field:
    invalid = NUMBER.format(what=what, example=example)
    return number_field(label, required=required, initial=initial, invalid=invalid)


def _money(label: str, invalid: str) -> forms.Field:
    widget = forms.TextInput(attrs={"inputmode": "decimal"})
    return forms.FloatField(label=label, required=False, error_messages={"invalid": invalid}, widget=widget)


class EvaluationForm(tool_choice.ToolChoice, SpecForm[Submission]):
    """The form of an evaluation. After validation, `spec` is the submission."""

    spec_model = Submission

    agent = ValuesField(error_messages={"required": "Choose an agent."})
    benchmark = forms.CharField(max_length=80, required=False)
    practice = forms.BooleanField(label="Practice", required=False)
    env_id = EnvironmentsField(required=False)
    row = ValuesField(required=False)
    column = ValuesField(required=False)
    cell = ValuesField(required=False)
    opened = ValuesField(required=False)
    episodes_per_env = _number("Episodes per environment", "The number of episodes", 100, 100)
    seed = _number("First seed", "A seed", 42, 0)
    repeats = _number("Tries per seed", "The number of tries", 4, 1, required=False)
    num_envs = _number("Episodes at a time", "The number of parallel environments", 16, 16)
    token_budget = _number("Token budget", "The token budget", 1_000_000, required=False)
    money_budget = _money("Money budget", "The money budget must be a number, for example 2.50.")
    turn_budget = _number("Turn budget", "The turn budget", 50_000, required=False)
    max_episode_tokens = _number("Tokens per episode", "The token limit of an episode", 20_000, required=False)
    max_episode_money = _money("Money per episode", "The money limit of an episode must be a number, for example 0.05.")
    opponent = forms.CharField(label="Opponent", max_length=80, required=False, widget=forms.Select())
    stop_against = AgainstField(
        label="Stop when decided against",
        max_length=200,
        required=False,
        help_text="The id of a job that plays the same seeds with the same settings. With two agents, enter group to "
        "compare them with each other; both jobs stop.",
    )
    max_turns = _number("Turn limit", "The turn limit", 20, required=False)
    wrapper = ValuesField(required=False, label="Wrappers")
    backend = forms.CharField(
        label="Environments are stepped", max_length=20, required=False, initial="sync",
        widget=forms.Select(choices=BACKENDS),
    )  # fmt: skip
    max_error_share = number_field(
        "Share of errors allowed",
        whole=False,
        initial=DEFAULT_MAX_ERROR_SHARE,
        inputmode="decimal",
        invalid="The share of errors that a job allows must be a number from 0 to 1, for example 0.1.",
    )
    retries = _number("Retries of an episode", "The number of retries", 2, 0, required=False)
    count_as_failed = ValuesField(required=False)
    name = forms.CharField(
        max_length=MAX_NAME,
        required=False,
        strip=True,
        error_messages={"max_length": "A name has at most 120 characters."},
        validators=[validate_name],
    )
    notes = forms.CharField(
        max_length=MAX_NOTES,
        required=False,
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"max_length": f"Notes have at most {MAX_NOTES:,} characters."},
    )
    tags = TagsField(max_length=600, required=False, help_text="Words to find the jobs by, with commas between them.")
    priority = forms.CharField(
        max_length=20,
        required=False,
        initial="normal",
        widget=forms.Select(choices=PRIORITIES),
        help_text="Among your own jobs. It has no effect on when the jobs of others are played.",
    )
    visibility = VisibilityField(
        help_text="Only public jobs are on the leaderboard. The name of the agent is part of its episodes. You can "
        "change it on the page of the job."
    )
    idempotency_key = forms.CharField(max_length=80, required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        """Validate the values with the submission. Every error is shown at the field that it concerns."""
        values = super().clean() or {}
        self.validate_spec({name: value for name, value in self._document(values).items() if value not in (None, "")})
        return values

    def _document(self, values: dict[str, Any]) -> dict[str, Any]:
        """The entries as the fields of a `Submission`. Of entries that cannot be read, the fields are missing."""
        document: dict[str, Any] = {
            "agents": values.get("agent"),
            "tools": values.get("tool"),
            "wrappers": [wrapping.of_word(text) for text in values.get("wrapper", [])],
            "count_as_failed": values.get("count_as_failed"),
            "visibility": values.get("visibility") or None,
        }
        plain = (
            "num_envs",
            "token_budget",
            "money_budget",
            "turn_budget",
            "max_tool_uses",
            "tool_format",
            "backend",
            "retries",
            "stop_against",
            "name",
            "notes",
            "tags",
        )
        document |= {name: values.get(name) for name in (*plain, "priority", "max_error_share")}
        if values.get("benchmark"):
            is_ranked = benchmarks.has_hidden_seeds(values["benchmark"]) and not values.get("practice")
            return document | {"benchmark": values["benchmark"]} | ({"hidden_seeds": True} if is_ranked else {})
        own = (
            "episodes_per_env",
            "seed",
            "repeats",
            "max_turns",
            "max_episode_tokens",
            "max_episode_money",
            "opponent",
        )
        document |= {"env_ids": values.get("env_id"), **{name: values.get(name) for name in own}}
        return document | {"without": self._without(values)}

    def _without(self, values: dict[str, Any]) -> list[matrix.Pair]:
        columns = [slug for slug in values.get("column", []) if slug in values.get("agent", [])]
        if not columns:
            return []
        experts = Agent.objects.filter(slug__in=columns, kind=Agent.Kind.EXPERT).values_list("slug", flat=True)
        env_ids = picker.known_ids(values.get("env_id", []))
        return matrix.left_out(values.get("row", []), columns, values.get("cell", []), env_ids, set(experts))

    def labels(self) -> dict[str, str]:
        """The form's labels by field of the submission."""
        labels = super().labels()
        return labels | {place: labels[name] for place, name in entries.BY_PLACE.items()}

    def field_of(self, place: str) -> str | None:
        """The field of the form for a field of the submission."""
        place = place.partition(".")[0]
        name = entries.BY_PLACE.get(place, place)
        if name == "env_id" and self.cleaned_data.get("benchmark"):
            return "benchmark"
        return name if name in self.fields else None

    def offer(self, agents: Iterable[Agent]) -> None:
        """Offer these agents as opponents."""
        widget = self.fields["opponent"].widget
        assert isinstance(widget, forms.Select)
        widget.choices = [("", "nobody"), *((agent.slug, agent.name) for agent in agents)]

    @property
    def waits(self) -> bool:
        """Whether nothing is wrong, but agents or environments are still to be chosen."""
        empty = {name for name in ("agent", "env_id") if not any(self[name].value() or [])}
        return bool(self.errors) and self.errors.keys() <= empty

    @property
    def chosen_agents(self) -> list[str]:
        """The slugs of the chosen agents."""
        value = self["agent"].value() or []
        return [value] if isinstance(value, str) else [str(slug) for slug in value]

    @property
    def chosen(self) -> list[str]:
        """The ids and patterns of the chosen environments."""
        return [str(env_id) for env_id in self["env_id"].value() or []]

    @property
    def offered_wrappers(self) -> list[tuple[str, str, str, bool]]:
        """Every wrapper: its name, the value of its check box, what it does, and whether it is chosen."""
        chosen = {wrapping.of_word(text).get("name"): text for text in self["wrapper"].value() or []}
        return [(name, chosen.get(name, name), does, name in chosen) for name, does in wrapping.OFFERED.items()]

    @property
    def offered_errors(self) -> list[tuple[str, str, bool]]:
        """Every kind of error, and whether it counts as not solved."""
        chosen = self["count_as_failed"].value() or []
        return [(value, label, value in chosen) for value, label in ERRORS]

    @property
    def document(self) -> str:
        """After validation, the submission as JSON."""
        return json.dumps(self.spec.plain(), indent=2, ensure_ascii=False) if self.spec else ""


def prefilled(query: QueryDict) -> dict[str, Any]:
    """Initial form values from entries such as `?env_id=...&agent=...`, without unknown fields and environments."""
    values: dict[str, Any] = {name: query[name] for name in ONE if name in query}
    values |= {name: query.getlist(name) for name in SEVERAL}
    values["env_id"] = [token for token in dict.fromkeys(query.getlist("env_id")) if picker.known_ids([token])]
    if not values["agent"]:
        del values["agent"]
    return values
