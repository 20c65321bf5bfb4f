"""The form that starts a duel."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.accounts.models import Viewer, default_visibility
from apps.agents.models import Agent
from apps.play.starting import once
from apps.play.starting.forms import PACES, EnvironmentField, EnvironmentInput, SeedField, environments, playable
from apps.visibility import VisibilityField
from gem import registry
from gem.errors import UnknownEnvironment
from gem.registry import EnvSpec

MYSELF = "you"
"""The choice that stands for the person who fills in the form. No agent has this slug."""


class DuelForm(forms.Form):
    """Two agents, or a person and an agent, on one environment and one seed."""

    env_id = EnvironmentField()
    first = forms.ChoiceField(
        label="Left", error_messages={"invalid_choice": "This agent is not available. Choose one from the list."}
    )
    second = forms.ChoiceField(
        label="Right", error_messages={"invalid_choice": "This agent is not available. Choose one from the list."}
    )
    seed = SeedField()
    pace = forms.ChoiceField(choices=PACES, required=False, initial="1", help_text="You can change it while they play.")
    free = forms.BooleanField(
        required=False,
        label="Each at its own pace",
        help_text="Otherwise an agent waits until the other has taken as many turns.",
    )
    visibility = VisibilityField(help_text="You can change it on the page of the duel.")
    like = forms.CharField(required=False, max_length=12, widget=forms.HiddenInput())
    """The id of an episode whose environment, seed, arguments and wrappers the duel copies."""
    idempotency_key = once.key_field()

    def __init__(self, user: Viewer, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        self.fields["visibility"].initial = default_visibility(user)
        env_id, first, second = self.fields["env_id"], self.fields["first"], self.fields["second"]
        assert isinstance(env_id.widget, EnvironmentInput)
        assert isinstance(first, forms.ChoiceField)
        assert isinstance(second, forms.ChoiceField)
        env_id.widget.choices = [
            (group, choices)
            for group, ids in environments()
            if (choices := [choice for choice in ids if _has_one_seat(choice[0])])
        ]
        first.choices = [(MYSELF, "you"), *self._agents("first")]
        second.choices = self._agents("second")

    def _agents(self, name: str) -> list[tuple[str, str]]:
        agents = Agent.objects.offered_to(self.user, str(self[name].value() or ""))
        if not self.is_bound:
            agents = playable(agents, self._chosen)
        return [(agent.slug, agent.name) for agent in agents]

    @property
    def _chosen(self) -> EnvSpec | None:
        """The chosen environment; None if none is chosen or the id is unknown."""
        try:
            return registry.spec(str(self["env_id"].value() or ""))
        except UnknownEnvironment:
            return None

    def clean_pace(self) -> float:
        """The pace in seconds per turn; 1 if nothing was chosen."""
        return float(self.cleaned_data["pace"] or 1)

    @property
    def agents(self) -> list[Agent]:
        """The agents that play, from left to right, without the person."""
        slugs = [self.cleaned_data[name] for name in ("first", "second")]
        by_slug = Agent.objects.selectable_by(self.user).in_bulk(
            [slug for slug in slugs if slug != MYSELF], field_name="slug"
        )
        return [by_slug[slug] for slug in slugs if slug in by_slug]

    @property
    def plays(self) -> bool:
        """Whether the person plays on the left."""
        return bool(self.cleaned_data["first"] == MYSELF)


def _has_one_seat(env_id: str) -> bool:
    return registry.spec(env_id).seats == 1
