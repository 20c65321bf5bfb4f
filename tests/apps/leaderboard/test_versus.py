"""You against the agents: which episodes count, how they are compared, whose they are, and which seed comes next."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from pytest_django import DjangoDbBlocker

from apps.accounts.models import User
from apps.episodes import operations
from apps.episodes.models import Episode, Seat
from apps.episodes.restore import restore
from apps.jobs import operations as jobs
from apps.jobs.models import Job
from apps.leaderboard.models import Score
from apps.leaderboard.operations import record_scores
from apps.leaderboard.versus import compare
from gem import benchmarks
from gem.agents import Request, make_agent
from gem.evaluation.scores import wilson
from gem.evaluation.spec import EvaluationSpec
from tests.apps.agents import built_in
from tests.apps.play.people import BOX, Person

GUESS, HARD = "game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard"
YOURS = "/leaderboard/yours/?benchmark=games"
FIRST = 1000
SEEDS = 3
NOTHING_PLAYED = "You have not played a ranked seed yet."


def load_short(name: str, load: Callable[[str], benchmarks.Benchmark] = benchmarks.load) -> benchmarks.Benchmark:
    """A benchmark of two environments with three seeds each."""
    whole = load(name)
    chosen = [replace(entry, episodes=SEEDS) for entry in whole.entries if entry.env_id in (GUESS, HARD)]
    return replace(whole, entries=tuple(chosen))


@pytest.fixture(scope="module")
def rows_of_agents(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Random and the expert have played it: for all tests of this file, each of which undoes what it adds."""
    with pytest.MonkeyPatch.context() as patch, django_db_blocker.unblock(), transaction.atomic():
        patch.setattr(benchmarks, "load", load_short)
        for agent in ("random", "expert"):
            rank(agent)
        yield
        transaction.set_rollback(True)


