"""What an owner does with a job that was played: describe, archive, delete, rerun."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.episodes.models import Batch, Episode, Turn
from apps.jobs import operations as jobs
from apps.jobs.afterwards import operations
from apps.jobs.afterwards.operations import Description
from apps.jobs.errors import CannotDelete, NotYours
from apps.jobs.models import Job
from apps.leaderboard.operations import record_scores
from apps.play import operations as play_operations
from gem.evaluation.spec import EvaluationSpec
from tests.apps.jobs.test_honest_results import EASY, HARD, play, said, submit


@pytest.fixture
def eve(ada: User) -> User:
    return User.objects.create_user("eve")


def test_an_owner_names_tags_and_notes_a_job(ada: User, as_ada: Client) -> None:
    job = submit(ada, EASY)
    as_ada.post(f"{job.get_absolute_url()}describe/", {"name": "With <b>chat</b>", "tags": "a, b,a", "notes": " why "})
    job.refresh_from_db()
    assert (job.name, job.tags, job.notes) == ("With <b>chat</b>", ["a", "b"], "why")
    refused = as_ada.post(f"{job.get_absolute_url()}describe/", {"name": "n" * 121, "tags": ", ".join("abcdefghijklm")})
    assert refused.status_code == 422
    assert "A name has at most 120 characters." in said(refused)
    assert "A job has at most 12 tags; you entered 13." in said(refused)


def test_an_archived_job_is_found_by_the_filter_only(ada: User, as_ada: Client) -> None:
    job = submit(ada, EASY)
    as_ada.post(f"{job.get_absolute_url()}archive/", {"archived": "1"})

    def listed(query: str) -> list[str]:
        return [item.job.pk for item in as_ada.get(f"/jobs/?{query}").context["items"]]

    assert (listed(""), listed("whose=mine"), listed("archived=1")) == ([], [], [job.pk])
    assert [row["id"] for row in as_ada.get("/api/v1/jobs").json()["items"]] == []
    assert [row["id"] for row in as_ada.get("/api/v1/jobs?archived=true").json()["items"]] == [job.pk]
    assert "archived" in said(as_ada.get(job.get_absolute_url()))
    as_ada.post(f"{job.get_absolute_url()}archive/")
    assert listed("") == [job.pk]


def test_a_job_is_deleted_with_its_episodes(ada: User, as_ada: Client, eve: User) -> None:
    job = play(submit(ada, EASY, episodes_per_env=3))
    other = play(submit(ada, EASY, episodes_per_env=1))
    episode = Episode.objects.filter(batch=job.batch_id, turn_count__gt=0).first()
    assert episode is not None
    fork = play_operations.fork(episode, 1, user=eve, visitor="")
    page = said(as_ada.get(job.get_absolute_url()))
    assert f"Its results, its log and its 3 episodes with {job.turns_done} turns will be deleted permanently" in page
    as_ada.post(f"{job.get_absolute_url()}delete/")
    assert not Job.objects.filter(pk=job.pk).exists()
    as_ada.logout()
    assert as_ada.get(f"/episodes/{episode.pk}/").status_code == 404
    assert operations.erase() == 1
    assert not Episode.objects.filter(batch=job.batch_id).exists()
    assert not Turn.objects.filter(episode=episode.pk).exists()
    assert not Batch.objects.filter(pk=job.batch_id).exists()
    assert Episode.objects.filter(batch=other.batch_id).count() == 1
    assert Episode.objects.get(pk=fork.pk).parent is None, "what somebody forked is theirs"


def test_erasing_goes_on_where_it_stopped(ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.play.personal_data.CHUNK", 1)
    job = play(submit(ada, EASY, episodes_per_env=3))
    operations.delete(job.pk, ada)
    assert operations.erase(seconds=-1) == 0
    assert Episode.objects.filter(batch=job.batch_id).count() == 2
    assert operations.erase() == 1


def test_running_and_ranked_jobs_stay(ada: User, as_ada: Client) -> None:
    running = submit(ada, EASY)
    with pytest.raises(CannotDelete, match="Cancel it first"):
        operations.delete(running.pk, ada)
    jobs.cancel(running.pk, ada)
    ranked = jobs.submit(ada, EvaluationSpec.model_validate({"agent": "random", "benchmark": "games"}))
    Job.objects.filter(pk=ranked.pk).update(state=Job.State.DONE)
    page = said(as_ada.get(ranked.get_absolute_url()))
    assert "This evaluation cannot be deleted" in page
    assert as_ada.delete(f"/api/v1/jobs/{ranked.pk}").status_code in (401, 403, 422)
    with pytest.raises(CannotDelete, match="a row of the leaderboard depends on its episodes"):
        operations.delete(ranked.pk, ada)
    assert record_scores(ranked.pk) >= 0
    operations.delete(running.pk, ada)
    assert Job.objects.filter(pk=ranked.pk).exists()


def test_only_the_owner_does_any_of_it(ada: User, eve: User) -> None:
    job = play(submit(ada, EASY, episodes_per_env=1))
    for attempt in (
        lambda: operations.describe(job.pk, eve, Description("mine")),
        lambda: operations.set_archived(job.pk, eve, archived=True),
        lambda: operations.delete(job.pk, eve),
    ):
        with pytest.raises(NotYours):
            attempt()
    job.refresh_from_db()
    assert (job.name, job.archived) == ("", None)


def test_a_rerun_opens_the_form_with_the_whole_request(ada: User, as_ada: Client) -> None:
    job = submit(
        ada, EASY, HARD, episodes_per_env=7, seed=5, repeats=3, num_envs=4, max_turns=9, token_budget=12345, retries=2,
        count_as_failed=["unanswered"], max_error_share=0.3, backend="threads", wrappers=[{"name": "concat"}],
    )  # fmt: skip
    operations.describe(job.pk, ada, Description("One", "why", ["a", "b"]))
    form = as_ada.get(f"/jobs/new/?{as_ada.get(job.get_absolute_url()).context['again']}").context["checked"]
    assert form.is_valid(), form.errors
    assert form.spec is not None
    assert list(form.spec.specs) == [EvaluationSpec.model_validate(job.spec)]
    assert (form.spec.name, form.spec.notes, form.spec.tags) == ("One", "why", ("a", "b"))
