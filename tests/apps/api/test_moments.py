"""Answers of the API are of one moment, whatever another process commits before any of their queries."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.db.models import F

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.duels import operations as duels
from apps.episodes import operations as episodes
from apps.episodes.models import Batch, Episode
from apps.jobs import operations as jobs
from apps.jobs.models import Job, Shard
from apps.play import operations as play
from apps.play import pending
from gem.evaluation.spec import EvaluationSpec
from tests.apps.agents import built_in
from tests.apps.api.conftest import Program
from tests.apps.meanwhile import MOST_QUERIES, Elsewhere, Meanwhile, meanwhile

ENV_ID = "game:GuessTheNumber-v0-easy"
SLOW = "math:GSM8K"

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def person(transactional_db: None) -> User:
    built_in("human")
    return User.objects.create_user("ada")


def guess(episode: Episode, number: int) -> None:
    user, seq = User.objects.get(), Episode.objects.get(pk=episode.pk).seq
    play.take_turn(episode.pk, f"\\boxed{{{number}}}", expected_seq=seq, user=user, visitor="")


def begin(user: User) -> Episode:
    return play.begin(ENV_ID, seed=7, user=user, visitor="")


def solve(episode: Episode) -> None:
    guess(episode, Episode.objects.get(pk=episode.pk).state["env"]["secret"])  # type: ignore[index]


def at_every_query(read: Callable[[], Any], happens: Callable[[], object], check: Callable[[Any], object]) -> set[Any]:
    """Let something happen before the first query of an answer, before the second, and so on. Returns what was read."""
    seen = set()
    for before in range(1, MOST_QUERIES):
        other = Elsewhere(happens)
        with meanwhile(before, other) as it:
            answer = read()
        if not it.happened:
            return seen
        other.end()
        assert other.refusal is None
        seen.add(check(answer))
    raise AssertionError("so many queries does no answer take")


@pytest.mark.parametrize("path", ["", "/record.json"])
def test_an_episode(person: User, program_of: Callable[..., Program], path: str) -> None:
    program, now = program_of(person), [begin(person)]

    def end() -> None:
        solve(now[0])

    def check(answer: dict[str, Any]) -> bool:
        now[0] = begin(person)
        played = bool(answer["turn_count"])
        assert (answer["outcome"] == "won", answer["seats"][0]["total_reward"] > 0) == (played, played), answer
        assert len(answer.get("turns", [0] * played)) == played, answer
        return played

    assert at_every_query(lambda: program.get(f"episodes/{now[0].pk}{path}").json(), end, check) == {True, False}


def start_slow(program: Program) -> dict[str, Any]:
    """A new episode of a slow environment."""
    begun: dict[str, Any] = program.post("episodes", {"env_id": SLOW, "seed": 5}).json()
    return begun


def work() -> None:
    """Play the pending turn, as a worker does."""
    token = uuid4()
    for episode_id in pending.claim(token, 9):
        claim = pending.begin(episode_id, token)
        pending.finish(claim, token, episodes.step(claim.episode, claim.env, claim.action))


def check_slow(answer: dict[str, Any], begun: dict[str, Any]) -> bool:
    """Assert that the answer is from before or after the turn; whether it is from after it."""
    played: bool = answer["turn_count"] == 1
    assert (answer["terminated"], answer["pending"]) == (played, not played), answer
    assert (answer["observation"] != begun["observation"]) == played, answer
    return played


def test_a_slow_episode_while_a_worker_plays_its_turn(person: User, program_of: Callable[..., Program]) -> None:
    program = program_of(person)

    def begin_turn() -> dict[str, Any]:
        begun = start_slow(program)
        program.post(f"episodes/{begun['id']}/turns", {"action": "\\boxed{1}", "expected_seq": begun["seq"]})
        return begun

    now = [begin_turn()]

    def check(answer: dict[str, Any]) -> bool:
        played = check_slow(answer, now[0])
        now[0] = begin_turn()
        return played

    assert at_every_query(lambda: program.get(f"episodes/{now[0]['id']}").json(), work, check) == {True, False}


def test_the_answer_to_a_turn_that_a_worker_plays_meanwhile(
    person: User, program_of: Callable[..., Program], monkeypatch: pytest.MonkeyPatch
) -> None:
    program, take_turn = program_of(person), play.take_turn
    seen = set()
    for before in range(1, MOST_QUERIES):
        begun, other = start_slow(program), Elsewhere(work)
        waits = ExitStack()
        it: list[Meanwhile] = []

        def accept(*arguments: Any, **more: Any) -> Any:
            accepted = take_turn(*arguments, **more)
            it.append(waits.enter_context(meanwhile(before, other)))  # noqa: B023 (it is called in this round)
            return accepted

        monkeypatch.setattr(play, "take_turn", accept)
        with waits:
            turn = {"action": "\\boxed{1}", "expected_seq": begun["seq"]}
            answer = program.post(f"episodes/{begun['id']}/turns", turn)
        result = answer.json()
        played = check_slow(result["episode"], begun)
        assert (answer.status_code, len(result["turns"])) == ((201, 1) if played else (202, 0)), result
        seen.add(played)
        if not it[0].happened:
            break
        other.end()
    assert seen == {True, False}


def test_a_duel(person: User, program_of: Callable[..., Program]) -> None:
    program, agent = program_of(person), built_in("random")

    def start() -> Batch:
        return duels.start(duels.DuelStart(ENV_ID, 7), [agent], plays=True, user=person, visitor="")

    now = [start()]

    def check(answer: dict[str, Any]) -> int:
        now[0] = start()
        turns = sum(each["turn_count"] for each in answer["episodes"])
        assert answer["seq"] == turns + 2, "two have joined"
        return turns

    def play_on() -> None:
        guess(now[0].episodes.get(slot=0), 10)

    assert at_every_query(lambda: program.get(f"duels/{now[0].pk}").json(), play_on, check) == {0, 1}


def test_the_end_of_a_duel_is_kept_from_nobody_who_follows_it(person: User, program_of: Callable[..., Program]) -> None:
    program, agent = program_of(person), built_in("random")

    def start() -> Batch:
        duel = duels.start(duels.DuelStart(ENV_ID, 7), [agent, agent], user=person, visitor="")
        duels.shows.stop(duel.episodes.get(slot=0).pk)
        return Batch.objects.get(pk=duel.pk)

    now = [start()]

    def end() -> None:
        duels.shows.stop(now[0].episodes.get(slot=1).pk)

    def check(answer: Any) -> int:
        now[0] = start()
        assert answer.status_code != 204, "more events follow"
        return int(answer.status_code)

    at_every_query(lambda: program.get(f"duels/{now[0].pk}/events?after={now[0].seq}"), end, check)


@pytest.fixture
def job(person: User) -> Job:
    Agent.objects.get_or_create(slug="random", defaults={"name": "random", "kind": "random", "colour": 8})
    spec = EvaluationSpec(agent="random", env_ids=(ENV_ID,), episodes_per_env=200)
    return jobs.submit(person, spec)


def test_a_job(person: User, job: Job, program_of: Callable[..., Program]) -> None:
    program = program_of(person)

    @transaction.atomic
    def record() -> None:
        first = Shard.objects.filter(job=job).order_by("pk").first()
        Shard.objects.filter(pk=first.pk).update(done=F("done") + 1)
        Job.objects.filter(pk=job.pk).update(episodes_done=F("episodes_done") + 1)

    def check(answer: dict[str, Any]) -> int:
        assert answer["episodes_done"] == answer["score"]["done"]
        return int(answer["episodes_done"])

    at_every_query(lambda: program.get(f"jobs/{job.pk}").json(), record, check)