@pytest.fixture
def ranked(rows_of_agents: None, db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """A short benchmark on which random and the expert are ranked."""
    monkeypatch.setattr(benchmarks, "load", load_short)


def rank(agent: str) -> None:
    """Play the benchmark as a job does, in this transaction, and write the scores."""
    job = jobs.submit(None, EvaluationSpec.model_validate({"agent": agent, "benchmark": "games"}))
    seats = [operations.Occupant(built_in(agent))]
    for entry in benchmarks.load("games").entries:
        for seed in entry.seeds:
            act_out(operations.store(operations.draft(entry.env_id, seed=seed), seats=seats, batch=job.batch))
    Job.objects.filter(pk=job.pk).update(state=Job.State.DONE)
    assert record_scores(job.pk) == 3


def act_out(episode: Episode) -> None:
    """Let the agent in its seat play it to its end."""
    agent = make_agent(episode.seats.get().agent.kind)
    env = restore(episode)
    observation, info = episode.first_observation, episode.first_info
    while not episode.over:
        decision = agent.act([Request(env, observation, info, episode.turn_count + 1, 0)])[0]
        turn = operations.record_turn(episode, env, decision.action)
        observation, info = turn.observation, turn.info


@pytest.fixture
def person() -> Person:
    """A visitor without an account."""
    return Person()


def finish(person: Person, env_id: str = GUESS, seed: int = FIRST, **fields: Any) -> Episode:
    """Play a seed to its end: counting up."""
    episode = person.begin(env_id, seed, **fields)
    return play_on(person, episode)


def play_on(person: Person, episode: Episode) -> Episode:
    for turn in range(30):
        answer = person.send(episode, BOX % (1 + turn))
        assert answer.status_code == 200, answer.content[:1000]
        episode = Episode.objects.get(pk=episode.pk)
        if episode.over:
            return episode
    raise AssertionError("it did not end")


def panel(person: Person, **asked: str) -> str:
    """The words of the panel on the leaderboard."""
    return words(person.client.get("/leaderboard/", {"benchmark": "games", **asked}).content.decode(), 'id="versus"')


def words(html: str, start: str) -> str:
    part = html[html.index(start) :]
    text = re.sub(r"<[^>]+>", " ", part[part.index(">") + 1 : part.index("</section>")])
    return " ".join(unescape(text).split())


def by_hand(episode: Episode) -> float:
    """The share of the agents' episodes on the same seed that it beats."""
    own_return = episode.seats.get().total_reward
    theirs = Seat.objects.filter(
        episode__env_id=episode.env_id, episode__seed=episode.seed, episode__batch__kind="job"
    ).values_list("total_reward", flat=True)
    assert len(theirs) == 2
    return sum(1.0 if own_return > one else 0.5 if own_return == one else 0.0 for one in theirs) / 2


def test_the_sentence_says_what_the_episodes_say(ranked: None, person: Person) -> None:
    assert NOTHING_PLAYED in panel(person)
    played = [finish(person, GUESS, FIRST), finish(person, GUESS, FIRST + 1), finish(person, HARD, FIRST)]
    share = sum(map(by_hand, played)) / 3
    said = panel(person)
    assert f"Your 3 episodes beat {100 * share:.0f} % of all episodes that agents played" in said
    low, high = wilson(3 * share, 3)[1:]
    assert f"95 % interval {100 * low:.0f} % to {100 * high:.0f} %; a tie counts as half." in said
    assert f"Your episode beats {100 * by_hand(played[2]):.0f} % " in panel(person, env_id=HARD)
    assert said.index("expert") < said.index("random"), "in the ranking's order"


def test_somebody_with_an_account_has_the_same(ranked: None) -> None:
    person = Person()
    person.client.force_login(User.objects.create_user("ada"))
    episode = finish(person)
    assert f"Your episode beats {100 * by_hand(episode):.0f} %" in panel(person)


def test_nobody_sees_what_others_reached(ranked: None) -> None:
    ada, visitor, other = Person(), Person(), Person()
    ada.client.force_login(User.objects.create_user("ada"))
    finish(ada)
    finish(visitor, seed=FIRST + 1)
    other.begin(GUESS, 5)  # another visitor, whose key is another one
    eve = Person()
    eve.client.force_login(User.objects.create_user("eve"))
    for somebody in (Person(), other, eve):
        assert NOTHING_PLAYED in panel(somebody)
        assert "You have not played a ranked seed yet" in somebody.client.get(YOURS).content.decode()
    assert "Your episode beats" in panel(ada)
    assert str(FIRST + 1) not in words(ada.client.get(YOURS).content.decode(), 'aria-labelledby="tries')


def test_what_a_visitor_played_goes_with_them_into_their_account(ranked: None, person: Person) -> None:
    finish(person)
    User.objects.create_user("ada", password="correct horse battery")
    answer = person.client.post("/account/login/", {"username": "ada", "password": "correct horse battery"})
    assert answer.status_code == 302
    assert "Your episode beats" in panel(person)


def test_an_unfinished_episode_is_offered_and_giving_up_counts(ranked: None, person: Person) -> None:
    episode = person.begin(GUESS, FIRST)
    said = panel(person)
    assert "None of your episodes counts yet." in said
    assert f"{GUESS}, seed {FIRST} : it is your turn." in said
    person.client.post(f"/play/{episode.id}/abandon/")
    episode.refresh_from_db()
    assert f"Your episode beats {100 * by_hand(episode):.0f} %" in panel(person)


def test_a_second_try_never_counts(ranked: None, person: Person) -> None:
    first = finish(person)
    person.client.post(f"/play/{person.begin(GUESS, FIRST).id}/abandon/")
    assert f"Your episode beats {100 * by_hand(first):.0f} %" in panel(person)


def ask_for_a_hint(person: Person) -> None:
    episode = person.begin(GUESS, FIRST)
    assert person.client.get(f"/play/{episode.id}/hint/").status_code == 200
    play_on(person, episode)


def take_a_turn_back(person: Person) -> None:
    episode = person.begin(HARD, FIRST)
    person.send(episode, BOX % 50)
    person.client.post(f"/play/{episode.id}/undo/")
    play_on(person, Episode.objects.get(parent=episode))


def go_on_from_another(person: Person) -> None:
    other = Person()
    episode = other.begin(HARD, FIRST)
    other.send(episode, BOX % 50)
    person.client.post(f"/play/{episode.id}/fork/", {"turn": "1"})
    play_on(person, Episode.objects.get(parent=episode))


def race_an_agent(person: Person) -> None:
    person.client.post(
        "/play/duel/new/", {"env_id": GUESS, "first": "you", "second": "expert", "seed": FIRST, "pace": "1"}
    )
    play_on(person, Episode.objects.get(batch__kind="duel", seats__agent__kind="human"))


def watch_an_agent_first(person: Person) -> None:
    sent = {"env_id": GUESS, "agent": "expert", "seed": FIRST, "pace": "1"}
    assert person.client.post("/play/watch/new/", sent).status_code == 302
    finish(person)


def let_the_expert_show_it(person: Person) -> None:
    episode = person.begin(HARD, FIRST)
    assert person.client.post(f"/play/{episode.id}/finish/").status_code == 302
    play_on(person, episode)


def try_it_out_in_another_window(person: Person) -> None:
    episode = person.begin(GUESS, FIRST)
    finish(person)
    play_on(person, episode)


@pytest.mark.parametrize(
    ("helped", "reason"),
    [
        (ask_for_a_hint, "the expert gave a hint"),
        (take_a_turn_back, "a turn was taken back"),
        (go_on_from_another, "it is a fork of another episode"),
        (race_an_agent, "it was part of a duel"),
        (watch_an_agent_first, "you watched an agent on this seed before the end"),
        (let_the_expert_show_it, "you watched an agent on this seed before the end"),
        (try_it_out_in_another_window, "you started another episode on this seed before the end"),
    ],
)
def test_what_was_not_played_alone_does_not_count_and_says_why(
    ranked: None, person: Person, helped: Callable[[Person], None], reason: str
) -> None:
    helped(person)
    said = panel(person)
    assert "None of your episodes counts yet." in said
    assert "1 does not count." in said
    assert f"does not count: {reason}" in person.client.get(YOURS).content.decode()


def test_a_hint_that_somebody_else_asks_for_spoils_nothing(ranked: None, person: Person) -> None:
    episode = person.begin(GUESS, FIRST)
    assert Person().client.get(f"/play/{episode.id}/hint/").status_code == 200
    play_on(person, episode)
    assert "Your episode beats" in panel(person)


def test_watching_the_expert_afterwards_spoils_nothing(ranked: None, person: Person) -> None:
    finish(person)
    person.client.post("/play/watch/new/", {"env_id": GUESS, "agent": "expert", "seed": FIRST, "pace": "1"})
    assert "Your episode beats" in panel(person)


def test_a_seed_that_is_not_ranked_counts_for_nothing(ranked: None, person: Person) -> None:
    finish(person, seed=FIRST + SEEDS)
    finish(person, seed=FIRST - 1)
    assert NOTHING_PLAYED in panel(person)


def test_with_tools_nobody_is_compared_with_people(ranked: None, person: Person) -> None:
    assert 'id="versus"' not in person.client.get("/leaderboard/?benchmark=games&tools=with").content.decode()


# ---------------------------------------------------------------- the next seed


def press(person: Person, env_id: str = "") -> Any:
    return person.client.post(f"/leaderboard/play/?benchmark=games&env_id={env_id}")


def begun(answer: Any) -> Episode:
    assert answer.status_code == 302, answer.content[:2000]
    return Episode.objects.get(pk=answer["Location"].rstrip("/").rpartition("/")[2])


def test_every_press_begins_a_new_ranked_seed_where_one_has_played_least(ranked: None, person: Person) -> None:
    played = [begun(press(person)) for _ in range(2 * SEEDS)]
    assert {(one.env_id, one.seed) for one in played} == {
        (env_id, FIRST + n) for env_id in (GUESS, HARD) for n in range(SEEDS)
    }
    assert [one.env_id for one in played] == [GUESS, HARD] * SEEDS
    answer = press(person)
    assert answer.status_code == 409
    assert "You have played or watched every ranked seed of Games." in answer.content.decode()


def test_a_seed_that_was_watched_is_not_offered(ranked: None, person: Person) -> None:
    person.client.post("/play/watch/new/", {"env_id": HARD, "agent": "expert", "seed": FIRST, "pace": "1"})
    assert [begun(press(person, HARD)).seed for _ in range(2)] == [FIRST + 1, FIRST + 2]
    assert press(person, HARD).status_code == 409
    assert begun(press(person, GUESS)).env_id == GUESS


def test_the_seed_that_most_agents_have_played_comes_first(ranked: None, person: Person) -> None:
    random = Score.objects.get(agent__slug="random", env_id="").job
    random.batch.episodes.filter(env_id=GUESS, seed=FIRST).update(status=Episode.Status.FAILED)
    assert begun(press(person, GUESS)).seed == FIRST + 1


def test_where_no_agent_is_ranked_one_may_play_all_the_same(ranked: None, person: Person) -> None:
    Score.objects.all().delete()
    assert begun(press(person)).seed == FIRST
    play_on(person, Episode.objects.get(env_id=GUESS, batch=None))
    assert "No agent has played your 1 ranked seed yet." in panel(person)


def test_too_many_starts_are_refused_in_place(ranked: None, person: Person, settings: Any) -> None:
    settings.STARTS_PER_MINUTE = 1
    assert press(person).status_code == 302
    answer = press(person)
    assert answer.status_code == 429
    assert int(answer["Retry-After"]) > 0
    assert 'id="versus"' in answer.content.decode()


# ---------------------------------------------------------------- few queries


def queries(person: Person) -> int:
    panel(person)  # the session, the agents
    with CaptureQueriesContext(connection) as caught:
        panel(person)
    return len(caught)


def test_two_queries_whatever_was_played_and_none_for_strangers(ranked: None, person: Person) -> None:
    stranger = queries(Person())
    person.begin(GUESS, 5)
    key_only = queries(person)
    finish(person)
    one = queries(person)
    finish(person, HARD)
    finish(person, GUESS, FIRST + 1)
    assert queries(person) == one == key_only + 1
    assert key_only <= stranger + 2, "the session, and the episodes"


# ---------------------------------------------------------------- on the page of an episode


def fragment(person: Person, episode: Episode) -> str:
    answer = person.client.get(f"/leaderboard/seed/{episode.id}/", headers={"HX-Request": "true"})
    assert answer.status_code == 200
    return answer.content.decode().strip()


def test_the_agents_of_the_seed_are_shown_when_it_is_over(ranked: None, person: Person) -> None:
    episode = person.begin(GUESS, FIRST)
    assert f"/leaderboard/seed/{episode.id}/" not in person.page(episode)
    assert fragment(person, episode) == ""
    episode = play_on(person, episode)
    assert f'hx-get="/leaderboard/seed/{episode.id}/"' in person.page(episode)
    said = words(fragment(person, episode), "<section")
    against = compare(
        episode.seats.get().total_reward,
        Seat.objects.filter(episode__batch__kind="job", episode__env_id=GUESS, episode__seed=FIRST).values_list(
            "total_reward", flat=True
        ),
    )
    assert f"beats {against.beaten} of 2 agents" in said
    assert "This episode counts in your comparison with the agents ." in said
    assert words(fragment(Person(), episode), "<section").count("counts") == 0, "that is nobody else's business"
    whole = person.client.get(f"/leaderboard/seed/{episode.id}/").content.decode()
    assert "</html>" in whole
    assert "The ranked agents on this seed" in whole


def test_an_episode_on_another_seed_has_no_agents_beside_it(ranked: None, person: Person) -> None:
    episode = finish(person, seed=7)
    assert "/leaderboard/seed/" not in person.page(episode)
    assert fragment(person, episode) == ""


def test_a_second_try_says_that_it_does_not_count(ranked: None, person: Person) -> None:
    finish(person)
    second = finish(person)
    said = words(fragment(person, second), "<section")
    assert "This episode does not count in your comparison with the agents" in said
    assert "because you had played this seed before." in said


def test_the_page_of_an_agents_episode_compares_it_with_the_others(ranked: None, person: Person) -> None:
    episode = Score.objects.get(agent__slug="expert", env_id="").job.batch.episodes.get(env_id=GUESS, seed=FIRST)
    said = words(fragment(person, episode), "<section")
    assert "Its return of" in said
    assert "of 1 agent" in said
