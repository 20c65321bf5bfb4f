"""Days of one short game, played to their end by people and agents."""

from __future__ import annotations

from datetime import timedelta
from hashlib import sha256
from itertools import count

import pytest
from django.db.models.functions import Now

from apps.daily import days, operations
from apps.episodes import operations as episodes
from apps.episodes.models import Episode
from apps.episodes.restore import restore
from apps.leaderboard.seasons import reveal
from apps.seasons.models import Season
from gem.agents import Request, make_agent
from gem.benchmarks import seeds

WORDLE = "game:Wordle-v0-easy"


def choose_wordle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every day be one of Wordle, and the words the same in every run, so that it takes the expert as long."""
    numbers = count()
    monkeypatch.setattr(days, "ENVIRONMENTS", (WORDLE,))
    monkeypatch.setattr(seeds, "new_key", lambda: sha256(b"word 4, %d" % next(numbers)).digest())


def act_out(episode: Episode, player: str, lost_turns: int = 0) -> Episode:
    """Play an episode to its end as an agent does, after some turns that solve nothing."""
    agent = make_agent(player)
    env = restore(episode)
    observation, info = episode.first_observation, episode.first_info
    while not episode.over:
        number = episode.turn_count + 1
        wasted = "\\boxed{zzzzz}" if number <= lost_turns else ""
        action = wasted or agent.act([Request(env, observation, info, number, 0)])[0].action
        turn = episodes.record_turn(episode, env, action)
        observation, info = turn.observation, turn.info
    return Episode.objects.get(pk=episode.pk)


def end(day: Season) -> Season:
    """The day when it is over, and open."""
    Season.objects.filter(pk=day.pk).update(ends=Now() - timedelta(seconds=1))
    operations.collect()
    assert reveal(Season.objects.get(pk=day.pk))
    return Season.objects.get(pk=day.pk)
