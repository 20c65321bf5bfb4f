"""The duel board: which games count, that the fit is of all of them, and the pairing that tells most."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.duels import operations as duels
from apps.episodes.models import Episode, Seat
from apps.episodes.operations import Occupant, draft, store
from apps.jobs import operations as jobs
from apps.play.models import Show
from apps.standings import boards, games, ratings, refreshing
from apps.standings.models import Game, JobResult, Summary
from apps.visibility import Visibility
from gem.evaluation.ranking import bradley_terry
from gem.evaluation.spec import EvaluationSpec
from tests.apps.agents import built_in
from tests.apps.daily.days import act_out
from tests.apps.standings.played import played
from tests.html import tight

TICTACTOE, WORDLE = "duel:TicTacToe-v0", "game:Wordle-v0-easy"


@pytest.fixture
def ann(db: None) -> User:
    return User.objects.create_user("ann")


def ended(first: Agent, second: Agent, rewards: tuple[float, float], **more: str) -> Episode:
    """A game of two that is over."""
    episode = store(draft(TICTACTOE, seed=3), seats=[Occupant(first), Occupant(second)], **more)
    Episode.objects.filter(pk=episode.pk).update(status="ended", terminated=True, state=None)
    for number, reward in enumerate(rewards):
        Seat.objects.filter(episode=episode, number=number).update(total_reward=reward)
    return episode


def test_games_of_jobs_are_counted_by_seat_and_result(ann: User) -> None:
    spec = EvaluationSpec(agent="expert", opponent="random", env_ids=(TICTACTOE,), episodes_per_env=8, num_envs=8)
    job = played(ann, spec)
    refreshing.measure()
    rows = JobResult.objects.get(job=job).games
    counted = {(first, second): results for _, first, second, *results in rows}
    expert, random = built_in("expert").pk, built_in("random").pk
    assert set(counted) <= {(expert, random), (random, expert)}
    assert sum(map(sum, counted.values())) == 8
    won = sum(seat.total_reward > 0 for seat in Seat.objects.filter(episode__batch=job.batch, agent=expert))
    mine = counted.get((expert, random), [0, 0, 0])[0] + counted.get((random, expert), [0, 0, 0])[2]
    assert mine == won
    assert ratings.refresh()
    assert not ratings.refresh()  # there are no other games
    board = boards.board(ann)
    assert board.total == 8
    assert board.rows[0].agent.slug == "expert"
    assert board.rows[0].rating.low < board.rows[0].rating.mean < board.rows[0].rating.high
    jobs.set_visibility(job, Visibility.PRIVATE)
    assert ratings.refresh()
    assert boards.board(ann).rows == []


def test_live_games_and_duels_count_once_if_everybody_may_see_them(ann: User) -> None:
    expert, random, human = (built_in(name) for name in ("expert", "random", "human"))
    ended(expert, random, (1.0, -1.0))
    ended(random, human, (0.0, 0.0))
    ended(expert, random, (1.0, -1.0), visibility="unlisted")
    ended(expert, expert, (1.0, -1.0))
    duel = duels.start(duels.DuelStart(WORDLE, 7), [random, expert], user=ann, visitor="", visibility="public")
    Show.objects.all().delete()
    for episode in duel.episodes.order_by("slot"):
        act_out(episode, str(episode.seats.get().agent.kind))
    assert games.collect() == 3
    assert games.collect() == 0
    assert sorted(Game.objects.values_list("env_id", "result")) == [
        (TICTACTOE, "tied"), (TICTACTOE, "won"), (WORDLE, "lost"),
    ]  # fmt: skip


def test_games_that_do_not_count_keep_no_others_waiting(ann: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Games of an agent with itself, and duels that have not ended, are not stored, so each call would find them."""
    expert, random, human = (built_in(name) for name in ("expert", "random", "human"))
    monkeypatch.setattr(games, "MOST_AT_ONCE", 2)
    for _ in range(2):
        ended(human, human, (1.0, -1.0))
    for first, statuses in ((expert, ("ended", "running")), (random, ("ended", "ended"))):
        duel = duels.start(duels.DuelStart(WORDLE, 7), [first, random], user=ann, visitor="", visibility="public")
        for slot, status in enumerate(statuses):
            Episode.objects.filter(batch=duel, slot=slot).update(status=status, state=None)
    for _ in range(3):
        ended(expert, random, (1.0, -1.0))
    assert [games.collect(), games.collect(), games.collect()] == [2, 1, 0]
    duels.start(duels.DuelStart(WORDLE, 8), [expert, random], user=ann, visitor="", visibility="public")
    Episode.objects.filter(seed=8).update(status="ended", state=None)
    assert [games.collect(), games.collect()] == [1, 0]


def test_a_perfect_record_stays_finite_and_the_seat_counts(db: None) -> None:
    expert, random = built_in("expert").pk, built_in("random").pk
    counts = {
        (ratings.Played(TICTACTOE, expert, random), "won"): 40,
        (ratings.Played(TICTACTOE, random, expert), "lost"): 40,
    }
    content = ratings.fit(counts)
    best, last = content["rows"]
    assert best["agent"] == expert
    assert 1500 < best["rating"][1] < best["rating"][0] < best["rating"][2] < 4000
    assert (best["ranks"], last["ranks"]) == ([1, 1], [2, 2])
    alone = ratings.fit({(ratings.Played(TICTACTOE, expert, random), "won"): 2})
    assert alone["rows"][0]["ranks"] == [1, 2]  # two games decide nothing
    assert content["total"] == 80


def test_the_pairing_is_one_that_agents_can_play_and_a_button_runs_it(ann: User) -> None:
    expert, random, human = (built_in(name) for name in ("expert", "random", "human"))
    ended(expert, random, (1.0, -1.0))
    ended(human, random, (1.0, -1.0))
    games.collect()
    ratings.refresh()
    found = Summary.objects.get(name=ratings.NAME).content["next"]
    assert human.pk not in (found["first"], found["second"])
    client = Client()
    assert "Let them play" in tight(client.get(reverse("standings:duels")))
    answer = client.post(reverse("standings:play_next"))
    episode = Episode.objects.get(pk=answer["Location"].rstrip("/").rpartition("/")[2])
    assert {seat.agent_id for seat in episode.seats.all()} == {expert.pk, random.pk}
    Agent.objects.filter(pk=expert.pk).update(hidden_reason="x")
    board = boards.board(ann)
    assert board.pairing is None
    assert not any(row.agent.pk == expert.pk for row in board.rows)
    assert client.post(reverse("standings:play_next"))["Location"] == reverse("standings:duels")


def test_the_engine_leaves_out_what_cannot_be_played() -> None:
    fitted = bradley_terry.fit(
        [bradley_terry.Game("g", "a", "b", "won", 3), bradley_terry.Game("h", "b", "c", "tied", 2)]
    )
    best = bradley_terry.most_telling(fitted)
    other = bradley_terry.most_telling(fitted, can_play=lambda game, *_: game != best.game) if best else None
    assert best is not None
    assert other is not None
    assert other.game != best.game
    assert bradley_terry.most_telling(fitted, can_play=lambda *_: False) is None


@pytest.mark.django_db
def test_the_rating_of_the_reader_is_a_part_of_the_page_of_their_games(client: Client) -> None:
    assert "You have no rated games yet." in tight(client.get("/leaderboard/own/", headers={"HX-Request": "true"}))
    assert client.get("/leaderboard/own/")["Location"] == "/play/mine/"
