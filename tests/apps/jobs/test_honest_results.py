"""What results say about themselves: what is missing, how wide the intervals are, on which data they were played."""

import re
from dataclasses import asdict, replace
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.utils.html import strip_tags

from apps.accounts.models import User
from apps.episodes.models import Seat
from apps.jobs import leases, operations, pages
from apps.jobs.leases import error_share
from apps.jobs.leases.error_share import Errors
from apps.jobs.models import Job, Shard
from apps.jobs.results import Tally, clusters, datasets, missing, tallies_of
from apps.jobs.results.grid import EnvironmentResults
from apps.jobs.results.missing import Bounds
from apps.jobs.topics import JobTopic
from gem.agents import make_agent
from gem.agents.agent import Decision
from gem.datasets.samples import sample
from gem.evaluation.intervals import SeedSums, estimate_return
from gem.evaluation.spec import EvaluationSpec
from gem.records import EpisodeRecord
from gem.rollout import rollout
from tests.html import whole_of

EASY, HARD, MATH = "game:GuessTheNumber-v0-easy", "game:GuessTheNumber-v0-hard", "math:GSM8K"


class Mumbler:
    """An agent that never says anything that an environment could read."""

    name = "mumbler"

    def act(self, requests: Any) -> list[Decision]:
        return [Decision("So the final move is down, right?") for _ in requests]


def submit(owner: User | None, *env_ids: str, **more: Any) -> Job:
    request = {"agent": "random", "env_ids": env_ids or (EASY,), "episodes_per_env": 20, "num_envs": 4, **more}
    return operations.submit(owner, EvaluationSpec.model_validate(request))


def play(job: Job, *, most: int = 1_000_000, agent: Any = None, broken: int = 0, by: str = "environment") -> Job:
    """Record the first episodes of a job, of which the first `broken` end in an error; the job as it is then."""
    while most > 0 and (claim := leases.claim()) is not None:
        records = list(rollout(agent or make_agent("random"), claim.slots()[:most], num_envs=4))
        most -= len(records)
        failing, broken = min(broken, len(records)), max(0, broken - len(records))
        leases.record_episodes(claim, [fail(record, by) for record in records[:failing]] + records[failing:])
        if not Job.objects.get(pk=job.pk).over:
            error_share.stop_over_errors(job.pk, claim.spec)
    return Job.objects.get(pk=job.pk)


def said(response: Any) -> str:
    """What a page says, without its tags and line breaks."""
    text = unescape(strip_tags(re.sub(r"<br>|</(?:dt|dd|td|th|small|code)>", " ", response.content.decode())))
    return re.sub(r"\s+", " ", text).replace(" ,", ",").replace(" :", ":")


def fail(record: EpisodeRecord, by: str) -> EpisodeRecord:
    return replace(record, failure="the search index does not answer", failed_by=by, success=None)  # type: ignore[arg-type]


# ------------------------------------------------------------------ too many errors


def test_a_job_of_which_most_episodes_ended_in_errors_has_failed(ada: User) -> None:
    job = play(submit(ada), broken=19)
    assert job.state == Job.State.FAILED
    assert "19 of 20 episodes are not counted (19 environment errors), and this job allows 10 %." in job.reason


def test_a_job_within_its_share_of_errors_is_done_and_partial(ada: User, client: Client) -> None:
    job = play(submit(ada), broken=2, by="agent")
    assert (job.state, job.reason) == (Job.State.DONE, "")
    page = said(client.get(job.get_absolute_url()))
    assert "Partial: 18 of 20 episodes count." in page
    assert "In 2 the agent gave no answer." in page


def test_a_job_that_allows_all_errors_is_done(ada: User) -> None:
    assert play(submit(ada, max_error_share=1.0), broken=20).state == Job.State.DONE


def test_a_running_job_is_stopped_when_its_errors_are_past_all_doubt(ada: User) -> None:
    job = play(submit(ada, EASY, HARD, episodes_per_env=100), most=24, broken=24)
    assert job.state == Job.State.FAILED
    assert job.episodes_done < 40
    assert not Shard.objects.filter(job=job, state__in=[Shard.State.QUEUED, Shard.State.RUNNING]).exists()


