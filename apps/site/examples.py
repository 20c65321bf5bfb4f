"""An example episode of every environment: played by the expert when the site starts, shown in the catalog."""

from __future__ import annotations

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from apps.agents.models import Agent
from apps.episodes.bulk import copy_episodes
from apps.episodes.models import Batch, Episode
from gem import registry
from gem.agents import has_expert, make_agent
from gem.records import EpisodeRecord
from gem.registry import EnvSpec
from gem.rollout import EpisodeRequest, rollout

SEEDS = range(7, 13)
"""The first of these that the expert solves is the example; the last one if it solves none."""
TURNS_AT_MOST = 200
"""Longer episodes are no examples: a site starts with them, and nobody looks at a thousand turns to get an idea."""


def missing_examples() -> list[str]:
    """The environments that should have an example but have none of their present version."""
    there = set(Episode.objects.filter(batch__kind=Batch.Kind.EXAMPLE).values_list("env_id", "env_version"))
    return [spec.id for spec in registry.specs() if has_example(spec) and (spec.id, spec.version) not in there]


def has_example(spec: EnvSpec) -> bool:
    """Whether an expert plays this environment quickly."""
    return spec.cost == "fast" and (spec.kwargs.get("max_turns") or 0) <= TURNS_AT_MOST and has_expert(spec.id)


@transaction.atomic
def make_examples() -> int:
    """Play and keep what is missing; returns how many episodes that were."""
    env_ids = missing_examples()
    if not env_ids:
        return 0
    batch = Batch.objects.filter(kind=Batch.Kind.EXAMPLE).first() or Batch.objects.create(kind=Batch.Kind.EXAMPLE)
    last = Episode.objects.filter(batch=batch).aggregate(last=Max("slot"))["last"]
    first = 0 if last is None else last + 1
    records = [play_example(env_id, first + number) for number, env_id in enumerate(env_ids)]
    expert = Agent.objects.get(kind=Agent.Kind.EXPERT, owner=None)
    copy_episodes(batch.pk, expert.pk, records, timezone.now(), of_job=False)
    return len(records)


def play_example(env_id: str, index: int) -> EpisodeRecord:
    """An episode of the expert, solved if that takes few attempts."""
    expert = make_agent("expert")
    seeds = SEEDS if registry.spec(env_id).winnable else SEEDS[:1]
    for record in rollout(expert, (EpisodeRequest(index, env_id, seed) for seed in seeds), num_envs=1):
        if record.success:
            return record
    return record
