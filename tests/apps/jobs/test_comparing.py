"""The page that compares evaluations: what it says, and what it does not show."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import zip_longest
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.jobs import operations
from apps.jobs.models import Job, Shard
from apps.visibility import Visibility
from gem.evaluation.spec import EvaluationSpec
from tests.html import tight
from tests.workers.records import play_out

EASY, MINES = "game:GuessTheNumber-v0-easy", "game:Minesweeper-v0-easy"
PLAYED = pytest.mark.django_db(transaction=True)


def played(owner: User, agent: str, episodes: int = 15, **more: object) -> Job:
    request: dict[str, object] = {"agent": agent, "env_ids": [EASY], "episodes_per_env": episodes, **more}
    return play_out(operations.submit(owner, EvaluationSpec.model_validate(request)))


@PLAYED
def test_two_evaluations_are_compared_seed_by_seed(client: Client, ada: User) -> None:
    first, second = played(ada, "random"), played(ada, "expert", max_turns=3)
    page = tight(client.get("/compare/", {"job": [first.pk, second.pk]}).content.decode())
    assert "Two evaluations on the same seeds" in page
    assert "On 15 seeds, expert solves" in page
    assert "The environments were wrapped differently" in page
    assert "Side by side" not in page
    listed = 0
    for outcome in ("won", "tie", "lost"):
        answer = client.get("/compare/", {"job": [first.pk, second.pk], "outcome": outcome, "measure": "return"})
        listed += answer.content.decode().count('href="/episodes/')
    assert listed == 2 * 15
    three = tight(
        client.get(
            "/compare/", {"job": [first.pk, second.pk, played(ada, "random", 5).pk], "pair": "1"}
        ).content.decode()
    )
    assert "Three evaluations" in three
    document = client.get("/compare/export/", {"job": [first.pk, second.pk]}).json()
    assert document["jobs"] == [[first.pk], [second.pk]]
    shares = [score["forbidden"] for score in document["scores"]]
    assert shares[0] > shares[1] == 0.0
    (pair,) = document["pairs"]
    assert pair["sentence"].startswith("On 15 seeds, expert solves")
    assert {len(row["first_episodes"]) for row in pair["seeds"]} == {1}
    assert "share 5 seeds that count in both, and it takes 10." in three


@PLAYED
def test_an_agent_is_its_newest_finished_evaluation_of_each_environment(client: Client, ada: User) -> None:
    played(ada, "random", 20)
    newest, mines = played(ada, "random", 12), played(ada, "random", 12, env_ids=[MINES])
    expert = played(ada, "expert", 12, env_ids=[EASY, MINES])
    operations.submit(ada, EvaluationSpec(agent="random", env_ids=(EASY,)))
    page = client.get("/compare/", {"job": [expert.pk], "agent": ["random"]})
    first, second = page.context["rows"]
    assert [job.pk for job in second.side.jobs] == [newest.pk, mines.pk]
    assert (first.score.episodes, second.score.episodes) == (24, 24)
    text = tight(page.content.decode())
    assert "Two agents on the same seeds" in text
    assert "2 evaluations" in text
    one = client.get("/compare/", {"job": [expert.pk], "agent": ["random"], "env_id": [EASY]})
    assert [row.score.episodes for row in one.context["rows"]] == [12, 12]
    both = client.get("/compare/", {"agent": ["random", "expert"]})
    assert [row.side.is_agent for row in both.context["rows"]] == [True, True]
    operations.set_visibility(newest, Visibility.PRIVATE)
    other = client.get("/compare/", {"agent": ["random", "expert"]}).context["rows"][0].side
    assert newest.pk not in [job.pk for job in other.jobs], "unlisted and private jobs are not taken"
    nothing = client.get("/compare/", {"agent": ["random", "expert"], "env_id": ["game:Sokoban-v0"]})
    assert "No finished evaluation of random on these environments" in tight(nothing.content.decode())


@PLAYED
def test_of_an_agent_the_evaluation_counts_that_shares_the_seeds_of_the_others(client: Client, ada: User) -> None:
    shared = [played(ada, agent, 12, seed=400) for agent in ("random", "expert")]
    mines = played(ada, "expert", 12, env_ids=[MINES])
    newer = [played(ada, "random", 12, seed=7), played(ada, "expert", 12, seed=90)]
    rows = client.get("/compare/", {"agent": ["random", "expert"], "env_id": [EASY]}).context["rows"]
    assert [row.side.jobs for row in rows] == [[job] for job in shared]
    assert [row.score.episodes for row in rows] == [12, 12]
    rows = client.get("/compare/", {"job": [newer[0].pk], "agent": ["expert"]}).context["rows"]
    assert [row.side.jobs for row in rows] == [[job] for job in newer], "without shared seeds, the newest"
    rows = client.get("/compare/", {"job": [shared[0].pk], "agent": ["expert"]}).context["rows"]
    assert [row.side.jobs for row in rows] == [[job] for job in shared]
    assert mines.pk not in [job.pk for row in rows for job in row.side.jobs]


@PLAYED
def test_three_runs_have_rank_intervals_and_what_is_partial_is_named(
    client: Client, ada: User, django_assert_max_num_queries: Callable[..., AbstractContextManager[Any]]
) -> None:
    jobs = [played(ada, agent, 15) for agent in ("random", "expert", "random")]
    Shard.objects.filter(job=jobs[2]).update(count=20)
    Job.objects.filter(pk=jobs[2].pk).update(state=Job.State.STOPPED, reason="The budget is used up.")
    asked = {"job": [job.pk for job in jobs], "points": "3", "outcome": "won", "in": EASY}
    page = client.get("/compare/", asked)
    ranks = {row.side.letter: row.rank for row in page.context["rows"]}
    assert ranks == {"A": "2–3", "B": "1", "C": "2–3"}
    assert page.context["rows"][0].side.letter == "B"
    text = tight(page.content.decode())
    name = f"random {jobs[2].pk[:4].upper()}"
    assert f"{name} is partial: 15 of 20 episodes count" in text
    assert "The job is stopped by its budget." in text
    assert "A difference of 3.0 points takes" in text
    square = page.context["square"]
    pair = page.context["pair"].difference
    assert (sum(square), square.only_first, square.only_second) == (15, pair.won, pair.lost)
    with django_assert_max_num_queries(30) as made:
        again = client.get("/compare/", asked)
    assert again.context["rows"][1].score == page.context["rows"][1].score
    reads = [query["sql"] for query in made.captured_queries if "total_reward" in query["sql"]]
    assert not reads, "the episodes of finished jobs are not read again"


@PLAYED
def test_what_a_person_may_not_see_is_not_compared(client: Client, ada: User) -> None:
    first, second = played(ada, "random"), played(ada, "expert")
    hidden = Episode.objects.get(batch=first.batch_id, seed=3)
    Episode.objects.filter(pk=hidden.pk).update(hidden_reason="It shows a secret.")
    both = {"job": [first.pk, second.pk]}
    page = client.get("/compare/", both).content.decode()
    assert hidden.pk not in page
    assert "On 15 seeds" in page
    beside = re.findall(r"/play/side-by-side/[^\"]*", page)
    assert len(beside) == 14
    assert client.get(beside[0]).context["turn"] == 1
    shown = Episode.objects.get(batch=second.batch_id, seed=4)
    Episode.objects.filter(pk=shown.pk).update(hidden_reason="So does this.")
    assert shown.pk not in client.get("/compare/", both).content.decode(), "also after others have looked"
    exported = client.get("/compare/export/", both).content.decode()
    assert "On 15 seeds" in exported
    assert hidden.pk not in exported
    assert shown.pk not in exported
    operations.set_visibility(second, Visibility.PRIVATE)
    page = " ".join(client.get("/compare/", both).content.decode().split())
    assert "Choose one more" in page
    assert "This address names one evaluation or agent that does not exist or that you may not see." in page
    assert "log in</a> first" in page
    assert client.get("/compare/export/", both).status_code == 302, "the page says why there is nothing"
    client.force_login(ada)
    page = client.get("/compare/", both).content.decode()
    assert "On 15 seeds" in page
    assert "This address names" not in page


@pytest.mark.django_db
def test_nothing_or_nonsense_is_no_error(client: Client, ada: User) -> None:
    assert "Nothing chosen" in client.get("/compare/").content.decode()
    odd = {"job": ["x", "y" * 300], "measure": "luck", "pair": "-1", "outcome": "?", "page": "nine"}
    odd |= {"agent": ["", "no-such-agent"], "env_id": ["x", EASY], "in": "?", "points": "-", "find": "?"}
    answer = client.get("/compare/", odd)
    page = " ".join(answer.content.decode().split())
    assert answer.status_code == 200
    assert "This address names three evaluations or agents that do not exist" in page


@PLAYED
def test_the_turn_is_shown_at_which_two_episodes_part(client: Client, ada: User) -> None:
    first, second = played(ada, "random", 10), played(ada, "expert", 10)
    answer = client.get("/compare/", {"job": [first.pk, second.pk]})
    seeds = answer.context["seeds"]
    parted = [seed for seed in seeds if seed.parting]
    assert len(seeds) == 10
    assert parted
    for seed in seeds:
        actions = [
            list(Episode.objects.get(pk=key).turns.order_by("number").values_list("action", flat=True))
            for key in (seed.first_id, seed.second_id)
        ]
        expected = next(
            (n for n, pair in enumerate(zip_longest(*actions, fillvalue=""), 1) if len(set(pair)) > 1), None
        )
        assert (seed.parting.turn if seed.parting else None) == expected
        if seed.parting and len(actions[0]) >= seed.parting.turn:
            assert seed.parting.first == actions[0][seed.parting.turn - 1]
    one = parted[0]
    assert f"turn {one.parting.turn}:<small" in tight(answer.content.decode())
    Episode.objects.filter(pk=one.first_id).update(hidden_reason="spam")
    (hidden,) = (
        seed
        for seed in client.get("/compare/", {"job": [first.pk, second.pk]}).context["seeds"]
        if seed.pair.seed == one.pair.seed
    )
    assert hidden.parting is None, "what may not be shown is not told either"
