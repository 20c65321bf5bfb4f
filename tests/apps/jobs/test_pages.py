"""The pages of jobs: what they show, what they refuse, and that they stay small."""

import re
from html import unescape
from typing import Any

import pytest
from django.db import connection
from django.template.loader import render_to_string
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.html import strip_tags
from pytest_django import DjangoAssertNumQueries
from pytest_django.fixtures import Settings

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.jobs import leases, operations
from apps.jobs.models import Job, JobBooks
from apps.jobs.pages import set_up
from apps.jobs.topics import JobTopic
from gem.agents import make_agent
from gem.agents.endpoint import EndpointSpec
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import rollout
from tests.html import tight
from tests.workers.records import play_out

EASY = "game:GuessTheNumber-v0-easy"
PLAYED = pytest.mark.django_db(transaction=True)
"""For tests that play a job out: its lease is renewed by a thread with a connection of its own."""
FORM: dict[str, Any] = {
    "agent": "random",
    "benchmark": "",
    "env_id": [EASY],
    "episodes_per_env": "20",
    "seed": "0",
    "num_envs": "8",
    "max_turns": "",
    "name": "",
}


def submit(owner: User, episodes: int = 20, **more: Any) -> Job:
    request = {"agent": "random", "env_ids": [EASY], "episodes_per_env": episodes, "num_envs": 8, **more}
    return operations.submit(owner, EvaluationSpec.model_validate(request))


def test_a_submitted_form_becomes_a_job(as_ada: Client, ada: User) -> None:
    answer = as_ada.post("/jobs/new/", {**FORM, "name": "mine"})
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, job.get_absolute_url())
    assert (job.owner, job.name, job.episodes_total, job.spec["env_ids"]) == (ada, "mine", 20, [EASY])


def test_a_form_sent_twice_is_one_job(as_ada: Client) -> None:
    first = as_ada.post("/jobs/new/", {**FORM, "idempotency_key": "k"})
    second = as_ada.post("/jobs/new/", {**FORM, "idempotency_key": "k"})
    assert first["Location"] == second["Location"]
    assert Job.objects.count() == 1


def test_a_running_job_is_shown_while_valkey_is_away(as_ada: Client, ada: User, settings: Settings) -> None:
    job = submit(ada)
    claim = leases.claim()
    assert claim is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots()[:5])))
    nowhere = {"LOCATION": "redis://127.0.0.1:9/0"}
    settings.CACHES = {"default": {**settings.CACHES["default"], **nowhere}}
    assert "5 of 20" in as_ada.get(job.get_absolute_url()).content.decode()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"episodes_per_env": "1000000000"}, "must be from 1 to 10,000, not 1,000,000,000"),
        ({"episodes_per_env": "9" * 5000}, "The number of episodes must be a whole number"),
        ({"episodes_per_env": ""}, "The number of episodes must be a whole number, for example 100."),
        ({"env_id": ["game:Sokobn-v0-easy"]}, "Did you mean game:Sokoban-v0-easy"),
        ({"env_id": []}, "Choose at least one environment, or a benchmark."),
        ({"env_id": [EASY, EASY]}, "An environment is chosen twice"),
        ({"env_id": ["x" * 500]}, "environment"),
        ({"seed": "forty-two"}, "A seed must be a whole number, for example 42."),
        ({"seed": "-1"}, "The seed must be from 0"),
        ({"seed": "1\x00"}, "A seed must be a whole number"),
        ({"num_envs": "0"}, "The number of parallel environments must be from 1 to 256, not 0"),
        ({"max_turns": "1001"}, "The turn limit must be from 1 to 1,000"),
        ({"agent": "nobody"}, "There is no agent"),
        ({"agent": "human"}, "There is no agent"),
        ({"agent": "../etc"}, "There is no such agent"),
        ({"agent": ""}, "Choose an agent"),
        ({"agent": "\ud800"}, "agent"),
        ({"benchmark": "nope"}, "There is no benchmark"),
        ({"name": "n" * 121}, "at most 120 characters"),
        ({"name": "a\x00b"}, "Null characters"),
        ({"idempotency_key": "k" * 81}, "at most 80"),
    ],
)
def test_bad_input_is_answered_with_a_sentence_and_the_form_is_kept(
    as_ada: Client, change: dict[str, Any], sentence: str
) -> None:
    form = {**FORM, "seed": "77", **change}
    answer = as_ada.post(
        "/jobs/new/", {k: v.encode("utf-8", "surrogatepass") if v == "\ud800" else v for k, v in form.items()}
    )
    page = answer.content.decode()
    assert answer.status_code == 422
    assert sentence in re.sub(r"&#x27;", "'", page)
    assert 'value="77"' in page or "seed" in change
    assert not Job.objects.exists()


