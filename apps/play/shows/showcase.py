"""The showcase: an expert that plays on the home page for as long as somebody looks, one environment after another."""

from __future__ import annotations

from collections import defaultdict
from datetime import timedelta
from itertools import zip_longest

from django.db import transaction
from django.db.models.functions import Now
from django.template.loader import render_to_string

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode
from apps.live import presence, publish
from apps.live.topics import Event
from apps.play.models import Showcase
from apps.play.shows import operations as shows
from gem import registry
from gem.agents import has_expert

TOPIC = "showcase"
PACE_SECONDS = 1.2
PAUSE_SECONDS = 4
"""From the end of one episode to the beginning of the next, so that the result can be read."""
EPISODES_KEPT = 20
TURNS_AT_MOST = 100
"""Two minutes: a longer episode would keep the others from being shown."""


def rotation() -> list[str]:
    """The environments in which the expert shows itself: every family before the next difficulty of any."""
    families: defaultdict[str, list[str]] = defaultdict(list)
    for spec in registry.specs():
        short = (spec.kwargs.get("max_turns") or 0) <= TURNS_AT_MOST
        if short and spec.turns == "multi" and spec.winnable and spec.replay == "exact" and has_expert(spec.id):
            families[spec.family].append(spec.id)
    return [env_id for ids in zip_longest(*families.values()) for env_id in ids if env_id is not None]


def present() -> Showcase:
    """The showcase with its episode; the first one is begun now, so that the first visitor sees something."""
    found = Showcase.objects.select_related("episode__show").filter(pk=Showcase.MAIN).first()
    if found is not None and found.episode is not None:
        return found
    go_on()
    return Showcase.objects.select_related("episode__show").get(pk=Showcase.MAIN)


def is_watched() -> bool:
    """Whether anybody looks at the home page or at the showcase's episode."""
    episode_id = Showcase.objects.filter(pk=Showcase.MAIN).values_list("episode", flat=True).first()
    watched = presence.counts([f"{TOPIC}:{Showcase.MAIN}", f"episode:{episode_id}"])
    return any(watched.values())


@transaction.atomic
def go_on() -> Episode | None:
    """Begin the next episode if the present one has ended a while ago; only one process does it at a time."""
    Showcase.objects.get_or_create(pk=Showcase.MAIN)
    showcase = Showcase.objects.select_for_update(skip_locked=True).filter(pk=Showcase.MAIN).first()
    if showcase is None or _still_shown(showcase):
        return None
    environments = rotation()
    if not environments:
        return None
    expert = Agent.objects.filter(kind=Agent.Kind.EXPERT, owner=None).first()
    if expert is None:
        return None
    episode = shows.start(
        environments[showcase.number % len(environments)],
        expert,
        pace=PACE_SECONDS,
        showcase=True,
        batch=_batch(),
    )
    showcase.episode = episode
    showcase.number += 1
    showcase.seq += 1
    showcase.save()
    _forget_old()
    publish(f"{TOPIC}:{showcase.key}", showcase.seq)
    return episode


class ShowcaseTopic:
    """Which episode the home page shows; the turns come from the episode's own topic."""

    def current(self, key: str) -> int | None:
        """How often the episode has changed."""
        return Showcase.objects.filter(pk=key).values_list("seq", flat=True).first()

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """Everybody may look."""
        return audience == "home"

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """The present episode, whatever came before it."""
        showcase = Showcase.objects.select_related("episode__show").filter(pk=key, seq__gt=after).first()
        if showcase is None or showcase.episode is None:
            return []
        context = {"shot": showcase.shot, "swap_showcase": True}
        return [Event(showcase.seq, render_to_string("play/showcase.html#showcase-episode", context))]


def _still_shown(showcase: Showcase) -> bool:
    if showcase.episode is None:
        return False
    recent = Episode.objects.filter(pk=showcase.episode_id, ended__gt=Now() - timedelta(seconds=PAUSE_SECONDS))
    return not showcase.episode.over or recent.exists()


def _batch() -> Batch:
    batch = Batch.objects.filter(kind=Batch.Kind.SHOWCASE).first()
    return batch or Batch.objects.create(kind=Batch.Kind.SHOWCASE)


def _forget_old() -> None:
    of_showcase = Episode.objects.filter(show__showcase=True).order_by("-created")
    Episode.objects.filter(pk__in=list(of_showcase.values_list("pk", flat=True)[EPISODES_KEPT:])).delete()
