"""The forms that start an episode: to play, or to watch an agent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

from django import forms
from django.http import Http404, QueryDict
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps.accounts.models import Viewer, default_visibility
from apps.agents.models import Agent, AgentQuerySet
from apps.catalog.entries import CATEGORIES
from apps.episodes.models import ORDINALS
from apps.episodes.tools.choice import ToolChoice
from apps.play.people.lobby_seats import refuse_unlisted
from apps.play.starting import once
from apps.visibility import VisibilityField
from gem import registry
from gem.agents import has_expert
from gem.errors import MissingDependency, UnknownEnvironment, UsageError
from gem.registry import EnvSpec
from gem.tools.tool_catalog import check_takes_tools
from gem.validation.values import MAX_SEED

PACES = [("0.25", "4 turns per second"), ("0.5", "2 turns per second"), ("1", "1 turn per second"),
         ("2", "1 turn every 2 seconds"), ("5", "1 turn every 5 seconds")]  # fmt: skip


def environments() -> list[tuple[str, list[tuple[str, str]]]]:
    """The choices of environments that can be created on this machine, each kind under its heading."""
    groups: dict[str, list[tuple[str, str]]] = {heading: [] for heading in CATEGORIES.values()}
    for spec in registry.specs():
        if not spec.missing_packages() and not spec.unavailable_reason():
            groups.setdefault(CATEGORIES.get(spec.category, spec.category), []).append((spec.id, spec.id))
    return [(heading, sorted(choices)) for heading, choices in groups.items() if choices]


def playable(agents: AgentQuerySet, spec: EnvSpec | None) -> AgentQuerySet:
    """These agents without the expert, if the environment has none."""
    return agents if spec is None or has_expert(spec.id) else agents.exclude(kind=Agent.Kind.EXPERT)


def who_plays(env_id: str) -> str:
    """The agent that a form proposes: the expert, or the random agent if the environment has no expert."""
    is_known = env_id in (spec.id for spec in registry.specs())
    return "random" if is_known and not has_expert(env_id) else "expert"


def prefilled(query: QueryDict, names: Iterable[str], *, is_part: bool = False) -> dict[str, Any]:
    """The initial values of a form from an address: `?env_id=...&seed=7`.

    With `is_part` the form is being filled in, and what was typed so far may be the beginning of an id.

    Raises:
        Http404: the environment does not exist; the message suggests a similar id.
    """
    try:
        if (env_id := query.get("env_id")) and not is_part:
            registry.spec(str(env_id))
    except UnknownEnvironment as error:
        raise Http404(str(error)) from error
    return {name: query[name] for name in names if name in query} | {"tool": query.getlist("tool")}


def withheld(user: Viewer, initial: Mapping[str, Any], *fields: str) -> Agent | None:
    """The first agent in these fields of `initial` that only people with an account may use; None if there is none."""
    return Agent.objects.withheld_from(user, *(str(initial.get(field, "")) for field in fields)).first()


class EnvironmentInput(forms.TextInput):
    """A text field that suggests the environments whose id or kind contains what is typed."""

    choices: list[tuple[str, list[tuple[str, str]]]] = []

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        """The field, and its suggestions as a list that browsers filter."""
        attributes = {"list": "environments", "autocomplete": "off", "spellcheck": "false", **(attrs or {})}
        attributes["class"] = f"{attributes.get('class', '')} id".strip()
        options = [(env_id, heading) for heading, ids in self.choices for env_id, _ in ids]
        field = super().render(name, value, attributes, renderer)
        suggestions = format_html_join("", '<option value="{}">{}</option>', options)
        return format_html('{}<datalist id="environments">{}</datalist>', field, suggestions)


class EnvironmentField(forms.CharField):
    """The id of a registered environment. For an unknown id, the error suggests a similar one."""

    def __init__(self) -> None:
        widget = EnvironmentInput(attrs={"placeholder": "for example game:Sokoban-v0-easy"})
        super().__init__(label="Environment", max_length=120, widget=widget)
        self.error_messages["required"] = "Choose an environment."

    def clean(self, value: Any) -> str:
        """The id, if the environment is registered and can be played here."""
        env_id: str = super().clean(value)
        try:
            spec = registry.spec(env_id)
        except UsageError as error:
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
ANYBODY = "anybody"
"""The choice of whoever takes the seat from the lobby."""
PEOPLE = {PERSON: "another person, by link", ANYBODY: "anybody, from the lobby"}


class SeatsForm(ToolChoice):
    """The fields that the forms share: the environment, its tools, and the players of several seats."""

    page = ""
    """The URL name of the form. The page requests it again when another environment is chosen."""

    env_id = EnvironmentField()
    idempotency_key = once.key_field()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        widget = self.fields["env_id"].widget
        assert isinstance(widget, EnvironmentInput)
        widget.choices = environments()
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
        """The chosen environment; None if none is chosen or the id is unknown."""
        try:
            return registry.spec(str(self["env_id"].value() or ""))
        except UnknownEnvironment:
            return None

    @property
    def seat_count(self) -> int:
        """The number of seats of the chosen environment; 1 if none is chosen."""
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

    def _offered(self, user: Viewer, name: str) -> AgentQuerySet:
        """The agents that the field offers: the expert only if the chosen environment has one."""
        agents = Agent.objects.offered_to(user, str(self[name].value() or ""))
        return agents if self.is_bound else playable(agents, self.chosen)


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
        offered = [(agent.slug, agent.name) for agent in self._offered(user, "opponent")]
        opponent.choices = [*offered, *PEOPLE.items()]
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
        if opponent == ANYBODY and (problem := refuse_unlisted(values.get("visibility") or "")):
            self.add_error("visibility", problem)
        if opponent in PEOPLE:
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
            field.queryset = self._offered(user, name)

    def clean(self) -> dict[str, Any]:
        """Remove the opponent if there is only one seat."""
        values = super().clean() or {}
        if values.get("env_id") and registry.spec(values["env_id"]).seats == 1:
            values["opponent"] = None
        return values

    def clean_pace(self) -> float:
        """The pace in seconds per turn; 1 if nothing was chosen."""
        return float(self.cleaned_data["pace"] or 1)