def test_a_job_above_the_cap_says_so_beside_its_field(as_ada: Client, settings: Settings) -> None:
    settings.EPISODES_PER_JOB = 10
    answer = as_ada.post("/jobs/new/", FORM)
    assert answer.status_code == 422
    assert "A job may have at most 10 episodes; this one has 20." in answer.content.decode()


def test_whoever_has_no_account_logs_in_and_finds_the_form_as_it_was(client: Client, ada: User) -> None:
    answer = client.post("/jobs/new/", {**FORM, "seed": "77", "name": "kept"})
    assert answer.status_code == 302
    assert answer["Location"].startswith("/account/login/?next=/jobs/new/")
    client.force_login(ada)
    page = tight(client.get(client.get(answer["Location"]).headers["Location"]))
    assert 'value="77"' in page
    assert 'value="kept"' in page
    assert f'name="env_id" value="{EASY}"' in page
    assert not Job.objects.exists()


def test_an_address_with_nonsense_still_shows_the_form(client: Client, ada: User) -> None:
    answer = client.get("/jobs/new/?env_id=nope&env_id=%00&seed=x&benchmark=zzz&agent=%ff")
    assert answer.status_code == 200


@PLAYED
def test_the_estimate_says_what_it_rests_on(as_ada: Client, ada: User) -> None:
    fragment = tight(as_ada.get("/jobs/new/estimate/", FORM))
    assert "nothing to estimate from" in fragment
    play_out(submit(ada, 60))
    fragment = tight(as_ada.get("/jobs/new/estimate/", FORM))
    assert "Estimated from 60 earlier episodes of this agent on these environments." in fragment
    wrong = tight(as_ada.get("/jobs/new/estimate/", {**FORM, "seed": "x"}))
    assert "A seed must be a whole number" in wrong
    assert "1 field to correct." in wrong


def test_nobody_cancels_a_strangers_job(client: Client, ada: User) -> None:
    job = submit(ada)
    client.force_login(User.objects.create_user("bob"))
    assert client.post(f"/jobs/{job.pk}/cancel/").status_code == 403
    assert Job.objects.get().state == Job.State.QUEUED
    client.logout()
    assert client.post(f"/jobs/{job.pk}/cancel/").status_code == 302
    assert Job.objects.get().state == Job.State.QUEUED


def test_a_job_that_its_budget_ended_says_so(as_ada: Client, ada: User) -> None:
    job = submit(ada)
    spec = {**job.spec, "token_budget": 3000}
    Job.objects.update(state=Job.State.STOPPED, reason="The budget of 3,000 tokens is used up.", spec=spec)
    page = tight(as_ada.get(job.get_absolute_url()))
    assert "The job was stopped by its budget.</b> The budget of 3,000 tokens is used up." in page
    assert "stopped by its budget</span>" in page
    assert "cancelled</span>" not in page


def test_the_owner_of_a_job_that_failed_before_its_first_episode_can_play_what_is_left(
    client: Client, as_ada: Client, ada: User
) -> None:
    job = submit(ada)
    Job.objects.filter(pk=job.pk).update(state=Job.State.FAILED, reason="The server answered 404.")
    page = tight(as_ada.get(job.get_absolute_url()))
    assert "play only what is left, under Controls" in page
    assert "Play what is left" in page
    client.logout()
    assert "Play what is left" not in tight(client.get(job.get_absolute_url()))


