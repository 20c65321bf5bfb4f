"""Example episodes for the catalog, one for each environment, which the expert plays when the site starts."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode
from apps.episodes.storing.bulk import copy_episodes
from gem import registry
from gem.agents import has_expert, make_agent
from gem.records import EpisodeRecord
from gem.registry import EnvSpec
from gem.rollout import EpisodeRequest, rollout

SEEDS = range(7, 13)
"""Seeds to try: the example is the first episode that the expert solves, or the last one if it solves none."""
MAX_TURNS = 200
"""Environments with more turns get no example, because it would take long to make and to read."""


def missing_examples() -> list[str]:
    """The ids of environments that should have an example, but have none of their present version."""
    existing = set(Episode.objects.filter(batch__kind=Batch.Kind.EXAMPLE).values_list("env_id", "env_version"))
    return [spec.id for spec in registry.specs() if has_example(spec) and (spec.id, spec.version) not in existing]


def has_example(spec: EnvSpec) -> bool:
    """Whether an expert can play this environment in a short time."""
    return spec.cost == "fast" and (spec.kwargs.get("max_turns") or 0) <= MAX_TURNS and has_expert(spec.id)


@transaction.atomic
def make_examples() -> int:
    """Play and store the missing examples; returns their number."""
    env_ids = missing_examples()
    if not env_ids:
        return 0
    batch = Batch.objects.filter(kind=Batch.Kind.EXAMPLE).first() or Batch.objects.create(kind=Batch.Kind.EXAMPLE)
    last_slot = Episode.objects.filter(batch=batch).aggregate(last=Max("slot"))["last"]
    first_slot = 0 if last_slot is None else last_slot + 1
    records = [play_example(env_id, first_slot + number) for number, env_id in enumerate(env_ids)]
    expert = Agent.objects.get(kind=Agent.Kind.EXPERT, owner=None)
    copy_episodes(batch.pk, expert.pk, records, timezone.now(), of_job=False)
    return len(records)


def play_example(env_id: str, index: int) -> EpisodeRecord:
    """Play episodes with the expert until one is solved; returns this one, or the last one if none is solved."""
    expert = make_agent("expert")
    seeds = SEEDS if registry.spec(env_id).winnable else SEEDS[:1]
    for record in rollout(expert, (EpisodeRequest(index, env_id, seed) for seed in seeds), num_envs=1):
        if record.success:
            return record
    return record
