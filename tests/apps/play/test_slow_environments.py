"""Slow environments in the web process: no transaction waits for one, and what was recorded before goes on."""

import dataclasses
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

import gem
from apps.duels import operations as duels
from apps.episodes import branches, operations
from apps.episodes.models import Episode, PendingTurn
from apps.episodes.operations import step
from apps.play import pending
from apps.play.shows import continuing
from apps.play.shows import operations as shows
from gem.envs.duels.prisoners_dilemma import PrisonersDilemma
from gem.envs.games.guess_the_number import GuessTheNumber
from gem.registry import ENV_REGISTRY
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person

NUMBERS, DILEMMA, MATH = "test:Waiting-v0", "test:Dilemma-v0", "math:GSM8K"
GUESSES = [BOX % number for number in (5, 10, 15)]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("long_leases")]


class Watched(gem.Env):
    """Notes in which calls a transaction was open, besides that of the test."""

    calls: list[tuple[str, bool]] = []

    def __init__(self, *arguments: Any, **more: Any) -> None:
        self._note("made")
        super().__init__(*arguments, **more)

    def _note(self, call: str) -> None:
        Watched.calls.append((call, bool(connection.savepoint_ids)))

    def reset(self, seed: int | None = None) -> Any:
        self._note("reset")
        return super().reset(seed)

    def step(self, action: str) -> Any:
        self._note("step")
        return super().step(action)  # type: ignore[safe-super]

    def set_state(self, state: Any) -> None:
        self._note("restored")
        super().set_state(state)


class Numbers(Watched, GuessTheNumber):
    """An environment that nobody has declared fast."""


class Dilemma(Watched, PrisonersDilemma):
    """The same with two seats that choose at the same time."""


@pytest.fixture(autouse=True)
def slow() -> Iterator[None]:
    gem.register(NUMBERS, Numbers, min_number=1, max_number=1000, max_turns=20)
    gem.register(DILEMMA, Dilemma, seats=2)
    Watched.calls = []
    yield
    del ENV_REGISTRY[NUMBERS], ENV_REGISTRY[DILEMMA]


@pytest.fixture
def fast(slow: None) -> Iterator[None]:
    """As it was when environments counted as fast unless they were declared slow."""
    declared = {env_id: ENV_REGISTRY[env_id] for env_id in (NUMBERS, MATH)}
    for env_id, spec in declared.items():
        ENV_REGISTRY[env_id] = dataclasses.replace(spec, cost="fast")
    yield
    ENV_REGISTRY.update(declared)


def work() -> None:
    """Play the pending turns, as a worker does."""
    token = uuid4()
    for episode_id in pending.claim(token, 9):
        claimed = pending.begin(episode_id, token)
        answer = step(claimed.episode, claimed.env, claimed.action)
        pending.finish(claimed, token, answer)


def were_all_outside(*expected: str) -> bool:
    """Whether these calls have been made, and none of them in a transaction."""
    calls, Watched.calls = Watched.calls, []
    return {name for name, _ in calls} >= set(expected) and not [name for name, is_inside in calls if is_inside]


def test_no_transaction_waits_for_the_turns_of_a_person() -> None:
    person = Person()
    episode = person.begin(NUMBERS, 3)
    assert were_all_outside("made", "reset")
    for guess in GUESSES:
        assert person.send(episode, guess).status_code == 202
        assert were_all_outside("made", "restored")
        assert "step" not in {name for name, _ in Watched.calls}, "the web process takes no step"
        work()
        assert were_all_outside("made", "restored", "step")
    branch = person.client.post(f"/play/{episode.id}/fork/", {"turn": 2})
    assert branch.status_code == 302
    assert were_all_outside("made", "restored")
    undone = person.client.post(f"/play/{episode.id}/undo/")
    assert undone.status_code == 302
    assert were_all_outside("made", "restored")
    branches = list(Episode.objects.filter(parent=episode, parent_turn=2))
    assert [person.send(branch, GUESSES[0]).status_code for branch in branches] == [202, 202]


def test_no_transaction_waits_for_the_first_turn_on_the_home_page() -> None:
    answer = Person().client.post("/begin/", {"env_id": NUMBERS, "seed": "3", "act": GUESSES[0]})
    assert answer.status_code == 302
    assert were_all_outside("made", "reset", "restored")
    assert PendingTurn.objects.count() == 1
    refused = Person().client.post("/begin/", {"env_id": NUMBERS, "seed": "3", "act": "no action"})
    assert refused.status_code >= 400
    assert Episode.objects.count() == 1


