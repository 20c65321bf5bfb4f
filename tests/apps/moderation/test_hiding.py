"""Content that was reported: who may report, who may hide, and what hidden content is for everybody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.db import Error as DatabaseError
from django.db import transaction
from django.test import Client
from pytest_django import DjangoAssertNumQueries, Settings

from apps.accounts.models import User
from apps.agents import operations as agents
from apps.agents.models import Agent
from apps.duels import operations as duels
from apps.episodes.models import Batch, Episode
from apps.jobs import leases
from apps.jobs import operations as jobs
from apps.jobs.models import Checkpoint, Job, Shard
from apps.leaderboard import human_tries
from apps.leaderboard.models import Score
from apps.live.session_user import identify
from apps.live.topics import TOPICS
from apps.moderation.models import Decision, Report
from apps.play.operations import begin, take_turn
from apps.trainings import operations as trainings
from apps.visibility import Visibility
from gem import benchmarks
from gem.agents import make_agent
from gem.agents.endpoint import EndpointSpec
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import rollout
from gem.training.spec import read_spec
from tests.apps.trainings.trainings import small, trained
from tests.networks import fresh_address

pytestmark = pytest.mark.django_db

ENV_ID = "game:GuessTheNumber-v0-easy"


@pytest.fixture
def anna() -> User:
    return User.objects.create_user("anna")


@pytest.fixture
def administrator() -> Client:
    return logged_in(User.objects.create_user("root-of-site", is_staff=True))


def logged_in(user: User | None = None) -> Client:
    """A browser at an address of its own."""
    client = Client(REMOTE_ADDR=fresh_address())
    if user is not None:
        client.force_login(user)
    return client


def ended_episode(anna: User) -> Episode:
    episode = begin(ENV_ID, seed=1, visibility="public", user=anna, visitor="")
    for number in range(episode.max_turns):
        episode = take_turn(episode.pk, r"\boxed{0}", expected_seq=number, user=anna, visitor="")
        if episode.over:
            break
    return episode


def played_job(anna: User | None) -> str:
    """A finished evaluation, of the site itself without a person."""
    job = jobs.submit(anna, EvaluationSpec(agent="random", env_ids=(ENV_ID,), episodes_per_env=2), name="a foul name")
    claim = leases.claim()
    assert claim is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots(), num_envs=2)))
    return job.pk


def hide(administrator: Client, kind: str, key: str, reason: str = "It shows a secret.") -> None:
    sent = administrator.post(f"/reports/decide/{kind}/{key}/", {"do": "hide", "reason": reason})
    assert sent.status_code == 302
    assert Decision.objects.first() is not None


def show(administrator: Client, kind: str, key: str) -> None:
    administrator.post(f"/reports/decide/{kind}/{key}/", {"do": "show"})


def test_anybody_reports_and_administrators_read_it(anna: User, administrator: Client) -> None:
    episode = ended_episode(anna)
    visitor = logged_in()
    page = visitor.get(f"/episodes/{episode.pk}/").content.decode()
    address = f"/reports/report/episode/{episode.pk}/"
    assert address in page
    assert visitor.post(address, {"reason": " "}).status_code == 422
    assert visitor.post(address, {"reason": "It shows a <secret>."}).status_code == 302
    assert "It shows a &lt;secret&gt;." in administrator.get("/reports/").content.decode()
    assert logged_in(anna).get("/reports/").status_code == 404
    administrator.post(f"/reports/decide/episode/{episode.pk}/", {"do": "dismiss"})
    assert "There are no open reports." in administrator.get("/reports/").content.decode()
    assert visitor.get(f"/episodes/{episode.pk}/").status_code == 200


def test_the_page_of_reports_says_how_many_it_leaves_out(
    anna: User, administrator: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apps.moderation.views.MAX_REPORTS", 2)
    episode = ended_episode(anna)
    for number in range(2):
        Report.objects.create(kind="episode", key=episode.pk, reason=f"reason {number}")
    assert "older report" not in administrator.get("/reports/").content.decode()
    Report.objects.create(kind="episode", key=episode.pk, reason="reason 2")
    page = " ".join(administrator.get("/reports/").content.decode().split())
    assert "These are the 2 newest. 1 older report will appear here as you decide about these." in page
    assert "reason 2" in page
    assert "reason 0" not in page


def test_reports_are_limited_by_person_and_by_address(anna: User, settings: Settings) -> None:
    settings.REPORTS_PER_HOUR = 2
    address = f"/reports/report/episode/{ended_episode(anna).pk}/"
    visitor = logged_in()
    sent = [visitor.post(address, {"reason": "no"}) for _ in range(3)]
    assert [each.status_code for each in sent] == [302, 302, 429]
    assert int(sent[-1]["Retry-After"]) > 0
    assert Report.objects.count() == 2


def test_a_hidden_episode_is_gone_for_others_in_pages_lists_downloads_and_sockets(
    anna: User, administrator: Client
) -> None:
    episode = ended_episode(anna)
    visitor, owner = logged_in(), logged_in(anna)
    addresses = [
        f"/episodes/{episode.pk}/",
        f"/episodes/{episode.pk}/turns/1/",
        f"/episodes/{episode.pk}/episode.json",
        f"/episodes/{episode.pk}/episode.jsonl",
        f"/episodes/{episode.pk}/frames/0/",
        f"/reports/report/episode/{episode.pk}/",
    ]
    lists = ["/episodes/", f"/episodes/?env_id={ENV_ID}", f"/episodes/recent/?env_id={ENV_ID}", "/play/watch/"]
    topic = TOPICS["episode"]
    assert topic.shows(episode.pk, identify("").viewer, "")
    hide(administrator, "episode", episode.pk)
    assert [visitor.get(address).status_code for address in addresses] == [404] * 6
    assert visitor.post(f"/play/{episode.pk}/fork/", {"turn": "0"}).status_code == 404
    assert not any(episode.pk in visitor.get(address).content.decode() for address in lists)
    assert visitor.get(f"/search/?q={episode.pk}").status_code == 200  # it leads nowhere
    assert not topic.shows(episode.pk, identify("").viewer, "")
    page = owner.get(addresses[0]).content.decode()
    assert "Hidden by the administrators: It shows a secret." in page
    assert episode.pk in owner.get("/episodes/").content.decode()
    show(administrator, "episode", episode.pk)
    assert visitor.get(addresses[0]).status_code == 200
    assert episode.pk in visitor.get("/episodes/").content.decode()


def test_a_hidden_job_takes_its_episodes_and_its_ranked_rows_with_it(anna: User, administrator: Client) -> None:
    job_id = played_job(anna)
    episode = Episode.objects.filter(batch__job=job_id).first()
    assert episode is not None
    values = {"mean": 0.5, "low": 0.4, "high": 0.6, "mean_return": 1.0, "success_rate": 0.5, "n": 2}
    random = Agent.objects.get(slug="random")
    Score.objects.create(job_id=job_id, agent=random, benchmark="games", benchmark_version=1, **values)
    visitor = logged_in()
    assert "a foul name" in visitor.get("/jobs/").content.decode()
    hide(administrator, "job", job_id)
    for address in (f"/jobs/{job_id}/", f"/jobs/{job_id}/spec.json", f"/episodes/{episode.pk}/"):
        assert visitor.get(address).status_code == 404, address
        assert logged_in(anna).get(address).status_code == 200, address
    for address in ("/jobs/", "/jobs/recent/", "/search/?q=foul", "/episodes/?source=jobs"):
        found = visitor.get(address).content.decode()
        assert "a foul name" not in found, address
        assert episode.pk not in found, address
    assert not TOPICS["job"].shows(job_id, identify("").viewer, "")
    assert not Score.objects.all().newest().exists()


def test_a_hidden_training_and_a_hidden_agent_are_gone_too(anna: User, administrator: Client) -> None:
    training = trainings.submit(anna, read_spec({"env_id": ENV_ID}), name="foul training")
    agent = agents.create(anna, "foul agent", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"), visibility="public")
    bert = logged_in(User.objects.create_user("bert"))
    assert bert.get(agent.get_absolute_url()).status_code == 200
    hide(administrator, "job", training.pk)
    hide(administrator, "agent", agent.slug)
    assert bert.get(training.get_absolute_url()).status_code == 404
    assert bert.get(agent.get_absolute_url()).status_code == 404
    pages = ["/agents/", "/jobs/", "/search/?q=foul", "/jobs/new/", f"/jobs/compare/?job={training.pk}"]
    seen = {address: re.findall("foul (?:agent|training)", bert.get(address).content.decode()) for address in pages}
    assert seen == {address: [] for address in pages}
    assert "Hidden by the administrators" in logged_in(anna).get(agent.get_absolute_url()).content.decode()


SECRET = "a foul action"


def addresses_of(job: Job) -> list[str]:
    """The pages of a job that may show its episodes or checkpoints."""
    page = job.get_absolute_url()
    if job.kind == Job.Kind.TRAINING:
        seeds = sorted(set(job.samples.values_list("episode__seed", flat=True)))
        return [page, *(f"{page}updates/4/?seed={seed}" for seed in seeds), f"{page}?update=4", f"{page}curves.json"]
    return [page, f"{page}episodes/", f"{page}episodes/?outcome=error", f"{page}spec.json"]


def shown_by(client: Client, job: Job) -> str:
    """All pages of a job, and its live events."""
    pages = [client.get(address) for address in addresses_of(job)]
    assert [page.status_code for page in pages] == [200] * len(pages)
    events = TOPICS["job"].events(job.pk, 0, "first")
    assert events
    return "".join([*(page.content.decode() for page in pages), *(event.html for event in events)])


def with_secret(episode: Episode) -> Episode:
    """The episode, whose texts are foul."""
    episode.turns.update(action=f"\\boxed{{{SECRET}}}")
    Episode.objects.filter(pk=episode.pk).update(failure=SECRET)
    return episode


def test_no_page_of_a_job_shows_its_hidden_episodes(anna: User, administrator: Client) -> None:
    job = Job.objects.get(pk=played_job(anna))
    failed, ended = (with_secret(episode) for episode in job.batch.episodes.order_by("slot"))
    Episode.objects.filter(pk=failed.pk).update(status=Episode.Status.FAILED, success=None)
    Shard.objects.update(errors=1)
    hide(administrator, "episode", failed.pk)
    hide(administrator, "episode", ended.pk)
    found = shown_by(logged_in(User.objects.create_user("bert")), job)
    assert not [secret for secret in (failed.pk, ended.pk, SECRET) if secret in found]
    for may_see in (logged_in(anna), administrator):
        assert ended.pk in may_see.get(f"/jobs/{job.pk}/episodes/").content.decode()


def test_no_page_of_a_training_shows_its_hidden_episodes_and_checkpoints(
    anna: User, administrator: Client, settings: Settings, tmp_path: Path
) -> None:
    settings.RUNS_DIR = tmp_path
    training = trainings.submit(anna, small())
    trained(training)
    hidden = [with_secret(sample.episode) for sample in training.samples.select_related("episode")]
    checkpoint = training.checkpoints.get()
    evaluation = jobs.submit(
        anna, EvaluationSpec(agent=checkpoint.agent.slug, env_ids=(ENV_ID,)), name="foul job", checkpoint=checkpoint
    )
    fork, weights = (
        f"/jobs/train/?parent={training.pk}&parent_update={checkpoint.update}",
        checkpoint_address(checkpoint),
    )
    bert, owner = logged_in(User.objects.create_user("bert")), logged_in(anna)
    secrets = [*(episode.pk for episode in hidden), SECRET, checkpoint.agent.slug, weights, evaluation.pk]
    before = shown_by(bert, training)
    assert [secret for secret in secrets if secret not in before] == []
    assert [bert.get(address).status_code for address in (weights, fork)] == [200, 200]
    for episode in hidden:
        hide(administrator, "episode", episode.pk)
    hide(administrator, "agent", checkpoint.agent.slug)
    hide(administrator, "job", evaluation.pk)
    found = shown_by(bert, training)
    assert [secret for secret in secrets if secret in found] == []
    assert [bert.get(address).status_code for address in (weights, fork)] == [404, 404]
    for may_see in (owner, administrator):
        assert hidden[0].pk in shown_by(may_see, training)
        assert checkpoint.agent.slug in may_see.get(training.get_absolute_url()).content.decode()
        assert may_see.get(weights).status_code == 200


def test_a_checkpoint_that_its_owner_made_private_is_not_downloaded_through_its_training(
    anna: User, settings: Settings, tmp_path: Path
) -> None:
    settings.RUNS_DIR = tmp_path
    training = trainings.submit(anna, small())
    trained(training)
    checkpoint = training.checkpoints.get()
    agents.set_visibility(checkpoint.agent, Visibility.PRIVATE)
    found = [logged_in(user).get(checkpoint_address(checkpoint)).status_code for user in (None, anna)]
    assert found == [404, 200]
    api = f"/api/v1/trainings/{training.pk}/checkpoints"
    assert [logged_in(user).get(f"{api}/{checkpoint.update}.zip").status_code for user in (None, anna)] == [404, 200]
    assert [len(logged_in(user).get(api).json()["items"]) for user in (None, anna)] == [0, 1]


def checkpoint_address(checkpoint: Checkpoint) -> str:
    """Where a training's page offers its download."""
    return f"/jobs/{checkpoint.job_id}/checkpoints/{checkpoint.update}.zip"


