"""Estimates: what they rest on, what is unknown, and that they are corrected while a job runs."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent
from apps.jobs import estimates, operations
from apps.jobs.estimates import Range, Source
from apps.jobs.estimates.paces import Pace, paces
from apps.jobs.models import Job, JobBooks, Shard
from apps.jobs.templatetags.jobs import amounts
from gem.agents.endpoint import EndpointSpec
from gem.agents.endpoint.spec import Prices
from gem.evaluation.spec import EvaluationSpec
from tests.html import tight

EASY, WORDLE = "game:GuessTheNumber-v0-easy", "game:Wordle-v0-easy"
PRICES = {"tokens_in": 1.0, "tokens_out": 4.0}


def model(slug: str) -> Agent:
    return Agent.objects.create(slug=slug, name=slug, kind=Agent.Kind.ENDPOINT, colour=1)


def request(agent: Agent, *env_ids: str, **more: Any) -> EvaluationSpec:
    return EvaluationSpec.model_validate({"agent": agent.slug, "env_ids": env_ids, "episodes_per_env": 100, **more})


def played(agent: Agent, env_id: str, *shards: tuple[int, int, int, float], num_envs: int = 16) -> Job:
    """A job of this agent with shards of so many episodes, turns, tokens and seconds."""
    spec = request(agent, env_id, num_envs=num_envs)
    job = operations.submit(None, EvaluationSpec.model_validate({**spec.model_dump(), "agent": "random"}))
    done = sum(episodes for episodes, *_ in shards)
    Job.objects.filter(pk=job.pk).update(
        agent=agent, spec=spec.model_dump(mode="json"), state=Job.State.DONE, episodes_done=done
    )
    job.shards.all().delete()
    for number, (episodes, turns, tokens, seconds) in enumerate(shards, start=1):
        Shard.objects.create(
            job=job, number=number, env_id=env_id, first_slot=0, count=episodes, done=episodes, state=Shard.State.DONE,
            turns=turns, tokens_in=tokens // 2, tokens_out=tokens - tokens // 2, seconds=seconds,
        )  # fmt: skip
    return job


def forecast(agent: Agent, *env_ids: str, **more: Any) -> estimates.Forecast:
    spec = request(agent, *env_ids, **more)
    return estimates.forecast(agent, spec, spec.parts, Job.objects.all())


def test_ones_own_episodes_give_an_interval(ada: User) -> None:
    own = model("own")
    played(own, EASY, (50, 200, 50_000, 100.0), (50, 200, 50_000, 100.0))
    found = forecast(own, EASY)
    (part,) = found.parts
    assert (part.source, part.evidence) == (Source.OWN, 100)
    assert found.turns.expected == pytest.approx(400)
    assert found.tokens.expected == pytest.approx(100_000)
    assert found.tokens.high > 110_000
    assert found.tokens.low < 90_000, "two equal shards do not prove that all are equal"
    assert not found.unplayed


def test_an_agent_that_played_two_environments_is_no_sample_of_the_others(ada: User) -> None:
    own, other = model("own"), model("other")
    played(own, EASY, (100, 200, 8_000, 10.0))
    alone = forecast(own, EASY, WORDLE)
    assert alone.limited == [WORDLE]
    assert alone.tokens.high >= 100 * 20 * 40, "it may take all turns that Wordle allows"
    played(other, WORDLE, (10, 100, 198_000, 50.0))
    told = forecast(own, EASY, WORDLE)
    assert (told.borrowed, told.limited, told.unknown) == ([WORDLE], [], [])
    assert told.tokens.low < 100 * 19_800 < told.tokens.high
    assert told.evidence == 100, "episodes of others are not its own"


def test_what_nobody_knows_is_named_and_in_no_number(ada: User) -> None:
    found = forecast(model("new"), EASY, WORDLE)
    assert found.unknown == [EASY, WORDLE]
    assert found.is_empty
    assert found.tokens == found.seconds == Range.zero()
    assert found.turns.high > 0, "the turn limits are known"


def test_jobs_that_one_may_not_know_of_say_nothing(ada: User) -> None:
    own, other = model("own"), model("other")
    played(other, EASY, (100, 200, 8_000, 10.0))
    spec = request(own, EASY)
    assert estimates.forecast(own, spec, spec.parts, Job.objects.none()).unknown == [EASY]


def test_turns_are_never_above_their_limit(ada: User) -> None:
    own = model("own")
    played(own, EASY, (4, 40, 400, 1.0))
    found = forecast(own, EASY, max_turns=3)
    assert found.turns.high == 300


def test_prices_make_it_money(ada: User) -> None:
    own = model("own")
    played(own, EASY, (100, 200, 8_000, 10.0))
    found = forecast(own, EASY)
    assert found.cost is None, "it has no prices"
    cost = found.at_prices(PRICES)
    assert cost.expected == pytest.approx((4_000 * 1.0 + 4_000 * 4.0) / 1e6)
    assert cost.low < cost.expected < cost.high


def test_episodes_at_a_time_share_the_waiting_of_an_endpoint(ada: User) -> None:
    own = model("own")
    played(own, EASY, (100, 200, 8_000, 100.0), num_envs=4)
    assert paces(own, [EASY], num_envs=16)[EASY].seconds == pytest.approx(0.25)
    assert paces(own, [EASY], num_envs=4)[EASY].seconds == pytest.approx(1.0)
    assert paces(own, [EASY])[EASY].seconds == pytest.approx(1.0)


def test_shards_that_differ_widen_the_interval(ada: User) -> None:
    alike, unlike = model("alike"), model("unlike")
    played(alike, EASY, *[(10, 20, 1_000, 1.0)] * 20)
    played(unlike, EASY, *[(10, 20, tokens, 1.0) for tokens in (100, 1_900) * 10])
    first, second = paces(alike, [EASY])[EASY], paces(unlike, [EASY])[EASY]
    assert isinstance(first, Pace)
    assert first.tokens == second.tokens == 100
    assert second.spread("tokens_in") > 3 * first.spread("tokens_in")


def test_a_budget_that_will_not_do_is_told_before(ada: User) -> None:
    own = model("own")
    played(own, EASY, *[(50, 200, 50_000, 10.0)] * 4)
    known = Job.objects.all()
    told = {
        budget: estimates.estimate(own, request(own, EASY, token_budget=budget), known)
        for budget in (10_000, 100_000, 10_000_000)
    }
    assert [found.exceeded for found in told.values()] == [["token"], [], []]
    assert [found.at_risk for found in told.values()] == [[], ["token"], []]


def test_a_budget_of_money_that_will_not_do_is_told_before_too(ada: User) -> None:
    priced = EndpointSpec(url="https://models.example.org/v1", model="m", max_tokens=100, prices=Prices(**PRICES))
    own = agents.create(ada, "own", priced)
    played(own, EASY, *[(50, 200, 50_000, 10.0)] * 4)
    needed = estimates.estimate(own, request(own, EASY), Job.objects.all()).forecast.cost
    assert needed is not None
    told = [
        estimates.estimate(own, request(own, EASY, money_budget=budget), Job.objects.all())
        for budget in (needed.low / 2, needed.expected, needed.high * 2)
    ]
    assert [found.exceeded for found in told] == [["money"], [], []]
    assert [found.at_risk for found in told] == [[], ["money"], []]
    both = estimates.estimate(
        own, request(own, EASY, money_budget=needed.low / 2, token_budget=10_000), Job.objects.all()
    )
    assert both.exceeded == ["token", "money"]


def test_a_budget_of_turns_that_will_not_do_is_told_before_too(ada: User) -> None:
    own = agents.create(ada, "own", EndpointSpec(url="https://models.example.org/v1", model="m"))
    played(own, EASY, *[(50, 200, 0, 10.0)] * 4)
    needed = estimates.estimate(own, request(own, EASY), Job.objects.all()).forecast.turns
    told = [
        estimates.estimate(own, request(own, EASY, turn_budget=budget), Job.objects.all())
        for budget in (int(needed.low) - 1, int(needed.high) + 1)
    ]
    assert [found.exceeded for found in told] == [["turn"], []]
    assert [found.at_risk for found in told] == [[], []], "turns are counted, also where tokens are not"


def test_a_server_that_counts_no_tokens_is_no_proof_that_there_are_none(as_ada: Client, ada: User) -> None:
    limited = EndpointSpec(url="https://models.example.org/v1", model="m", max_tokens=100)
    own = agents.create(ada, "own", limited)
    played(own, EASY, (50, 200, 0, 10.0))
    found = estimates.estimate(own, request(own, EASY, token_budget=10_000), Job.objects.all())
    assert (found.forecast.uncounted, found.exceeded, found.at_risk) == ([EASY], [], ["token"])
    form = {"agent": own.slug, "env_id": EASY, "episodes_per_env": 100, "seed": 0, "num_envs": 8, "token_budget": 10000}
    page = tight(as_ada.get("/jobs/new/estimate/", form))
    assert f'Its server reported no token counts</b> in <span class="id">{EASY}</span>' in page
    assert "The token budget may stop it</b>" in page
    random = Agent.objects.get(slug="random")
    played(random, EASY, (50, 200, 0, 10.0))
    assert forecast(random, EASY).uncounted == [], "it never uses any"


def test_it_is_corrected_while_the_job_runs(ada: User) -> None:
    own = model("own")
    played(own, EASY, (10, 40, 1_000, 10.0))
    running = played(own, EASY, (10, 40, 100_000, 10.0), (40, 0, 0, 0.0))
    Job.objects.filter(pk=running.pk).update(state=Job.State.RUNNING)
    Shard.objects.filter(job=running, number=2).update(done=0, state=Shard.State.QUEUED)
    left = estimates.remaining(Job.objects.get(pk=running.pk))
    assert left is not None
    assert left.forecast.tokens.expected == pytest.approx(40 * 101_000 / 20)
    assert left.tokens.expected == pytest.approx(100_000 + 40 * 101_000 / 20), "with what is used already"
    JobBooks.objects.create(job=running, tokens_in=800_000, requests=9, estimated_in=800_000)
    lost = estimates.remaining(Job.objects.get(pk=running.pk))
    assert lost is not None
    assert lost.tokens.low == 800_000, "answers that were lost are paid too"
    Job.objects.filter(pk=running.pk).update(state=Job.State.DONE)
    assert estimates.remaining(Job.objects.get(pk=running.pk)) is None


def test_less_than_a_second_that_is_left_is_said_as_such(as_ada: Client, ada: User) -> None:
    own = model("own")
    running = played(own, EASY, (10, 40, 0, 0.01), (40, 0, 0, 0.0))
    Job.objects.filter(pk=running.pk).update(state=Job.State.RUNNING)
    Shard.objects.filter(job=running, number=2).update(done=0, state=Shard.State.QUEUED)
    page = tight(as_ada.get(running.get_absolute_url()))
    assert re.search(r"<dt>Time left</dt>\s*<dd>\s*less than 1&nbsp;s", page)


def test_the_form_says_what_the_estimate_rests_on(as_ada: Client, ada: User) -> None:
    own = Agent.objects.get(slug="random")
    played(own, EASY, (100, 200, 0, 10.0))
    form = {"agent": "random", "episodes_per_env": "20", "seed": "0", "num_envs": "8"}
    page = tight(as_ada.get("/jobs/new/estimate/", {**form, "env_id": [EASY, WORDLE]}))
    assert "Estimated from 100 earlier episodes of this agent on these environments." in page
    assert "No agent of its kind has played" in page


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (Range(9_050, 9_100, 9_150), "about 9,100"),
        (Range(8_312, 40_000, 198_123), "8,310 to 198,000"),
        (Range(0.0, 0.5, 2.0), "0 to 2"),
        (Range(0.0, 0.0, 0.0), "about 0"),
    ],
)
def test_numbers_have_as_many_digits_as_are_known(found: Range, words: str) -> None:
    assert amounts(found) == words


def test_money_has_its_cents() -> None:
    assert amounts(Range(0.414, 0.9, 4.305), 2) == "0.41 to 4.30"