def test_no_transaction_waits_where_agents_play() -> None:
    agent = built_in("random")
    episode = shows.start(NUMBERS, agent, seed=3)
    continuing.go_on(episode, 0, agent)
    person = Person()
    person.begin(DILEMMA, 3, opponent="random", seat="1")
    assert were_all_outside("made", "reset")
    user = person.client.get("/").wsgi_request.user
    duel = duels.start(duels.DuelStart(NUMBERS), [agent, agent], plays=True, user=user, visitor="v" * 32)
    duels.add(duel, agent, user=user, visitor="v" * 32)
    assert were_all_outside("made", "reset")
    assert len({episode.seed for episode in duel.episodes.all()}) == 1


def test_a_choice_that_is_held_is_played_by_a_worker_too() -> None:
    people = Person(), Person()
    episode = people[0].begin(DILEMMA, opponent="person", seat="0")
    people[1].sit_down(people[0].link(episode))
    people[1].send(episode, BOX % "betray")
    people[0].send(episode, BOX % "silent")
    Watched.calls = []
    work()
    assert PendingTurn.objects.get(episode=episode).seat == 1
    work()
    assert were_all_outside("step")
    actions = list(episode.turns.order_by("number").values_list("seat", "action"))
    assert actions == [(0, BOX % "silent"), (1, BOX % "betray")]


def test_a_turn_is_not_undone_if_the_episode_has_gone_on_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    person = Person()
    episode = person.begin(NUMBERS, 3)
    person.send(episode, GUESSES[0])
    work()
    draft_branch = branches.draft_branch

    def go_on_meanwhile(*arguments: Any) -> Episode:
        person.send(episode, GUESSES[1])
        work()
        return draft_branch(*arguments)

    monkeypatch.setattr(branches, "draft_branch", go_on_meanwhile)
    answer = person.client.post(f"/play/{episode.id}/undo/")
    assert answer.status_code == 409
    assert episode.turns.count() == 2


@pytest.fixture
def played(fast: None) -> tuple[Person, Episode, Episode]:
    """A person with two episodes that were recorded as fast: a running one, and an ended one of mathematics."""
    person = Person()
    episode, problem = person.begin(NUMBERS, 3), person.begin(MATH, 1)
    for guess in GUESSES:
        assert person.send(episode, guess).status_code == 200
    assert person.send(problem, BOX % "x+1").status_code == 200
    assert not episode.turns.filter(state__isnull=False).exists()
    return person, episode, problem


def test_what_was_recorded_as_fast_goes_on_as_slow(played: tuple[Person, Episode, Episode]) -> None:
    person, episode, problem = played
    for env_id in (NUMBERS, MATH):
        ENV_REGISTRY[env_id] = dataclasses.replace(ENV_REGISTRY[env_id], cost="slow")
    Watched.calls = []
    assert "15" in person.page(episode)
    assert person.client.get(f"/episodes/{episode.id}/frames/0/").status_code == 200
    for turn in (0, 2):
        fork = person.client.post(f"/play/{episode.id}/fork/", {"turn": turn})
        assert fork.status_code == 302
    branch = Episode.objects.get(parent=episode, parent_turn=2)
    assert person.send(branch, GUESSES[2]).status_code == 202
    assert person.send(episode, BOX % 20).status_code == 202
    work()
    episode.refresh_from_db()
    branch.refresh_from_db()
    assert (episode.turn_count, branch.turn_count) == (4, 3)
    assert person.client.post(f"/play/{episode.id}/undo/").status_code == 302
    assert were_all_outside("made", "restored", "step")
    assert operations.verify(episode) is None
    frames = person.client.get(f"/episodes/{problem.id}/frames/0/").content.decode()
    assert "That is not correct." in frames
    assert person.client.post(f"/play/{problem.id}/fork/", {"turn": 0}).status_code == 302


def test_a_recorded_answer_is_not_graded_again(played: tuple[Person, Episode, Episode], monkeypatch: Any) -> None:
    person, _, problem = played
    ENV_REGISTRY[MATH] = dataclasses.replace(ENV_REGISTRY[MATH], cost="slow")
    monkeypatch.setattr("gem.envs.problems.math.grade", None)
    assert "That is not correct." in person.client.get(f"/episodes/{problem.id}/frames/0/").content.decode()


def test_mathematics_is_played_by_workers() -> None:
    person = Person()
    episode = person.begin(MATH, 1)
    assert person.send(episode, BOX % "9^{9^{9^{9}}}").status_code == 202
    work()
    episode.refresh_from_db()
    assert (episode.outcome, episode.turns.get().info["success"]) == (Episode.Outcome.LOST, False)
    assert "That is not correct." in person.client.get(f"/episodes/{episode.id}/frames/0/").content.decode()