@pytest.mark.parametrize(
    ("found", "share", "surely"),
    [
        (Errors(19, 19, 0, 1000), 0.1, False),  # too few episodes
        (Errors(20, 6, 0, 1000), 0.1, False),  # three standard deviations are 4.02
        (Errors(20, 7, 0, 1000), 0.1, True),
        (Errors(20, 4, 0, 30), 0.1, True),  # more than 10 % of all, whatever comes
        (Errors(10, 4, 0, 30), 0.1, False),
        (Errors(1000, 110, 0, 100_000), 0.1, False),
        (Errors(20, 1, 0, 1000), 0.0, True),
        (Errors(500, 500, 0, 500), 1.0, False),
    ],
)
def test_a_running_job_is_not_stopped_by_bad_luck(found: Errors, share: float, surely: bool) -> None:
    assert error_share.has_surely_too_many(found, share) is surely


@pytest.mark.parametrize("share", [-0.1, 1.1, float("nan")])
def test_a_share_of_errors_is_from_0_to_1(share: float) -> None:
    with pytest.raises(ValueError, match="must be from 0 to 1"):
        EvaluationSpec.model_validate({"agent": "random", "env_ids": [EASY], "max_error_share": share})


# ------------------------------------------------------------------ partial results


def test_a_cut_job_is_partial_everywhere_and_says_what_is_missing(as_ada: Client, ada: User) -> None:
    job = submit(ada, EASY, HARD)
    play(job, most=8)
    assert leases.claim() is not None  # four more are being played
    job = operations.cancel(job.pk, ada)
    tally = Tally.of(job.shards.all())
    page = said(as_ada.get(job.get_absolute_url()))
    low, high = tally.won / 40, (tally.won + 32) / 40
    assert "Partial: 8 of 40 episodes count. 32 were not played to their end." in page
    assert f"{100 * low:.1f} % would be solved; if all were won, {100 * high:.1f} %." in page
    assert "4 episodes were being played when the job was stopped, and are missing." in page
    assert "the results favour short episodes" in page
    for address in ("/jobs/", "/jobs/recent/"):
        assert "partial" in said(as_ada.get(address))
    results = as_ada.get(f"/api/v1/jobs/{job.pk}/results").json()
    assert results["missing"]["success_rate"] == pytest.approx({"low": low, "high": high})
    assert (results["missing"]["cut_off"], results["missing"]["unplayed"]) == (4, 32)
    assert [score["partial"] for score in results["environments"]] == [True, True]
    export = as_ada.get(f"/api/v1/jobs/{job.pk}/episodes.jsonl")
    assert f"job-{job.pk}-partial.jsonl" in export["Content-Disposition"]


def test_a_job_says_that_it_is_partial_before_its_first_episode_ends(as_ada: Client, ada: User) -> None:
    page = said(as_ada.get(submit(ada, EASY, HARD).get_absolute_url()))
    assert "Partial: 0 of 40 episodes count." in page, "what is below stays where it is when the first one ends"
    assert "No episode counts yet in" not in page, "a list that becomes shorter moves what is below"


def test_environments_weigh_the_same_in_the_bounds_of_a_partial_result() -> None:
    lines = [
        EnvironmentResults(EASY, 0, 0, Tally(total=10, done=10, won=10, returns=10.0), 10),
        EnvironmentResults("code:Taco8k", 10, 0, Tally(total=90, done=30, won=9, returns=9.0), 90),
    ]
    low, high = missing.bounds_of_solved(lines)
    assert (low, high) == pytest.approx(((1 + 9 / 90) / 2, (1 + 69 / 90) / 2))
    assert low <= (1 + 9 / 30) / 2 <= high, "the share that the page shows is between them"
    assert missing.bounds_of_mean_return(lines) == pytest.approx(((1 + 3 / 90) / 2, (1 + 69 / 90) / 2))


def test_few_seeds_leave_room_for_what_was_solved_in_several_tries(as_ada: Client, ada: User) -> None:
    page = said(as_ada.get(play(submit(ada, episodes_per_env=3, repeats=2)).get_absolute_url()))
    tries = page.partition("Solved in k tries")[2].partition("Where the time went")[0]
    assert tries.count("no interval") == 2
    assert "too little of the spread" not in tries, "a sentence in its column pushes the numbers out of the panel"


def test_actions_that_nobody_took_are_not_said_to_be_uncounted(as_ada: Client, ada: User) -> None:
    job = submit(ada, max_error_share=1)
    claim = leases.claim()
    assert claim is not None
    requests = claim.slots()
    silent = [replace(fail(record, "agent"), turns=[]) for record in rollout(make_agent("random"), requests)]
    leases.record_episodes(claim, silent)
    for address in (job.get_absolute_url(), "/jobs/"):
        assert "not counted then" not in said(as_ada.get(address))


