"""The filters of the list of episodes."""

from __future__ import annotations

from django import forms
from django.db.models import Q

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Episode, EpisodeQuerySet
from apps.episodes.visibility import seats_of
from gem import registry
from gem.core import MAX_SEED

OUTCOMES = {
    Episode.Outcome.WON: Q(status=Episode.Status.ENDED, success=True),
    Episode.Outcome.LOST: Q(status=Episode.Status.ENDED, success=False, truncated=False),
    Episode.Outcome.LIMIT: Q(status=Episode.Status.ENDED, success=False, truncated=True),
    Episode.Outcome.ERROR: Q(status=Episode.Status.FAILED),
    Episode.Outcome.RUNNING: Q(status=Episode.Status.RUNNING),
    Episode.Outcome.ABANDONED: Q(status=Episode.Status.ABANDONED),
}


SEALED = Q(seat_count__gt=1) & (Q(status=Episode.Status.RUNNING) | Q(goes_on_in__isnull=False))
"""Where the seed tells what is hidden, it must not be found by asking for it."""


class FilterForm(forms.Form):
    """What the list shows; a value that makes no sense filters nothing and says so."""

    env_id = forms.ChoiceField(label="Environment", required=False)
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
        field = self.fields["env_id"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "any"), *((spec.id, spec.id) for spec in registry.specs())]

    @property
    def page(self) -> int:
        """The page of the list, 1 for the newest."""
        text = self.data.get("page", "1")
        return min(10_000, max(1, int(text))) if text.isascii() and text.isdecimal() and len(text) < 6 else 1

    def episodes(self, user: Viewer, visitor: str) -> EpisodeQuerySet:
        """The episodes that pass the filters, of those that a list may show to this person."""
        self.is_valid()
        chosen = self.cleaned_data
        if chosen.get("mine"):
            episodes = Episode.objects.filter(pk__in=seats_of(user, visitor).values("episode"))
        else:
            episodes = Episode.objects.visible_to(user)
        if chosen.get("env_id"):
            episodes = episodes.filter(env_id=chosen["env_id"])
        if chosen.get("agent"):
            episodes = episodes.filter(seats__agent=chosen["agent"])
        if chosen.get("outcome"):
            episodes = episodes.filter(OUTCOMES[Episode.Outcome(chosen["outcome"])])
        if chosen.get("seed") is not None:
            episodes = episodes.filter(seed=chosen["seed"]).exclude(SEALED)
        if chosen.get("source") == "jobs":
            return episodes.filter(of_job=True)
        if chosen.get("source") != "all":
            return episodes.filter(of_job=False)
        return episodes