def test_the_owner_cancels_and_submits_again(as_ada: Client, ada: User) -> None:
    job = submit(ada)
    assert as_ada.post(f"/jobs/{job.pk}/cancel/").status_code == 302
    assert Job.objects.get().state == Job.State.CANCELLED
    again = as_ada.post(f"/jobs/{job.pk}/resubmit/")
    assert again["Location"] != job.get_absolute_url()
    assert Job.objects.count() == 2


@pytest.mark.parametrize("rest", ["", "episodes/", "spec.json", "?page=x", "?env_id=%00&page=2"])
def test_a_job_that_is_not_there_is_404(client: Client, db: None, rest: str) -> None:
    assert client.get(f"/jobs/nosuchjob000/{rest}").status_code == 404
    assert client.post("/jobs/nosuchjob000/cancel/").status_code == 404
    assert client.get("/jobs/%00/").status_code == 404


@PLAYED
def test_a_long_job_makes_a_short_page(
    as_ada: Client, ada: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    job = submit(ada, 500)
    play_out(job)
    with django_assert_max_num_queries(30):
        page = tight(as_ada.get(job.get_absolute_url()))
    assert page.count('class="ep"') == 480
    assert len(page) < 400_000
    assert "Seeds 0 to 479, page 1 of 2" in page
    second = tight(as_ada.get(f"{job.get_absolute_url()}?env_id={EASY}&page=2"))
    assert "Seeds 480 to 499, page 2 of 2" in second
    assert as_ada.get(f"/jobs/{job.pk}/episodes/?outcome=won&env_id={EASY}&page=2").status_code == 200
    assert as_ada.get(f"/jobs/{job.pk}/episodes/?outcome=%00&env_id=x%00&page=999999").status_code == 200
    assert slots_by_page(as_ada, job, "?page=999999", "prev") == [range(n, n + 100) for n in (400, 300, 200, 100, 0)]
    with CaptureQueriesContext(connection) as queries:
        assert slots_by_page(as_ada, job, "", "next") == [range(n, n + 100) for n in (0, 100, 200, 300, 400)]
    assert "OFFSET" not in str(queries.captured_queries), "no page reads what comes before it"


def slots_by_page(client: Client, job: Job, query: str | None, direction: str) -> list[range]:
    """The slots on each page of a job's episodes, following its links in one direction."""
    found = []
    slot_of = dict(Episode.objects.filter(batch=job.batch_id).values_list("pk", "slot"))
    while query is not None:
        page = tight(client.get(f"/jobs/{job.pk}/episodes/{query}"))
        slots = [slot_of[key] for key in re.findall(r'id="l-(\w+)"', page)]
        found.append(range(slots[0] or 0, (slots[-1] or 0) + 1))
        assert slots == list(found[-1])
        link = re.search(rf'href="(\?[^"]*)" rel="{direction}"', page)
        query = unescape(link[1]) if link else None
    return found


def test_the_live_event_holds_only_what_changed(ada: User) -> None:
    job = submit(ada, 100)
    claim = leases.claim()
    assert claim is not None
    topic = JobTopic()
    after = topic.current(job.pk)
    assert after is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots()[:10])))
    (event,) = topic.events(job.pk, after, "first")
    assert event.seq == after + 1
    ended = set(re.findall(r'<a class="ep" id="e(\d+)"', event.html))
    assert ended == {str(slot) for slot in range(10)}
    assert len(re.findall(r'<span class="ep"', event.html)) == 8, "the running ones"
    assert 'id="facts"' in event.html
    assert not re.search(r"\bada\b", event.html)
    assert topic.events(job.pk, event.seq, "first") == []
    (numbers,) = topic.events(job.pk, after, "other")
    assert 'class="ep"' not in numbers.html


