"""Evaluations that stop as soon as it is decided which of two agents solves more."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.episodes.models import Episode
from apps.jobs import controls, operations, results
from apps.jobs.decisions import checks, looks
from apps.jobs.decisions.rows import Decision
from apps.jobs.errors import CannotChange, CannotDecide
from apps.jobs.filing import Filing
from apps.jobs.models import Job, Shard
from apps.visibility import Visibility
from gem.evaluation.spec import EvaluationSpec
from tests.html import tight
from tests.workers.records import fresh, play_out
from workers import evaluate

EASY = "game:GuessTheNumber-v0-easy"
MINES = "game:Minesweeper-v0-easy"
PLAYED = pytest.mark.django_db(transaction=True)


def spec_of(agent: str, episodes: int = 80, env_ids: tuple[str, ...] = (EASY, MINES), **more: object) -> EvaluationSpec:
    request = {"agent": agent, "env_ids": env_ids, "episodes_per_env": episodes, **more}
    return EvaluationSpec.model_validate(request)


@PLAYED
def test_a_job_stops_when_it_is_decided_against_a_finished_one(as_ada: Client, ada: User) -> None:
    other = play_out(operations.submit(ada, spec_of("random")))
    job = operations.submit(ada, spec_of("expert", stop_against=other.pk, num_envs=2))
    assert "stop_against" not in job.spec
    job = play_out(job)
    assert (job.state, job.state_in_words) == (Job.State.DECIDED, "stopped: decided")
    decision = Decision.objects.get(job=job)
    assert decision.is_decided
    assert decision.planned == 160
    assert 0 < decision.seeds < 100
    assert decision.low > 0
    tally = results.Tally.of(job.shards.all())
    assert job.episodes_done < 120
    assert (tally.is_partial, tally.total, tally.needed) == (False, 160, job.episodes_done)
    assert set(job.shards.values_list("state", flat=True)) == {Shard.State.DONE, Shard.State.DECIDED}
    said = f"Decided after {decision.seeds} of 160 seeds: this agent solves"
    assert job.reason.startswith(said)

    page = tight(as_ada.get(job.get_absolute_url()).content.decode())
    assert "stopped: decided" in page
    assert "Stopped early." in page
    assert said in page
    assert "Partial:" not in page
    assert other.title in page
    theirs = tight(as_ada.get(other.get_absolute_url()).content.decode())
    assert f"Decided after {decision.seeds} of 160 seeds: expert solves" in theirs
    compared = tight(as_ada.get("/compare/", {"job": [other.pk, job.pk]}).content.decode())
    assert f"data-wide>Decided after {decision.seeds} of 160 seeds: expert solves" in compared
    assert "expert stopped as soon as a comparison was decided" in compared
    listed = tight(as_ada.get("/jobs/").content.decode())
    assert "stopped: decided" in listed
    assert "partial" not in listed
    answer = as_ada.get(f"/api/v1/jobs/{job.pk}").json()
    assert answer["state"] == "decided"
    assert answer["decision"]["against"] == other.pk
    assert answer["decision"]["sentence"] == job.reason
    assert answer["score"]["partial"] is False

    Episode.objects.filter(pk=Episode.objects.filter(batch=job.batch_id)[:1].get().pk).update(status="failed")
    with pytest.raises(CannotChange, match="its comparison was decided"):
        controls.retry_failed(job.pk, ada)
    again = operations.resubmit(job.pk, ada)
    assert Decision.objects.get(job=again).against == other
    operations.set_visibility(other, Visibility.UNLISTED)
    assert Client().get(f"/api/v1/jobs/{job.pk}").json()["decision"]["against"] is None
    assert other.pk not in Client().get(job.get_absolute_url()).content.decode()


@PLAYED
def test_two_jobs_of_a_submission_stop_each_other(ada: User) -> None:
    specs = [spec_of("random", stop_against="group", num_envs=2), spec_of("expert", stop_against="group", num_envs=2)]
    jobs = operations.submit_all(ada, specs, Filing())
    evaluate.shards(jobs[0].pk)
    first, second = (Decision.objects.get(job=job) for job in jobs)
    assert [fresh(job).state for job in jobs] == [Job.State.DECIDED] * 2
    assert (first.seeds, first.evidence) == (second.seeds, second.evidence)
    assert (first.low, first.high) == (-second.high, -second.low)
    assert first.high < 0
    assert all(job.events.get(kind="ended").data["state"] == "decided" for job in jobs)


@PLAYED
def test_a_comparison_that_is_not_decided_plays_everything(as_ada: Client, ada: User) -> None:
    other = play_out(operations.submit(ada, spec_of("random", 30, (EASY,))))
    job = play_out(operations.submit(ada, spec_of("random", 30, (EASY,), stop_against=other.pk)))
    decision = Decision.objects.get(job=job)
    assert (job.state, job.episodes_done, decision.seeds) == (Job.State.DONE, 30, 30)
    assert not decision.is_decided
    assert decision.low < 0 < decision.high
    assert job.events.get(kind="ended").text.startswith("all episodes are done. Not decided after 30 of 30 seeds")
    assert "Not decided after 30 of 30 seeds" in as_ada.get(job.get_absolute_url()).content.decode()
    other.delete()
    assert looks.last_look(job.pk).startswith("Not decided after 30 of 30 seeds")
    assert as_ada.get(job.get_absolute_url()).status_code == 200


@PLAYED
def test_only_seeds_that_both_have_completed_are_looked_at(ada: User) -> None:
    other = operations.submit(ada, spec_of("random", 24, (EASY,), repeats=2))
    controls.pause(other.pk, ada)
    job = play_out(operations.submit(ada, spec_of("expert", 24, (EASY,), repeats=2, stop_against=other.pk)))
    assert (job.state, Decision.objects.get(job=job).seeds) == (Job.State.DONE, 0)
    operations.resume(other.pk, ada)
    play_out(other)
    decision = Decision.objects.get(job=job)
    assert decision.is_decided, "the other job's episodes decide it afterwards"
    assert fresh(job).state == Job.State.DONE


@pytest.mark.django_db
def test_what_cannot_be_compared_is_refused_with_a_sentence(as_ada: Client, ada: User) -> None:
    other = operations.submit(ada, spec_of("random", max_turns=3))
    refused = {
        "a different turn limit": spec_of("expert", stop_against=other.pk),
        "with the seeds 0 to 79, and this job with 0 to 89": spec_of("expert", 90, max_turns=3, stop_against=other.pk),
        "does not play game:Hangman-v0": spec_of(
            "random", env_ids=("game:Hangman-v0",), max_turns=3, stop_against=other.pk
        ),
        "There is no evaluation 000000000000": spec_of("expert", stop_against="000000000000"),
        "A comparison needs two agents, and there is one": spec_of("expert", stop_against="group"),
    }
    for words, spec in refused.items():
        with pytest.raises(CannotDecide, match=words):
            operations.submit(ada, spec)
    assert Job.objects.count() == 1
    form = as_ada.post(
        "/jobs/new/",
        {
            "agent": "expert",
            "env_id": EASY,
            "episodes_per_env": 5,
            "stop_against": f"/jobs/{other.pk}/",
            "benchmark": "",
            "seed": 0,
            "num_envs": 2,
            "max_error_share": "0.1",
            "tool_format": "tags",
            "max_tool_uses": 5,
        },
    )
    assert form.status_code == 422
    assert "has a different turn limit" in form.content.decode()
    ranked = as_ada.post(
        "/api/v1/jobs", {"agent": "expert", "benchmark": "games", "stop_against": other.pk}, "application/json"
    )
    assert "is played without stopping early" in ranked.content.decode()
    operations.set_visibility(other, Visibility.PRIVATE)
    ben = User.objects.create_user("ben")
    with pytest.raises(CannotDecide, match="There is no evaluation"):
        operations.submit(ben, spec_of("expert", max_turns=3, stop_against=other.pk))


def test_looks_go_round_by_round_and_tries_of_a_seed_come_together() -> None:
    from apps.jobs.planning import pieces

    spec = spec_of("random", 3, (EASY, MINES), seed=7)
    assert checks.places_of(spec) == [(EASY, 7), (MINES, 7), (EASY, 8), (MINES, 8), (EASY, 9), (MINES, 9)]
    many = spec_of("random", 100, (EASY, MINES), repeats=2, stop_against="group")
    cut = pieces(many, dict.fromkeys(many.env_ids, 250))
    assert sorted(piece.first_slot + index for piece in cut for index in range(piece.episodes)) == list(range(400))
    seen = [(piece.start, piece.part.repeat) for piece in cut if piece.part.env_id == EASY]
    assert seen == sorted(seen), "both tries of the first seeds come before further seeds"
    assert max(piece.episodes for piece in cut) <= 25
