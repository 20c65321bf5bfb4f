"""Evaluations where there are several seats: each seed from each seat, against an agent in the others."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes import operations as episodes
from apps.episodes.models import Episode
from apps.jobs import operations, results
from apps.jobs.models import Job
from apps.jobs.results.finished import finished
from gem.agents import make_agent
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import EpisodeRequest, rollout
from tests.workers.records import play_out

TICTACTOE, GUESS = "duel:TicTacToe-v0", "game:GuessTheNumber-v0-easy"


@pytest.fixture
def agents(transactional_db: None) -> None:
    """The built-in agents, in rows that the thread which renews a lease can see."""
    for kind in ("random", "expert", "human"):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": 8})


def played(**more: Any) -> Job:
    wanted = {"agent": "expert", "env_ids": (TICTACTOE,), "opponent": "random", "episodes_per_env": 25, "seed": 40}
    job = operations.submit(None, EvaluationSpec.model_validate(wanted | more))
    play_out(job)
    return Job.objects.get(pk=job.pk)


@pytest.mark.usefixtures("agents")
def test_each_seed_is_played_from_each_seat() -> None:
    job = played()
    assert job.state == Job.State.DONE
    found = Episode.objects.filter(batch=job.batch_id).order_by("slot")
    assert [(one.seed, one.scored_seat) for one in found] == [(40 + i // 2, i % 2) for i in range(25)]
    for one in found:
        slugs = list(one.seats.order_by("number").values_list("agent__slug", flat=True))
        assert slugs == (["expert", "random"] if one.scored_seat == 0 else ["random", "expert"])
        assert one.success == one.seats.get(number=one.scored_seat).success
        assert episodes.verify(one) is None


@pytest.mark.usefixtures("agents")
def test_the_numbers_are_those_of_the_agent_and_each_episode_counts_once() -> None:
    job = played()
    slots = [EpisodeRequest(i, TICTACTOE, 40 + i // 2, seat=i % 2) for i in range(25)]
    records = list(rollout(make_agent("expert"), slots, opponent=make_agent("random")))
    expected = Counter(record.total_reward for record in records)
    shown = list(finished(job))
    assert len(shown) == 25
    assert Counter(one.reached for one in shown) == expected  # type: ignore[attr-defined]
    histogram = results.histogram(job)
    assert histogram is not None
    assert histogram.most == max(expected.values())
    shard = job.shards.get()
    assert (shard.done, shard.won) == (25, expected[1.0])
    assert min(expected) >= 0, "the expert does not lose, whoever begins"


@pytest.mark.usefixtures("agents")
def test_environments_of_one_seat_may_be_beside_them() -> None:
    job = played(env_ids=(GUESS, TICTACTOE), episodes_per_env=5)
    assert job.state == Job.State.DONE
    counts = Counter(Episode.objects.filter(batch=job.batch_id).values_list("env_id", "seat_count"))
    assert counts == {(GUESS, 1): 5, (TICTACTOE, 2): 5}


@pytest.mark.usefixtures("agents")
def test_the_page_names_the_opponent_and_the_seat_of_each_episode(client: Client) -> None:
    job = played()
    page = client.get(job.get_absolute_url()).content.decode()
    assert "expert on TicTacToe-v0 against random" in page
    assert "<dt>Opponent</dt>" in page
    assert (
        'aria-label="Seed 40, second seat: solved"' in page or 'aria-label="Seed 40, second seat: not solved"' in page
    )
    assert "opponent=random" in page, "the form can be filled with the same request"
    assert client.get(f"{job.get_absolute_url()}episodes/").status_code == 200


def test_the_form_says_what_is_missing(client: Client, db: None) -> None:
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    client.force_login(User.objects.create_user("ada"))
    send = {"agent": "random", "benchmark": "", "env_id": [TICTACTOE], "episodes_per_env": 10, "seed": 0, "num_envs": 4}
    page = client.post("/jobs/new/", send)
    assert page.status_code == 422
    assert "name an opponent for the others" in page.content.decode()
    page = client.post("/jobs/new/", {**send, "env_id": [GUESS], "opponent": "random"})
    assert "None of these environments has a seat for an opponent" in page.content.decode()
    assert not Job.objects.exists()
    assert client.post("/jobs/new/", {**send, "opponent": "nobody-knows"}).status_code == 422
    assert client.post("/jobs/new/", {**send, "opponent": "random"}).status_code == 302
    assert Job.objects.get().spec["opponent"] == "random"