def test_the_last_event_says_that_what_one_can_download_is_whole(ada: User) -> None:
    job = submit(ada, 20)
    claim = leases.claim()
    assert claim is not None
    records = list(rollout(make_agent("random"), claim.slots()))
    leases.record_episodes(claim, records[:10])
    (event,) = JobTopic().events(job.pk, 0, "first")
    assert 'id="export"' not in event.html
    after = event.seq
    leases.record_episodes(claim, records[10:])
    (event,) = JobTopic().events(job.pk, after, "first")
    assert 'id="export" aria-labelledby="export-title" hx-swap-oob="true"' in tight(event.html)
    assert "20, one for each episode" in tight(event.html)
    assert "partial: what has been played so far" not in event.html


def test_an_event_that_changes_many_cells_swaps_them_at_once(ada: User) -> None:
    job = submit(ada, 100)
    claim = leases.claim()
    assert claim is not None
    after = JobTopic().current(job.pk)
    assert after is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots()[:60])))
    (event,) = JobTopic().events(job.pk, after, "first")
    assert len(re.findall('class="ep"', event.html)) == 100
    assert re.search(r'class="episodes" id="cells-0" hx-swap-oob="true"', tight(event.html))
    assert event.html.count("hx-swap-oob") < 30


def test_anybody_may_watch_and_only_known_audiences(ada: User) -> None:
    from django.contrib.auth.models import AnonymousUser

    job = submit(ada)
    topic = JobTopic()
    assert topic.allows(job.pk, "first", AnonymousUser(), "")
    assert not topic.allows(job.pk, "staff", AnonymousUser(), "")
    assert topic.shows(job.pk, AnonymousUser(), "")
    assert not topic.shows("nosuchjob000", AnonymousUser(), "")
    assert topic.current("nosuchjob000") is None


def test_the_set_up_of_a_private_agent_and_its_prices_are_for_those_who_may_open_it(client: Client, ada: User) -> None:
    prices = {"tokens_in": 100_000, "tokens_out": 0}
    spec = EndpointSpec.model_validate(
        {"url": "http://127.0.0.1:1/v1", "model": "a-secret-model", "prices": prices, "max_tokens": 9}
    )
    agent = agents.create(ada, "mine", spec, visibility="private")
    job = submit(ada, agent=agent.slug, money_budget=654.5)
    JobBooks.objects.create(job=job, tokens_in=1230, estimated_in=30, requests=4, money=123)
    topic, secrets = JobTopic(), ("a-secret-model", "set-up version", "123.00", "654.5")
    for viewer, may_see in ((ada, True), (User.objects.create_user("bert"), False)):
        client.force_login(viewer)
        page = client.get(job.get_absolute_url()).content.decode()
        (audience,) = re.findall(r"audience=([\w-]+)", page)
        assert [secret in page for secret in secrets] == [may_see] * 4
        assert "1,230" in page
        assert "30 of them estimated" in page
        assert ("654.5" in client.get(f"{job.get_absolute_url()}spec.json").content.decode()) == may_see
        read = client.get(f"/api/v1/jobs/{job.pk}").json()
        assert ("money_budget" in read["spec"]) == may_see
        assert (read["books"]["tokens_in"], read["books"]["cost"]) == (1230, 123.0 if may_see else None)
        assert ("123.00" in topic.events(job.pk, 0, audience)[0].html) == may_see
        assert topic.allows(job.pk, audience, viewer, "")
        assert topic.allows(job.pk, "first-priced", viewer, "") == may_see


def test_the_list_shows_mine_and_all_newest_first(as_ada: Client, ada: User) -> None:
    first = submit(ada)
    other = submit(User.objects.create_user("bob"))
    page = as_ada.get("/jobs/").content.decode()
    assert page.index(other.get_absolute_url()) < page.index(first.get_absolute_url())
    mine = as_ada.get("/jobs/?whose=mine").content.decode()
    assert first.get_absolute_url() in mine
    assert other.get_absolute_url() not in mine
    assert "No jobs in this state" in as_ada.get("/jobs/?state=failed").content.decode()
    assert as_ada.get("/jobs/?state=%00&page=x").status_code == 200
    assert other.get_absolute_url() in as_ada.get("/jobs/recent/").content.decode()