def test_complete_results_are_not_partial(as_ada: Client, ada: User) -> None:
    job = play(submit(ada))
    assert "Partial" not in said(as_ada.get(job.get_absolute_url()))
    assert as_ada.get(f"/api/v1/jobs/{job.pk}/results").json()["missing"] is None


def test_the_mean_return_has_bounds_where_environments_declare_them(ada: User) -> None:
    job = play(submit(ada, MATH), most=8, agent=Mumbler())
    context = pages.evaluation(job)
    assert context["missing"].mean_return == Bounds(0.0, 12 / 20)
    assert missing.return_bounds(EASY) is None
    assert missing.return_bounds("code:Taco8k") == (-0.1, 1.0)


# ------------------------------------------------------------------ one seed is one observation


def test_tries_of_a_seed_are_one_observation(ada: User, as_ada: Client) -> None:
    job = play(submit(ada, episodes_per_env=30, repeats=4))
    returns: dict[int, list[float]] = {}
    for seed, value in job.batch.episodes.values_list("seed", "seats__total_reward"):
        returns.setdefault(seed, []).append(value)
    expected = estimate_return(SeedSums.of(values) for values in returns.values())
    mean_return = clusters.scores_of(job).total.mean_return
    interval = (mean_return.mean, mean_return.low, mean_return.high)
    assert interval == pytest.approx((expected.mean, expected.low, expected.high))
    assert mean_return.seeds == expected.seeds == 30
    assert "n = 30 seeds" in said(as_ada.get(job.get_absolute_url()))
    score = as_ada.get(f"/api/v1/jobs/{job.pk}").json()["score"]
    assert (score["seeds"], score["counted"]) == (30, 120)
    assert (score["return_low"], score["return_high"]) == pytest.approx((expected.low, expected.high))


def test_few_seeds_and_equal_returns_have_no_interval_and_say_why(ada: User, as_ada: Client) -> None:
    few = play(submit(ada, episodes_per_env=9))
    equal = play(submit(ada, MATH), agent=Mumbler())
    assert "9 seeds say too little of the spread" in said(as_ada.get(few.get_absolute_url()))
    page = said(as_ada.get(equal.get_absolute_url()))
    assert "the returns of all 20 seeds are equal" in page
    assert "± 0.000" not in page
    assert as_ada.get(f"/api/v1/jobs/{equal.pk}").json()["score"]["no_interval"].startswith("No interval: the returns")


def test_returns_whose_squares_are_too_small_for_the_database_break_no_page(ada: User, as_ada: Client) -> None:
    job = play(submit(ada))
    Seat.objects.filter(episode__batch=job.batch_id).update(total_reward=1e-200)
    assert as_ada.get("/jobs/recent/").status_code == 200
    assert as_ada.get(job.get_absolute_url()).status_code == 200


def test_environments_count_equally_and_their_errors_add_up() -> None:
    def seeds(*values: float) -> list[SeedSums]:
        return [SeedSums.of([value]) for value in values]

    first, second = seeds(*range(10)), seeds(*range(0, 40, 2))
    found = clusters.summarize({"a": first, "b": second})
    one, two, total = found.of("a").mean_return, found.of("b").mean_return, found.total.mean_return
    assert one
    assert two
    assert total
    assert total.mean == pytest.approx((4.5 + 19) / 2)
    assert one.low is not None
    assert two.low is not None
    assert total.low == pytest.approx(total.mean - ((4.5 - one.low) ** 2 + (19 - two.low) ** 2) ** 0.5 / 2)
    assert found.total.seeds == 30
    assert clusters.summarize({}).total.mean_return is None
    assert clusters.summarize({"a": first[:4], "b": second[:4]}).total.mean_return.low is None  # type: ignore[union-attr]


def test_the_statistics_of_a_list_take_one_query(ada: User, django_assert_num_queries: Any) -> None:
    jobs = [play(submit(ada, episodes_per_env=4)) for _ in range(3)]
    with django_assert_num_queries(1):
        found = clusters.scores_of_all(jobs)
    assert [scores.total.seeds for scores in found.values()] == [4, 4, 4]
    with django_assert_num_queries(0):
        assert clusters.scores_of_all(jobs) == found


# ------------------------------------------------------------------ actions that were not accepted


