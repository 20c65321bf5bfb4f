"""The showcase: while somebody watches the home page, an expert plays one environment after another there."""

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
"""The pause between two episodes, so that the result can be read."""
MAX_EPISODES = 20
MAX_TURNS = 100
"""An episode may last about two minutes, so that other environments get their turn."""


def rotation() -> list[str]:
    """The environments of the showcase in order: one difficulty of every family, then the next difficulty.

    All of them are fast, because the transaction that begins an episode makes the environment.
    """
    families: defaultdict[str, list[str]] = defaultdict(list)
    for spec in registry.specs():
        is_short = (spec.kwargs.get("max_turns") or 0) <= MAX_TURNS
        is_suitable = spec.cost == "fast" and spec.turns == "multi" and spec.winnable and spec.replay == "exact"
        if is_short and is_suitable and has_expert(spec.id):
            families[spec.family].append(spec.id)
    return [env_id for ids in zip_longest(*families.values()) for env_id in ids if env_id is not None]


def present() -> Showcase:
    """The showcase with its episode. Starts the first episode if there is none, so that the first visitor sees one."""
    showcase = Showcase.objects.select_related("episode__show").filter(pk=Showcase.MAIN).first()
    if showcase is not None and showcase.episode is not None:
        return showcase
    go_on()
    return Showcase.objects.select_related("episode__show").get(pk=Showcase.MAIN)


def is_watched() -> bool:
    """Whether anybody watches the home page or the showcase's episode."""
    episode_id = Showcase.objects.filter(pk=Showcase.MAIN).values_list("episode", flat=True).first()
    spectators = presence.counts([f"{TOPIC}:{Showcase.MAIN}", f"episode:{episode_id}"])
    return any(spectators.values())


@transaction.atomic
def go_on() -> Episode | None:
    """Begin the next episode if the current one ended some seconds ago. Only one process does this at a time."""
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
    _delete_old_episodes()
    publish(f"{TOPIC}:{showcase.key}", showcase.seq)
    return episode


class ShowcaseTopic:
    """The topic "showcase": which episode the home page shows. The turns come from the topic "episode"."""

    def current(self, key: str) -> int | None:
        """The number of episodes shown so far."""
        return Showcase.objects.filter(pk=key).values_list("seq", flat=True).first()

    def shows(self, key: str, viewer: Viewer, visitor: str) -> bool:
        """Everybody may see it."""
        return True

    def allows(self, key: str, audience: str, viewer: Viewer, visitor: str) -> bool:
        """Anyone may watch."""
        return audience == "home"

    def events(self, key: str, after: int, audience: str) -> list[Event]:
        """One event with the current episode."""
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


def _delete_old_episodes() -> None:
    of_showcase = Episode.objects.filter(show__showcase=True).order_by("-created")
    Episode.objects.filter(pk__in=list(of_showcase.values_list("pk", flat=True)[MAX_EPISODES:])).delete()
