"""The page of learning curves: one for each recipe that was measured, by family, in some order."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

from apps.accounts.models import Viewer
from apps.catalog.learned import Learned, learned
from apps.jobs.models import Checkpoint, Job
from gem import registry
from gem.training.spec import TrainingSpec
from gem.wrappers.wrapper_factory import TOOL_WRAPPERS

FAMILIES = {
    "game": "games",
    "rg": "reasoning",
    "math": "mathematics",
    "duel": "duels",
    "code": "code",
    "qa": "questions",
    "logic": "logic",
    "dialogue": "dialogues",
    "shop": "shop",
    "terminal": "terminal",
}
"""The families of environments, by the first part of their ids."""
MOST_TRAININGS = 12
ORDERS = {"family": "by family", "gain": "by gain", "time": "by CPU time", "name": "by name"}


def family_of(env_id: str) -> str:
    """The family of an environment, in words."""
    kind = env_id.partition(":")[0]
    return FAMILIES.get(kind, kind)


def curves_page(query: Mapping[str, Any]) -> dict[str, Any]:
    """The context of the page.

    Args:
        query: may have a `family`, and the order as `sort`.
    """
    everything = learned()
    counts: dict[str, int] = {}
    for one in everything:
        counts[family_of(one.env_id)] = counts.get(family_of(one.env_id), 0) + 1
    family = query.get("family", "")
    order = query.get("sort", "family")
    chosen = [one for one in everything if family in ("", family_of(one.env_id))]
    return {
        "learned": sorted(chosen, key=_key(order)),
        "families": sorted(counts.items(), key=lambda item: (-item[1], item[0])),
        "family": family if family in counts else "",
        "number": len(everything),
        "orders": ORDERS,
        "order": order if order in ORDERS else "family",
        "facts": _facts(everything),
    }


def _key(order: str) -> Any:
    if order == "gain":
        return lambda one: one.before - one.mean
    if order == "time":
        return lambda one: one.seconds
    if order == "name":
        return lambda one: one.recipe.name
    families = list(FAMILIES.values())
    return lambda one: (
        families.index(family_of(one.env_id)) if family_of(one.env_id) in families else len(families),
        one.recipe.name,
    )


def _facts(everything: list[Learned]) -> dict[str, Any]:
    if not everything:
        return {}
    seconds = [seed.cpu_seconds for one in everything for seed in one.result.seeds]
    return {
        "rising": sum(one.result.rises for one in everything),
        "before": statistics.fmean(one.before for one in everything),
        "after": statistics.fmean(one.mean for one in everything),
        "median": statistics.median(seconds),
        "longest": max(seconds),
        "runs": len(seconds),
        "hours": sum(seconds) / 3600,
    }


def recipe_page(name: str, viewer: Viewer) -> dict[str, Any] | None:
    """The context of the page of a recipe that was measured: its curve, its seeds, and the trainings of this site that
    began with it. None if there is no such recipe."""
    one = next((one for one in learned() if one.recipe.name == name), None)
    if one is None:
        return None
    trainings = Job.objects.trainings().listed_for(viewer).filter(spec__recipe=name)
    rows = list(trainings.select_related("agent", "owner")[:MOST_TRAININGS])
    newest: dict[str, Checkpoint] = {}
    for checkpoint in Checkpoint.objects.filter(job__in=rows).select_related("agent").order_by("update"):
        newest[checkpoint.job_id] = checkpoint
    return {
        "one": one,
        "spec": one.recipe.training_spec,
        "turns": turns_in_words(one.recipe.training_spec),
        "trainings": [(row, newest.get(row.pk)) for row in rows],
    }


def turns_in_words(spec: TrainingSpec) -> str:
    """How long the episodes of a training are: one turn, with calls of tools before it if there are any, or many."""
    if registry.spec(spec.env_id).turns != "single":
        return "many turns"
    has_tools = any(wrapper["name"] in TOOL_WRAPPERS for wrapper in spec.wrappers)
    return "one answer, after calls of tools" if has_tools else "one turn"
