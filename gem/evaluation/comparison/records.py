"""Runs made of stored episodes, as `gemweb eval --out` writes them and a site exports them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from gem.errors import UsageError
from gem.evaluation.comparison.runs import Run, ScoredEpisode
from gem.evaluation.faults import NO_FAULTS, Faults, faults_of
from gem.records import StoredEpisode


def runs_of(stored_episodes: Iterable[StoredEpisode]) -> list[Run]:
    """Make a run of the episodes of each agent, in the order in which the agents appear.

    Episodes with the same agent, environment, seed and seat are tries.

    Raises:
        UsageError: if there are no episodes, one of several seats does not say whose it is, or a return is not finite.
    """
    by_agent: dict[str, list[StoredEpisode]] = {}
    for stored in stored_episodes:
        if not stored.opponent and ", " in stored.agent:
            raise UsageError(
                f"{stored.name} has several seats and does not say which agent it is an episode of. "
                "Files that this version writes say so: fetch them again."
            )
        by_agent.setdefault(stored.agent, []).append(stored)
    if not by_agent:
        raise UsageError("There are no episodes to compare.")
    return [_run(agent or "unnamed", own) for agent, own in by_agent.items()]


def _run(name: str, stored_episodes: list[StoredEpisode]) -> Run:
    tries: Counter[tuple[str, int, int]] = Counter()
    episodes: list[ScoredEpisode] = []
    environments: dict[str, dict[str, Any]] = {}
    settings: dict[str, Any] = {}
    faults = NO_FAULTS
    for stored in stored_episodes:
        record, identity = stored.record, stored.record.identity
        if not math.isfinite(record.total_reward):
            raise UsageError(
                f"The return of {stored.name} is {record.total_reward}, which cannot be compared. gemweb replay says "
                "at which turn it differs from what the environment gives."
            )
        place = (identity.env_id, identity.seed, record.seat)
        episodes.append(
            ScoredEpisode(
                *place,
                repeat=tries[place],
                total_reward=record.total_reward,
                success=bool(record.success),
                turns=record.turn_count,
                tokens=sum(record.tokens),
                failed=record.failed_by == "environment",
                unanswered=record.failed_by == "agent",
                name=stored.name,
            )
        )
        tries[place] += 1
        faults = Faults(*map(sum, zip(faults, faults_of(record), strict=True)))
        _note(settings, {"set_up": dict(stored.set_up or {}), "opponent": stored.opponent})
        _note(settings, {"engine_version": stored.engine_version})
        environment = {
            "env_version": identity.env_version,
            "env_kwargs": dict(identity.env_kwargs),
            "wrappers": [dict(wrapper) for wrapper in identity.wrappers],
            "data_hash": identity.data_hash,
            "max_turns": record.max_turns,
        }
        _note(environments.setdefault(identity.env_id, {}), environment)
    return Run(name, episodes, settings, environments, faults=faults)


def _note(settings: dict[str, Any], found: Mapping[str, Any]) -> None:
    """Add settings; where the episodes of a run differ, the value is the text of both."""
    for name, value in found.items():
        if name not in settings:
            settings[name] = value
        elif settings[name] != value and not str(settings[name]).endswith(str(value)):
            settings[name] = f"{settings[name]}, then {value}"
