"""The filters of the list of episodes."""

from __future__ import annotations

from django import forms
from django.db.models import Q

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Episode, EpisodeQuerySet
from gem import registry
from gem.validation.values import MAX_SEED

OUTCOMES = {
    Episode.Outcome.WON: Q(status=Episode.Status.ENDED, success=True),
    Episode.Outcome.LOST: Q(status=Episode.Status.ENDED, success=False, truncated=False),
    Episode.Outcome.LIMIT: Q(status=Episode.Status.ENDED, success=False, truncated=True),
    Episode.Outcome.ERROR: Q(status=Episode.Status.FAILED),
    Episode.Outcome.RUNNING: Q(status=Episode.Status.RUNNING),
    Episode.Outcome.ABANDONED: Q(status=Episode.Status.ABANDONED),
}


SEALED = Q(seat_count__gt=1) & (Q(status=Episode.Status.RUNNING) | Q(goes_on_in__isnull=False))
"""Sealed episodes: a search by seed must not reveal their seeds, because a seed reveals what is hidden."""


def environment_choices() -> list[tuple[str, str]]:
    """All environments, and any of them. A form calls it when the choices are needed, because there are hundreds."""
    return [("", "any"), *((spec.id, spec.id) for spec in registry.specs())]


class FilterForm(forms.Form):
    """The filters of the list. An invalid value filters nothing and shows an error."""

    env_id = forms.ChoiceField(label="Environment", required=False, choices=environment_choices)
    agent = forms.ModelChoiceField(
        Agent.objects.none(), label="Agent", required=False, to_field_name="slug", empty_label="any"
    )
    outcome = forms.ChoiceField(
        label="Outcome",
        required=False,
        choices=[("", "any"), *((value, label) for value, label in Episode.Outcome.choices)],
    )
    seed = forms.IntegerField(
        label="Seed",
        required=False,
        min_value=0,
        max_value=MAX_SEED,
        error_messages={"invalid": "A seed is a whole number, for example 42."},
    )
    source = forms.ChoiceField(
        label="Source", required=False, choices=[("", "people and shows"), ("jobs", "jobs"), ("all", "all")]
    )
    mine = forms.BooleanField(label="Only mine", required=False)

    def __init__(self, user: Viewer, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        agent = self.fields["agent"]
        assert isinstance(agent, forms.ModelChoiceField)
        agent.queryset = Agent.objects.named_to(user)

    def episodes(self, user: Viewer, visitor: str) -> EpisodeQuerySet:
        """The episodes that match the filters and that a list may show to this person."""
        self.is_valid()
        values = self.cleaned_data
        if values.get("mine"):
            episodes = Episode.objects.owned_outside_jobs(user, visitor)
        else:
            episodes = Episode.objects.listed_for(user)
        if values.get("env_id"):
            episodes = episodes.filter(env_id=values["env_id"])
        if values.get("agent"):
            episodes = episodes.filter(seats__agent=values["agent"])
        if values.get("outcome"):
            episodes = episodes.filter(OUTCOMES[Episode.Outcome(values["outcome"])])
        if values.get("seed") is not None:
            episodes = episodes.filter(seed=values["seed"]).exclude(SEALED)
        if values.get("source") == "jobs":
            return episodes.filter(of_job=True)
        if values.get("source") != "all":
            return episodes.filter(of_job=False)
        return episodes
