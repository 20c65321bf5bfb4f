"""The forms that start an episode: to play, or to watch an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from django import forms
from django.http import Http404, QueryDict
from django.urls import reverse

from apps.accounts.models import Viewer, default_visibility
from apps.agents.models import Agent
from apps.episodes.models import ORDINALS
from apps.episodes.tools.choice import ToolChoice
from apps.visibility import VisibilityField
from gem import registry
from gem.agents import has_expert
from gem.core import MAX_SEED
from gem.errors import MissingDependency, UnknownEnvironment, UsageError
from gem.registry import EnvSpec
from gem.tools.tool_catalog import check_takes_tools

PACES = [("0.25", "4 turns per second"), ("0.5", "2 turns per second"), ("1", "1 turn per second"),
         ("2", "1 turn every 2 seconds"), ("5", "1 turn every 5 seconds")]  # fmt: skip


def environments() -> list[tuple[str, list[tuple[str, str]]]]:
    """The choices of environments that can be created on this machine; games are grouped by family."""
    families: dict[str, list[tuple[str, str]]] = {}
    for spec in registry.specs():
        if not spec.missing_packages() and not spec.unavailable_reason():
            group = spec.family if spec.category == "game" else spec.category
            families.setdefault(group, []).append((spec.id, spec.id))
    return list(families.items())


def who_plays(env_id: str) -> str:
    """The agent that a form proposes: the expert, or the random agent if the environment has no expert."""
    is_known = env_id in (spec.id for spec in registry.specs())
    return "random" if is_known and not has_expert(env_id) else "expert"


def prefilled(query: QueryDict, names: Iterable[str]) -> dict[str, Any]:
    """The initial values of a form from an address: `?env_id=...&seed=7`.

    Raises:
        Http404: the environment does not exist; the message suggests a similar id.
    """
    try:
        if env_id := query.get("env_id"):
            registry.spec(str(env_id))
    except UnknownEnvironment as error:
        raise Http404(str(error)) from error
    return {name: query[name] for name in names if name in query} | {"tool": query.getlist("tool")}


def withheld(user: Viewer, initial: Mapping[str, Any], *fields: str) -> Agent | None:
    """The first agent in these fields of `initial` that only people with an account may use; None if there is none."""
    return Agent.objects.withheld_from(user, *(str(initial.get(field, "")) for field in fields)).first()


class EnvironmentField(forms.CharField):
    """The id of a registered environment. For an unknown id, the error suggests a similar one."""

    def __init__(self) -> None:
        super().__init__(label="Environment", max_length=120, widget=forms.Select())
        self.error_messages["required"] = "Choose an environment."

    def clean(self, value: Any) -> str:
        """The id, if the environment is registered and can be played here."""
        env_id: str = super().clean(value)
        try:
            spec = registry.spec(env_id)
        except UnknownEnvironment as error:
            raise forms.ValidationError(str(error)) from error
        missing = spec.missing_packages()
        if missing:
            raise forms.ValidationError(str(MissingDependency(env_id, missing)))
        if spec.unavailable_reason():
            raise forms.ValidationError(f"{env_id} cannot be played here. {spec.unavailable_reason()}")
        return env_id


class SeedField(forms.IntegerField):
    """A seed; empty for a random one."""

    def __init__(self) -> None:
        super().__init__(
            label="Seed",
            required=False,
            min_value=0,
            max_value=MAX_SEED,
            widget=forms.TextInput(attrs={"inputmode": "numeric", "autocomplete": "off", "maxlength": 19}),
            help_text="The same seed gives the same start. Leave empty for a random seed.",
            error_messages={
                "invalid": "A seed is a whole number, for example 42.",
                "min_value": "A seed cannot be negative. The smallest seed is 0.",
                "max_value": "The largest seed is 9,223,372,036,854,775,807.",
            },
        )


PERSON = "person"
"""The choice of another person, who joins by a link, as the opponent."""


class SeatsForm(ToolChoice):
    """The fields that the forms share: the environment, its tools, and the players of several seats."""

    page = ""
    """The URL name of the form. The page requests it again when another environment is chosen."""

    env_id = EnvironmentField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["env_id"].widget
        assert isinstance(widget, forms.Select)
        self._environments = environments()
        widget.choices = self._environments
        widget.attrs |= {
            "hx-get": reverse(self.page),
            "hx-select": "#seating",
            "hx-target": "#seating",
            "hx-swap": "outerHTML",
            "hx-include": "closest form",
            "hx-trigger": "change",
        }

    @cached_property
    def chosen(self) -> EnvSpec | None:
        """The chosen environment, or the first one if none is chosen; None if the id is unknown."""
        try:
            return registry.spec(str(self["env_id"].value() or self._environments[0][1][0][0]))
        except UnknownEnvironment:
            return None

    @property
    def seat_count(self) -> int:
        """The number of seats of the chosen environment; 1 if the id is unknown."""
        return self.chosen.seats if self.chosen else 1

    @property
    def takes_tools(self) -> bool:
        """Whether tools may be added to the chosen environment."""
        return self.seat_count == 1 and not (self.chosen and self.chosen.tools)

    def clean(self) -> dict[str, Any]:
        """Reject tools if the environment takes none."""
        values = super().clean() or {}
        if values.get("tool") and values.get("env_id"):
            try:
                check_takes_tools(registry.spec(values["env_id"]))
            except UsageError as error:
                self.add_error("tool", str(error))
        return values

    def _agents(self, user: Viewer, name: str) -> list[tuple[str, str]]:
        agents = Agent.objects.offered_to(user, str(self[name].value() or ""))
        return [(agent.slug, agent.name) for agent in agents]


class NewForm(SeatsForm):
    """The form to play an environment oneself."""

    page = "play:new"

    opponent = forms.ChoiceField(
        label="Against",
        required=False,
        error_messages={"invalid_choice": "This opponent is not available. Choose one from the list."},
    )
    seat = forms.ChoiceField(
        label="Your seat",
        required=False,
        help_text="The first seat acts first.",
        error_messages={
            "invalid_choice": "There is no such seat. Choose the first seat, the second seat or a random one."
        },
    )
    seed = SeedField()
    visibility = VisibilityField(help_text="You can change it on the page of the episode.")

    def __init__(self, user: Viewer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["visibility"].initial = default_visibility(user)
        self.user = user
        opponent, seat = self.fields["opponent"], self.fields["seat"]
        assert isinstance(opponent, forms.ChoiceField)
        assert isinstance(seat, forms.ChoiceField)
        # Set before the value is read, because reading fixes it.
        opponent.initial = who_plays(str(self["env_id"].value() or ""))
        opponent.choices = [*self._agents(user, "opponent"), (PERSON, "another person, by link")]
        choices = [(str(number), name) for number, name in enumerate(ORDINALS[: self.seat_count])]
        seat.choices = [("", "random"), *choices]

    def clean_seat(self) -> int | None:
        """The number of the seat; None for a random seat."""
        return int(self.cleaned_data["seat"]) if self.cleaned_data["seat"] else None

    def clean(self) -> dict[str, Any]:
        """Add the chosen agent as `against`: None for a person, or if there is only one seat."""
        values = super().clean() or {}
        env_id, opponent = values.get("env_id"), values.get("opponent")
        if env_id is None or opponent is None:
            return values
        values["against"] = None
        if registry.spec(env_id).seats == 1:
            return values
        if opponent == PERSON:
            if values.get("seed") is not None:
                self.add_error(
                    "seed", "Against another person the seed is random, because it would reveal hidden information."
                )
            return values
        slug = opponent or ("expert" if has_expert(env_id) else "random")
        values["against"] = Agent.objects.selectable_by(self.user).get(slug=slug)
        return values


class WatchForm(SeatsForm):
    """The form to let an agent play live."""

    page = "play:watch_new"

    agent = forms.ModelChoiceField(
        Agent.objects.none(),
        to_field_name="slug",
        empty_label=None,
        error_messages={
            "required": "Choose an agent.",
            "invalid_choice": "This agent is not available. Choose one from the list.",
        },
    )
    opponent = forms.ModelChoiceField(
        Agent.objects.none(),
        label="Second seat",
        required=False,
        to_field_name="slug",
        empty_label="the same agent",
        error_messages={"invalid_choice": "This agent is not available. Choose one from the list."},
    )
    seed = SeedField()
    pace = forms.ChoiceField(
        choices=PACES, required=False, initial="1", help_text="You can change it while the agent plays."
    )
    visibility = VisibilityField(help_text="You can change it on the page of the episode.")

    def __init__(self, user: Viewer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["visibility"].initial = default_visibility(user)
        if self.seat_count > 1:
            self.fields["agent"].label = "First seat"  # set before the value is read, because reading fixes the label
        for name in ("agent", "opponent"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = Agent.objects.offered_to(user, str(self[name].value() or ""))

    def clean(self) -> dict[str, Any]:
        """Remove the opponent if there is only one seat."""
        values = super().clean() or {}
        if values.get("env_id") and registry.spec(values["env_id"]).seats == 1:
            values["opponent"] = None
        return values

    def clean_pace(self) -> float:
        """The pace in seconds per turn; 1 if nothing was chosen."""
        return float(self.cleaned_data["pace"] or 1)