@PLAYED
def test_the_script_on_the_page_plays_the_same_episodes(ada: User, capsys: pytest.CaptureFixture[str]) -> None:
    job = submit(ada, 6, seed=5)
    play_out(job)
    exec(set_up(Job.objects.get())["script"], {})
    printed = {int(line.split()[1]): float(line.split()[2]) for line in capsys.readouterr().out.splitlines()}
    recorded = dict(job.batch.episodes.values_list("seed", "seats__total_reward"))
    assert printed == recorded


@PLAYED
def test_the_script_plays_every_try_as_the_workers_did(ada: User, capsys: pytest.CaptureFixture[str]) -> None:
    job = submit(ada, 5, repeats=3)
    play_out(job)
    exec(set_up(Job.objects.get())["script"], {})
    printed = sorted((int(line.split()[1]), line.split()[2]) for line in capsys.readouterr().out.splitlines())
    recorded = job.batch.episodes.values_list("seed", "seats__total_reward")
    assert printed == sorted((seed, str(total)) for seed, total in recorded)
    played = {(one.seed, *one.turns.values_list("action", flat=True)) for one in job.batch.episodes.all()}
    assert len(played) > 8, "the three tries of a seed are not one"


def test_an_evaluation_of_a_checkpoint_is_reproduced_with_its_download(ada: User) -> None:
    agent = Agent.objects.create(slug="mine-000150", name="mine 150", kind=Agent.Kind.CHECKPOINT, colour=3, owner=ada)
    job = submit(ada, 4)
    Job.objects.filter(pk=job.pk).update(agent=agent)
    script = set_up(Job.objects.get())["script"]
    assert script.startswith("gemweb eval --agent policy --checkpoint checkpoint")
    assert f"--env {EASY}" in script


@pytest.mark.parametrize(("done", "words"), [(0, "not started"), (12, "no result yet")])
def test_an_environment_without_a_result_says_whether_it_has_begun(done: int, words: str) -> None:
    line = {"key": "1", "scores": {"success": None}, "tally": {"done": done}}
    assert words in render_to_string("jobs/evaluation.html#line-score", {"line": line})


@pytest.mark.parametrize("state", Job.State.values)
def test_the_badge_says_the_state(state: str) -> None:
    html = render_to_string("jobs/state.html", {"job": Job(state=state)})
    assert f'data-state="{state}"' in html
    assert state in strip_tags(html)


def test_the_next_page_of_a_list_keeps_its_filters(as_ada: Client, ada: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.jobs.views.JOBS_ON_A_PAGE", 1)
    for seed in range(3):
        submit(ada, seed=seed)
    keys = [job.pk for job in Job.objects.order_by("-created", "pk")]

    def look(query: str) -> tuple[list[str], dict[str, str]]:
        page = as_ada.get(f"/jobs/{query}").content.decode()
        links = re.findall(r'href="(\?[^"]+)"\s+rel="(\w+)"', page)
        return [key for key in keys if f'href="/jobs/{key}/"' in page], {word: unescape(query) for query, word in links}

    second, links = look("?whose=mine&state=queued&page=2")
    assert second == keys[1:2], "addresses with a number still lead to their page"
    assert set(links) == {"prev", "next"}
    for query in links.values():
        assert query.startswith("?whose=mine&state=queued&")
    assert look(links["next"])[0] == keys[2:]
    assert look(links["prev"])[0] == keys[:1]
    assert set(look(links["next"])[1]) == {"prev"}
    for capped in ("999999", "9" * 400, "-1", "x"):
        assert as_ada.get(f"/jobs/?page={capped}").status_code == 200


def test_a_deep_page_of_jobs_reads_no_other_pages(ada: User) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off; SET LOCAL enable_sort = off")
    plan = Job.objects.filter(batch__visibility="public", hidden_reason="").order_by("-created", "id")[:25].explain()
    assert "jobs_by_time" in plan