def test_ranked_episodes_that_are_hidden_are_not_among_the_rivals_of_a_person(
    anna: User, administrator: Client
) -> None:
    job_id, values = played_job(None), {"mean": 0.5, "low": 0.4, "high": 0.6, "mean_return": 1.0, "success_rate": 0.5}
    random = Agent.objects.get(slug="random")
    benchmark = benchmarks.load("games")
    score = {"benchmark": benchmark.name, "benchmark_version": benchmark.version, "n": 2}
    Score.objects.create(job_id=job_id, agent=random, env_id=ENV_ID, **score, **values)
    first = Episode.objects.filter(batch__job=job_id).order_by("slot")[0]
    own = begin(ENV_ID, seed=first.seed, visibility="public", user=anna, visitor="")
    assert first in human_tries.rivals(benchmark, own)
    hide(administrator, "episode", first.pk)
    assert not human_tries.rivals(benchmark, own).exists()


def test_what_is_private_can_neither_be_reported_nor_seen_by_others_whether_hidden_or_not(
    anna: User, administrator: Client
) -> None:
    episode = begin(ENV_ID, seed=1, visibility="private", user=anna, visitor="")
    address = f"/reports/report/episode/{episode.pk}/"
    assert logged_in().get(address).status_code == 404
    assert logged_in(anna).get(address).status_code == 200
    hide(administrator, "episode", episode.pk)
    assert logged_in().get(f"/episodes/{episode.pk}/").status_code == 404
    assert administrator.get(f"/episodes/{episode.pk}/").status_code == 200
    assert "It shows a secret." in logged_in(anna).get(f"/episodes/{episode.pk}/").content.decode()


