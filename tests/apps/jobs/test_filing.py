"""How jobs are filed: their list by tag, group and words, one's own priority, and the same through the API."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.jobs import admission, leases, operations
from apps.jobs.filing import Filing
from apps.jobs.models import Job
from gem.evaluation.spec import EvaluationSpec

EASY = "game:GuessTheNumber-v0-easy"


def submit(owner: User, agents: tuple[str, ...] = ("random",), episodes: int = 2, **filed: Any) -> list[Job]:
    specs = [EvaluationSpec(agent=agent, env_ids=(EASY,), episodes_per_env=episodes) for agent in agents]
    return operations.submit_all(owner, specs, Filing(**filed))


def test_a_list_finds_jobs_by_tag_group_and_words(as_ada: Client, ada: User) -> None:
    (named,) = submit(ada, name="Night run", tags=("tools", "round 2"))
    (noted,) = submit(ada, notes="Do tools help at night?")
    pair = submit(ada, ("random", "expert"))
    (private,) = submit(User.objects.create_user("bob"), name="night", tags=("tools",), visibility="private")

    def found(query: str) -> set[str]:
        page = as_ada.get(f"/jobs/?{query}").content.decode()
        return {job.pk for job in Job.objects.all() if f'href="{job.get_absolute_url()}"' in page}

    assert found("tag=tools") == {named.pk}
    assert found("tag=round+2") == {named.pk}
    assert found("q=NIGHT") == {named.pk, noted.pk}
    assert found("q=nig+run") == {named.pk}
    assert found("q=expert") == {pair[1].pk}
    assert found(f"group={pair[0].group}") == {job.pk for job in pair}
    assert found("q=night&tag=tools&state=queued&whose=mine") == {named.pk}
    assert found("tag=nothing") == set()
    assert private.pk not in found("q=night") | found("tag=tools")
    for hostile in ("q=%00", "q='!&|:*", "tag=%ff", "q=" + "a+" * 300, "group=%00"):
        assert as_ada.get(f"/jobs/?{hostile}").status_code == 200


def test_jobs_that_were_submitted_together_are_compared_with_one_click(as_ada: Client, ada: User) -> None:
    first, second = submit(ada, ("random", "expert"))
    (alone,) = submit(ada, tags=("alone",))
    link = f'href="/compare/?job={first.pk}&amp;job={second.pk}"'
    assert link in as_ada.get(f"/jobs/?group={first.group}").content.decode()
    assert 'href="/compare/?job=' not in as_ada.get("/jobs/?tag=alone").content.decode()
    assert 'href="/compare/?job=' not in as_ada.get("/jobs/").content.decode()
    assert alone.group == ""


@pytest.mark.parametrize(
    ("filed", "index"),
    [({"tag": "t"}, "jobs_by_tag"), ({"group": "g"}, "jobs_of_group"), ({"words": "w"}, "jobs_by_word")],
)
def test_every_filter_has_an_index(ada: User, filed: dict[str, str], index: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_indexscan = off")
    assert index in Job.objects.order_by().filed_under(ada, **filed).explain()


def test_a_priority_orders_ones_own_jobs_and_never_those_of_others(ada: User, settings: Settings) -> None:
    settings.JOBS_RUNNING_PER_USER = 3
    bob = User.objects.create_user("bob")
    (low,), (normal,), (high,) = (submit(ada, priority=priority) for priority in (-1, 0, 1))
    (bobs,) = submit(bob, priority=-1)
    assert [admission.jobs_ahead(job) for job in (high, normal, low)] == [1, 2, 3]
    assert admission.jobs_ahead(bobs) == 1, "one of each other person, whatever its priority"
    claims = [leases.claim() for _ in range(4)]
    order = [claim.job_id for claim in claims if claim is not None]
    assert [job_id for job_id in order if job_id != bobs.pk] == [high.pk, normal.pk, low.pk]
    assert bobs.pk in order[:2], "bob is served in turn"


def test_the_api_takes_the_document_of_the_form(as_ada: Client, ada: User) -> None:
    document = {
        "agents": ["random", "expert"], "env_ids": ["game:*-v0-easy", "rg:gcd"], "without": [["expert", "rg:gcd"]],
        "episodes_per_env": 1, "notes": "n", "tags": ["t"], "priority": "low", "visibility": "private",
    }  # fmt: skip

    def post(data: dict[str, Any]) -> Any:
        headers = {"Idempotency-Key": "k"}
        return as_ada.post("/api/v1/jobs", json.dumps(data), content_type="application/json", headers=headers)

    refused = post({**document, "seed": -1, "tags": ["a\u200b"], "env_ids": ["chess:*"]})
    assert refused.status_code == 422
    assert {error["field"] for error in refused.json()["errors"]} == {"seed", "tags", "env_ids"}
    unknown = post({**document, "without": [], "agents": ["expert", "nobody"]})
    assert len(unknown.json()["errors"]) == 2, "what each agent cannot do is said at once"
    assert not Job.objects.exists()

    answer = post(document)
    assert answer.status_code == 201
    jobs = answer.json()["jobs"]
    assert [job["agent"] for job in jobs] == ["random", "expert"]
    assert answer.json()["id"] == jobs[0]["id"]
    assert {(job["group"], job["priority"], *job["tags"]) for job in jobs} == {(jobs[0]["group"], "low", "t")}
    assert answer.json()["notes"] == "n"
    assert [len(Job.objects.get(pk=job["id"]).spec["env_ids"]) for job in jobs] == [14, 13]
    assert post(document).json()["jobs"] == jobs
    assert Job.objects.count() == 2
    listed = as_ada.get("/api/v1/jobs", {"tag": "t", "group": jobs[0]["group"], "q": "expert"}).json()["items"]
    assert [job["id"] for job in listed] == [jobs[1]["id"]]
