"""A small season: a ranked job on hidden seeds of two environments, played as workers play it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db.models.functions import Now

from apps.accounts.models import User
from apps.jobs import operations
from apps.jobs.models import Job
from apps.seasons.models import Season
from gem import benchmarks
from gem.benchmarks import Benchmark
from gem.evaluation.spec import EvaluationSpec
from tests.workers.records import play_out

NAME = "games-easy"
ENV_IDS = ("game:GuessTheNumber-v0-easy", "game:WordSearch-v0-easy")
HIDDEN_SEEDS = 3


def shorten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the benchmark have two environments with three hidden seeds each while the test lasts."""
    load = benchmarks.load

    def load_short(name: str) -> Benchmark:
        whole = load(name)
        if name != NAME:
            return whole
        entries = [whole.entry(env_id) for env_id in ENV_IDS]
        return replace(whole, entries=tuple(replace(entry, hidden_seeds=HIDDEN_SEEDS, episodes=2) for entry in entries))

    monkeypatch.setattr(benchmarks, "load", load_short)


def submit(owner: User | None, agent: str = "random", **more: object) -> Job:
    """Submit a ranked job."""
    fields = {"agent": agent, "benchmark": NAME, "hidden_seeds": True, "num_envs": 4, **more}
    return operations.submit(owner, EvaluationSpec.model_validate(fields), visibility="public")


def ranked_job(owner: User | None, agent: str = "random") -> Job:
    """A ranked job, played to its end."""
    return play_out(submit(owner, agent))


def end(season: Season) -> Season:
    """The season as it is when its time is over."""
    Season.objects.filter(pk=season.pk).update(ends=Now() - timedelta(seconds=1))
    return Season.objects.get(pk=season.pk)