def test_a_duel_with_a_hidden_episode_and_a_hidden_agent_are_only_for_their_owner(
    anna: User, administrator: Client
) -> None:
    players = [Agent.objects.get(slug=slug) for slug in ("expert", "random")]
    duel = duels.start(duels.DuelStart(ENV_ID, 1), players, user=anna, visitor="", visibility="public")
    bert = User.objects.create_user("bert")
    agent = agents.create(anna, "foul agent", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"), visibility="public")
    assert TOPICS["duel"].shows(duel.pk, bert, "")
    assert agent in Agent.objects.selectable_by(bert)
    assert duel in Batch.objects.listed_for(bert)
    hide(administrator, "episode", duel.episodes.first().pk)
    hide(administrator, "agent", agent.slug)
    for person, may_see in ((bert, False), (anna, True)):
        assert TOPICS["duel"].shows(duel.pk, person, "") == may_see
        assert (duel in Batch.objects.listed_for(person)) == may_see
        assert (agent in Agent.objects.selectable_by(person)) == may_see
        assert logged_in(person).get(f"/play/duel/{duel.pk}/").status_code == (200 if may_see else 404)


def test_a_duel_is_reported_hidden_and_shown_again_as_a_whole(anna: User, administrator: Client) -> None:
    expert, random = Agent.objects.get(slug="expert"), Agent.objects.get(slug="random")
    duel = duels.start(duels.DuelStart(ENV_ID, 1), [expert, random], user=anna, visitor="", visibility="public")
    visitor, owner = logged_in(), logged_in(anna)
    page, address = f"/play/duel/{duel.pk}/", f"/reports/report/duel/{duel.pk}/"
    assert address in visitor.get(page).content.decode()
    assert "Report this duel" in visitor.get(address).content.decode()
    sent = visitor.post(address, {"reason": "It insults people."})
    assert (sent.status_code, sent["Location"]) == (302, page)
    assert page in administrator.get("/reports/").content.decode()
    hide(administrator, "duel", duel.pk)
    paths = [page, *(f"/episodes/{episode.pk}/" for episode in duel.episodes.all())]
    assert [visitor.get(path).status_code for path in paths] == [404] * 3
    assert "Hidden by the administrators: It shows a secret." in owner.get(page).content.decode()
    assert "It shows a secret." in administrator.get("/reports/").content.decode()
    added = duels.add(duel, random, user=anna, visitor="")
    assert visitor.get(f"/episodes/{added.pk}/").status_code == 404, "whoever joins a hidden duel is hidden with it"
    show(administrator, "duel", duel.pk)
    assert [visitor.get(path).status_code for path in (*paths, f"/episodes/{added.pk}/")] == [200] * 4


def test_only_administrators_hide_and_never_without_a_reason(anna: User, administrator: Client) -> None:
    episode = ended_episode(anna)
    address = f"/reports/decide/episode/{episode.pk}/"
    for client in (logged_in(), logged_in(anna)):
        assert client.post(address, {"do": "hide", "reason": "no"}).status_code == 404
    administrator.post(address, {"do": "hide", "reason": ""})
    administrator.post(address, {"do": "something"})
    assert not Episode.objects.hidden().exists()
    assert administrator.post("/reports/decide/nothing/x/", {"do": "hide", "reason": "no"}).status_code == 404


def test_the_log_of_decisions_can_only_grow(anna: User, administrator: Client) -> None:
    episode = ended_episode(anna)
    hide(administrator, "episode", episode.pk)
    show(administrator, "episode", episode.pk)
    logged = [(decision.verb, decision.reason, decision.by) for decision in Decision.objects.order_by("pk")]
    assert logged == [("hide", "It shows a secret.", "root-of-site"), ("show", "", "root-of-site")]
    for change in (lambda: Decision.objects.update(reason=""), lambda: Decision.objects.all().delete()):
        with pytest.raises(DatabaseError, match="append-only"), transaction.atomic():
            change()


def test_what_is_hidden_can_always_be_shown_again(
    anna: User, administrator: Client, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    agent = agents.create(anna, "foul agent", EndpointSpec(url="http://127.0.0.1:1/v1", model="m"), visibility="public")
    episode = ended_episode(anna)
    hide(administrator, "agent", agent.slug)
    hide(administrator, "episode", episode.pk, "It is rude.")
    show(administrator, "episode", episode.pk)
    Decision.objects.bulk_create(
        Decision(verb="dismiss", kind="episode", key=episode.pk, by="root-of-site") for _ in range(60)
    )
    Report.objects.bulk_create(Report(kind="episode", key=episode.pk, reason=f"no {i}") for i in range(30))
    with django_assert_max_num_queries(20):
        page = administrator.get("/reports/").content.decode()
    assert page.count("Show it again") == 1
    assert f"/reports/decide/agent/{agent.slug}/" in page
    assert page.count(f'href="{episode.get_absolute_url()}"') == 30
    show(administrator, "agent", agent.slug)
    assert "Show it again" not in administrator.get("/reports/").content.decode()


def test_what_a_hidden_episode_said_is_not_kept_in_the_results_of_its_job(anna: User, administrator: Client) -> None:
    job = Job.objects.get(pk=played_job(anna))
    episode = Episode.objects.filter(batch=job.batch).order_by("slot")[0]
    Episode.objects.filter(pk=episode.pk).update(
        status=Episode.Status.FAILED, ending_kind="environment", ending_text="a foul text"
    )

    def failures() -> str:
        return logged_in().get(f"/api/v1/jobs/{job.pk}/analysis").content.decode()

    assert "a foul text" in failures()
    assert episode.pk in failures()
    hide(administrator, "episode", episode.pk)
    assert "a foul text" not in failures()
    assert episode.pk not in failures()
    show(administrator, "episode", episode.pk)
    assert "a foul text" in failures()
