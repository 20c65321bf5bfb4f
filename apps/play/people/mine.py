"""The episodes that somebody plays or has played, with filters: the page "Your games"."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django import forms
from django.db.models import Exists, OuterRef, Q, QuerySet

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Episode, EpisodeQuerySet, Seat
from apps.episodes.visibility import seats_of

MAX_RUNNING = 12
PAGE_SIZE = 50
RESULTS = {
    "won": "won or solved",
    "lost": "lost or not solved",
    "limit": "turn limit",
    "running": "running",
    "abandoned": "given up",
}
AGAINST = {"alone": "nobody", "agents": "agents", "people": "people"}


class MineForm(forms.Form):
    """The filters of one's own games. An invalid value filters nothing."""

    env_id = forms.ChoiceField(label="Environment", required=False)
    against = forms.ChoiceField(label="Against", required=False, choices=[("", "any"), *AGAINST.items()])
    result = forms.ChoiceField(label="Result", required=False, choices=[("", "any"), *RESULTS.items()])

    def __init__(self, user: Viewer, visitor: str, *args: Any) -> None:
        super().__init__(*args)
        self.own = seats_of(user, visitor)
        self.is_own = Q(user=user.pk) if user.is_authenticated else Q(visitor=visitor, user=None)
        played = games(self.own).order_by().values_list("env_id", flat=True).distinct()
        env_id = self.fields["env_id"]
        assert isinstance(env_id, forms.ChoiceField)
        env_id.choices = [("", "any"), *((name, name) for name in sorted(played))]

    def episodes(self) -> EpisodeQuerySet:
        """The games that match the filters."""
        self.is_valid()
        values, found = self.cleaned_data, games(self.own)
        if values.get("env_id"):
            found = found.filter(env_id=values["env_id"])
        if values.get("against"):
            found = _against(found, self.is_own, values["against"])
        if values.get("result"):
            found = _with_result(found, self.own, values["result"])
        return found


def games(own: QuerySet[Seat]) -> EpisodeQuerySet:
    """The episodes with one of these seats."""
    return Episode.objects.filter(pk__in=own.values("episode"))


def _against(found: EpisodeQuerySet, is_own: Q, whom: str) -> EpisodeQuerySet:
    if whom == "alone":
        return found.filter(seat_count=1)
    of_human = Seat.objects.filter(episode=OuterRef("pk"), agent__kind=Agent.Kind.HUMAN)
    has_other = Exists(of_human.exclude(is_own))
    return found.filter(has_other if whom == "people" else ~has_other, seat_count__gt=1)


def _with_result(found: EpisodeQuerySet, own: QuerySet[Seat], result: str) -> EpisodeQuerySet:
    if result == "running":
        return found.running()
    if result == "abandoned":
        return found.filter(status=Episode.Status.ABANDONED)
    won = Exists(own.filter(episode=OuterRef("pk"), success=True))
    if result == "won":
        return found.ended().filter(won)
    return found.ended().filter(~won, truncated=result == "limit")


@dataclass(frozen=True, slots=True)
class Underway:
    """A game that goes on."""

    episode: Episode
    is_your_turn: bool
    waits_for: str
    """For what it waits, in words, if it is not the reader's turn."""


def underway(user: Viewer, visitor: str) -> list[Underway]:
    """The games of this person that go on, those first in which it is their turn."""
    running = games(seats_of(user, visitor)).running().with_seats().by_last_turn()[:MAX_RUNNING]
    found = []
    for episode in running:
        seats = sorted(episode.seats.all(), key=lambda seat: seat.number)
        is_yours = seats[episode.acting].belongs_to(user, visitor)
        free = next((seat for seat in seats if seat.is_free), None)
        waits_for = f"the {free.ordinal} seat is free" if free else f"waiting for {seats[episode.acting].who}"
        found.append(Underway(episode, is_yours and free is None, waits_for))
    return sorted(found, key=lambda game: not game.is_your_turn)
