"""The forms that start an episode: to play, or to watch an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.http import Http404, QueryDict
from django.urls import reverse

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import ORDINALS
from apps.episodes.tools.choice import ToolChoice
from gem import registry
from gem.agents import has_expert
from gem.core import MAX_SEED
from gem.errors import MissingDependency, UnknownEnvironment, UsageError
from gem.registry import EnvSpec
from gem.tools.tool_catalog import check_takes_tools

PACES = [("0.25", "4 turns per second"), ("0.5", "2 turns per second"), ("1", "1 turn per second"),
         ("2", "1 turn every 2 seconds"), ("5", "1 turn every 5 seconds")]  # fmt: skip


def environments() -> list[tuple[str, list[tuple[str, str]]]]:
    """Every environment that people may start from the web and that can be made here, games grouped by family."""
    families: dict[str, list[tuple[str, str]]] = {}
    for spec in registry.specs():
        if not spec.missing_packages() and not spec.unavailable_reason():
            group = spec.family if spec.category == "game" else spec.category
            families.setdefault(group, []).append((spec.id, spec.id))
    return list(families.items())


def who_plays(env_id: str) -> str:
    """The agent that a form proposes: the expert, or where this environment has none the random agent."""
    is_known = env_id in (spec.id for spec in registry.specs())
    return "random" if is_known and not has_expert(env_id) else "expert"


def prefilled(query: QueryDict, names: Iterable[str]) -> dict[str, Any]:
    """A form's first values from an address: `?env_id=...&seed=7`.

    Raises:
        Http404: if it names an environment that there is not; the sentence says which is near.
    """
    try:
        if env_id := query.get("env_id"):
            registry.spec(str(env_id))
    except UnknownEnvironment as error:
        raise Http404(str(error)) from error
    return {name: query[name] for name in names if name in query} | {"tool": query.getlist("tool")}


def withheld(user: Viewer, asked: Mapping[str, Any], *seats: str) -> Agent | None:
    """The agent that an address names for one of these seats and that plays for people with an account only."""
    return Agent.objects.withheld_from(user, *(str(asked.get(seat, "")) for seat in seats)).first()


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
        missing = spec.missing_packages()
        if missing:
            raise forms.ValidationError(str(MissingDependency(env_id, missing)))
        if spec.unavailable_reason():
            raise forms.ValidationError(f"{env_id} cannot be played here. {spec.unavailable_reason()}")
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
            help_text="The same seed gives the same start. Leave empty for a random seed.",
            error_messages={
                "invalid": "A seed is a whole number, for example 42.",
                "min_value": "A seed cannot be negative. The smallest seed is 0.",
                "max_value": "The largest seed is 9,223,372,036,854,775,807.",
            },
        )


PERSON = "person"
"""The opponent that is another person, who gets a link."""


class SeatsForm(ToolChoice):
    """What the forms share: an environment, tools where it takes some, and who sits where it has several seats."""

    page = ""
    """The name of the form's own address, which another environment asks for its fields."""

    env_id = EnvironmentField()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["env_id"].widget
        assert isinstance(widget, forms.Select)
        widget.choices = environments()
        widget.attrs |= {
            "hx-get": reverse(self.page),
            "hx-select": "#seating",
            "hx-target": "#seating",
            "hx-swap": "outerHTML",
            "hx-include": "closest form",
            "hx-trigger": "change",
        }

    @property
    def chosen(self) -> EnvSpec | None:
        """The environment that is chosen, the first while none is; None if there is no such environment."""
        try:
            return registry.spec(str(self["env_id"].value() or environments()[0][1][0][0]))
        except UnknownEnvironment:
            return None

    @property
    def seat_count(self) -> int:
        """How many seats the chosen environment has; 1 while none is chosen."""
        return self.chosen.seats if self.chosen else 1

    @property
    def takes_tools(self) -> bool:
        """Whether tools may be added to the chosen environment."""
        return self.seat_count == 1 and not (self.chosen and self.chosen.tools)

    def clean(self) -> dict[str, Any]:
        """Without tools where the environment takes none."""
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
    """Play an environment oneself."""

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
    unlisted = forms.BooleanField(
        required=False, label="Unlisted", help_text="Not shown in any list. Anyone with the link can still open it."
    )

    def __init__(self, user: Viewer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        opponent, seat = self.fields["opponent"], self.fields["seat"]
        assert isinstance(opponent, forms.ChoiceField)
        assert isinstance(seat, forms.ChoiceField)
        opponent.initial = who_plays(str(self["env_id"].value() or ""))  # before its value is read, which fixes it
        opponent.choices = [*self._agents(user, "opponent"), (PERSON, "another person, by link")]
        numbered = [(str(number), name) for number, name in enumerate(ORDINALS[: self.seat_count])]
        seat.choices = [("", "random"), *numbered]

    def clean_seat(self) -> int | None:
        """The number of the seat; None if it is to be drawn."""
        return int(self.cleaned_data["seat"]) if self.cleaned_data["seat"] else None

    def clean(self) -> dict[str, Any]:
        """With the agent that was chosen as `against`: None for a person, or where there is one seat."""
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
    """Let an agent play live."""

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

    def __init__(self, user: Viewer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.seat_count > 1:
            self.fields["agent"].label = "First seat"  # before its value is read, which fixes the label
        for name in ("agent", "opponent"):
            field = self.fields[name]
            assert isinstance(field, forms.ModelChoiceField)
            field.queryset = Agent.objects.offered_to(user, str(self[name].value() or ""))

    def clean(self) -> dict[str, Any]:
        """Without an opponent where there is one seat."""
        values = super().clean() or {}
        if values.get("env_id") and registry.spec(values["env_id"]).seats == 1:
            values["opponent"] = None
        return values

    def clean_pace(self) -> float:
        """Seconds for a turn; one if nothing was chosen."""
        return float(self.cleaned_data["pace"] or 1)
