"""Slow environments: their turns wait for a worker, as those of people do, and are answered when it has played them."""

from __future__ import annotations

import asyncio
from uuid import UUID

import pytest
from channels.db import database_sync_to_async as in_thread
from pytest_django.fixtures import Settings

import gem
from apps.episodes import operations
from apps.episodes.models import Episode, PendingTurn
from apps.openenv import queued
from apps.play import pending
from apps.visibility import Visibility
from tests.apps.openenv.harness import connected

pytestmark = pytest.mark.django_db(transaction=True)

ENV_ID = "math:GSM8K"
TOKEN = UUID(int=1)


@pytest.fixture(autouse=True)
def human(transactional_db: None) -> None:
    """The agent in the seats of people."""
    from apps.agents.models import Agent

    Agent.objects.get_or_create(slug="human", defaults={"name": "human", "kind": "human", "colour": 2})


def play_waiting() -> bool:
    """Play what waits, as a worker does; whether there was anything."""
    episode_ids = pending.claim(TOKEN, 9)
    for episode_id in episode_ids:
        claimed = pending.begin(episode_id, TOKEN)
        pending.finish(claimed, TOKEN, operations.step(claimed.episode, claimed.env, claimed.action))
    return bool(episode_ids)


async def work() -> None:
    """Wait for a turn, and play it."""
    while not await in_thread(play_waiting)():
        await asyncio.sleep(0.01)


async def test_a_turn_is_answered_when_a_worker_has_played_it() -> None:
    env = gem.make(ENV_ID)
    text, _ = env.reset(seed=5)
    async with connected(ENV_ID) as socket:
        first = (await socket.ask("reset", {"seed": 5}))["data"]["observation"]
        assert first["messages"][0]["content"] == text
        asked = asyncio.create_task(socket.ask("step", {"message": "\\boxed{1}"}))
        await work()
        turn = (await asked)["data"]
        assert (turn["observation"]["messages"][0]["content"], turn["reward"]) == env.step("\\boxed{1}")[:2]
        assert turn["done"]
        assert (await socket.ask("state"))["data"]["step_count"] == 1
    episode = await in_thread(Episode.objects.get)()
    assert (episode.status, episode.visibility) == (Episode.Status.ENDED, Visibility.PRIVATE)


async def test_a_turn_that_nobody_plays_is_answered_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queued, "TURN_SECONDS", 0.05)
    async with connected(ENV_ID) as socket:
        await socket.ask("reset", {"seed": 5})
        reply = await socket.ask("step", {"message": "\\boxed{1}"})
        assert reply["data"]["code"] == "EXECUTION_ERROR"
        assert "No worker" in reply["data"]["message"]
        again = await socket.ask("step", {"message": "\\boxed{1}"})
        assert again["data"]["code"] == "EXECUTION_ERROR"
    assert (await in_thread(Episode.objects.get)()).status == Episode.Status.ABANDONED
    assert await in_thread(PendingTurn.objects.count)() <= 1


async def test_who_leaves_gives_the_episode_up() -> None:
    async with connected(ENV_ID) as socket:
        await socket.ask("reset", {"seed": 5})
        await socket.ask("reset", {"seed": 6})
    rows = await in_thread(lambda: list(Episode.objects.order_by("seed").values_list("seed", "status")))()
    assert rows == [(5, Episode.Status.ABANDONED), (6, Episode.Status.ABANDONED)]


async def test_visitors_begin_as_many_episodes_a_minute_as_on_the_pages(settings: Settings) -> None:
    settings.STARTS_PER_MINUTE = 1  # and four times as many at one address
    async with connected(ENV_ID, address="198.51.100.9") as first, connected(ENV_ID, address="198.51.100.9") as second:
        for socket in (first, second, first, second):
            assert (await socket.ask("reset", {"seed": 5}))["type"] == "observation"
        refused = (await second.ask("reset", {"seed": 5}))["data"]
    assert refused["code"] == "EXECUTION_ERROR"
    assert "You can start 4 episodes per minute" in refused["message"]
    assert await in_thread(Episode.objects.count)() == 4