def test_unreadable_actions_are_counted_and_shown_everywhere(ada: User, as_ada: Client) -> None:
    job = play(submit(ada, MATH), agent=Mumbler())
    shards = job.shards.all()
    assert sum(shard.unreadable or 0 for shard in shards) == sum(shard.actions or 0 for shard in shards) == 20
    page = said(as_ada.get(job.get_absolute_url()))
    assert re.search(r"Unreadable, forbidden 100\.0 % and 0\.0 % of actions", page)
    assert "100.0 % 0.0 % forbidden" in said(as_ada.get("/jobs/"))
    score = as_ada.get(f"/api/v1/jobs/{job.pk}").json()["score"]
    assert (score["actions"], score["unreadable"], score["forbidden"]) == (20, 20, 0)


def test_jobs_from_before_say_that_nobody_counted(ada: User, as_ada: Client) -> None:
    job = play(submit(ada))
    Shard.objects.filter(job=job).update(actions=None, unreadable=None, forbidden=None)
    assert "not counted then" in said(as_ada.get(job.get_absolute_url()))
    assert as_ada.get(f"/api/v1/jobs/{job.pk}").json()["score"]["unreadable"] is None


def test_a_shard_that_waited_through_the_change_is_counted(ada: User) -> None:
    job = submit(ada)
    Shard.objects.filter(job=job).update(actions=None, unreadable=None, forbidden=None)
    play(job)
    assert all(shard.actions for shard in job.shards.all())


# ------------------------------------------------------------------ data


@pytest.mark.django_db(transaction=True)  # the export is read by another connection
def test_a_sample_that_stands_in_is_named_with_its_hash(ada: User, as_ada: Client) -> None:
    digest = sample("gsm8k").sha256
    form = {"agent": "random", "env_id": [MATH], "episodes_per_env": "20", "seed": "0", "num_envs": "4"}
    fragment = said(as_ada.get("/jobs/new/estimate/", form))
    assert "math:GSM8K: built-in sample gsm8k in place of axon-rl/GSM-8k" in fragment
    assert digest[:12] in fragment
    job = submit(ada, MATH)
    assert "Plays on stand-in data." in said(as_ada.get(job.get_absolute_url())), "known before its first episode ends"
    job = play(job, agent=Mumbler())
    page = said(as_ada.get(job.get_absolute_url()))
    assert "Played on stand-in data." in page
    assert digest[:12] in page
    (use,) = as_ada.get(f"/api/v1/jobs/{job.pk}/results").json()["data"]
    expected = {"env_id": MATH, "name": "built-in sample gsm8k", "hash": digest, "stands_in_for": "axon-rl/GSM-8k"}
    assert use == expected
    line = whole_of(as_ada.get(f"/api/v1/jobs/{job.pk}/episodes.jsonl")).splitlines()[0]
    assert b'"stands_in_for": "axon-rl/GSM-8k"' in line
    Shard.objects.filter(job=job).update(data={}, actions=None)
    (old,) = datasets.used(job)
    assert (old.name, old.data_hash) == ("built-in sample gsm8k", digest), "also of jobs from before shards kept it"


def test_an_environment_without_data_names_none(ada: User, as_ada: Client) -> None:
    job = play(submit(ada))
    assert datasets.used(job) == []
    assert "stand-in" not in said(as_ada.get(job.get_absolute_url()))


# ------------------------------------------------------------------ the log


def test_a_line_that_is_written_while_a_page_is_made_comes_once(ada: User) -> None:
    job = submit(ada)
    contents = pages.set_up(job)  # its log is read only when the template is rendered
    claim = leases.claim()
    assert claim is not None
    shown = [line.seq for line in contents["log"]]
    (event,) = JobTopic().events(job.pk, job.seq, "first")
    assert shown == [1]
    assert "claimed" in event.html


def test_lists_and_pages_sum_a_job_to_the_same_numbers(ada: User) -> None:
    job = play(submit(ada, EASY, HARD, episodes_per_env=12, max_error_share=1.0), broken=3)
    Shard.objects.filter(job=job, env_id=HARD).update(state=Shard.State.DECIDED, actions=None, done=5)
    untouched = submit(ada)
    sums = tallies_of([job, untouched])
    for each in (job, untouched):  # the database adds numbers up in an order of its own
        assert asdict(sums[each.pk]) == pytest.approx(asdict(Tally.of(each.shards.all())), rel=1e-12)
    assert (sums[job.pk].errors, sums[untouched.pk].total) == (3, 20)
    assert sums[job.pk].spared > 0
