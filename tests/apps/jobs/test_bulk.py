"""Episodes written with COPY are the same rows that the ORM reads, and replay exactly."""

import math

import pytest
from django.utils import timezone

from apps.agents.models import Agent
from apps.episodes.models import Batch, Episode
from apps.episodes.storing.bulk import copy_episodes, make_ids
from apps.episodes.text import storable_json
from gem.agents import has_expert, make_agent
from gem.records import EpisodeRecord, Identity, TurnRecord
from gem.replay import verify
from gem.rollout import EpisodeRequest, rollout

EASY = "game:GuessTheNumber-v0-easy"


@pytest.fixture
def agent(db: None) -> Agent:
    return Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})[0]


@pytest.mark.parametrize("env_id", [EASY, "game:Minesweeper-v0-easy", "game:Sokoban-v0-easy"])
@pytest.mark.parametrize("kind", ["random", "expert"])
def test_what_is_written_replays_exactly(agent: Agent, env_id: str, kind: str) -> None:
    if kind == "expert" and not has_expert(env_id):
        pytest.skip("there is no expert for it")
    batch = Batch.objects.create(kind=Batch.Kind.JOB)
    records = list(rollout(make_agent(kind), [EpisodeRequest(i, env_id, i) for i in range(5)]))
    copy_episodes(batch.pk, agent.pk, records, timezone.now(), of_job=True)
    written = {episode.slot: episode for episode in batch.episodes.with_seats()}
    assert len(written) == 5
    for record in records:
        episode = written[record.index]
        turns = [TurnRecord(t.action, t.observation, t.reward, t.info) for t in episode.turns.order_by("number")]
        assert verify(Identity(**episode.identity()), turns, first_observation=episode.first_observation) is None
        assert (episode.success, episode.truncated, episode.terminated) == (
            record.success,
            record.truncated,
            record.terminated,
        )
        assert episode.first_info == record.first_info
        assert episode.seats.get().total_reward == record.total_reward
        assert (episode.status, episode.state, episode.turn_count) == ("ended", None, len(record.turns))


def test_any_text_can_be_written(agent: Agent) -> None:
    nasty = "a\tb\nc\r\\d\\N \0 \ud800 é 🐙 \\boxed{1}"
    turn = TurnRecord(nasty, nasty, -0.5, {"suffix": nasty, "deep": [{"\0": nasty}]}, extra={"note": nasty})
    record = EpisodeRecord(
        0, Identity(EASY, 1, 2**53), nasty, {"suffix": nasty}, [turn], terminated=True, success=False
    )
    failed = EpisodeRecord(1, Identity(EASY, 1, 0), "", {}, [], failure=nasty)
    batch = Batch.objects.create(kind=Batch.Kind.JOB)
    copy_episodes(batch.pk, agent.pk, [record, failed], timezone.now(), of_job=True)
    shown = "a\tb\nc\r\\d\\N ␀ \ufffd é 🐙 \\boxed{1}"
    episode = batch.episodes.get(slot=0)
    written = episode.turns.get()
    assert (written.action, written.observation, episode.first_observation) == (shown, shown, shown)
    assert written.info == {"suffix": shown, "deep": [{"␀": shown}]}
    assert written.note == shown
    assert (episode.seed, episode.success) == (2**53, False)
    broken = batch.episodes.get(slot=1)
    assert (broken.status, broken.success, broken.failure) == (Episode.Status.FAILED, None, shown)


def test_what_json_does_not_have_is_written_as_its_text(agent: Agent) -> None:
    info = {"loss": math.nan, "best": [math.inf], "seen": {3}, (1, 2): "a pair", "half": 0.5}
    turn = TurnRecord("a", "b", 0.0, info)
    record = EpisodeRecord(0, Identity(EASY, 1, 3), "", {}, [turn], terminated=True, success=False)
    batch = Batch.objects.create(kind=Batch.Kind.JOB)
    copy_episodes(batch.pk, agent.pk, [record], timezone.now(), of_job=True)
    written = batch.episodes.get().turns.get().info
    assert written == {"loss": "nan", "best": ["inf"], "seen": "{3}", "(1, 2)": "a pair", "half": 0.5}
    assert written == storable_json(info)


def test_ids_are_many_and_different() -> None:
    ids = make_ids(10_000)
    assert len(set(ids)) == 10_000
    assert all(len(key) == 12 and set(key) <= set("0123456789abcdefghjkmnpqrstvwxyz") for key in ids)
