"""Trainings on the web: what a page shows, who may change what, and what survives a lost lease."""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path

import pytest
from django.test import Client
from pytest_django.fixtures import Settings

from apps.accounts import quotas
from apps.accounts.models import User
from apps.agents.players import player
from apps.jobs import operations as jobs
from apps.jobs.errors import NotYours, TooManyJobs
from apps.jobs.models import Checkpoint, Job, Point, Shard
from apps.jobs.topics import JobTopic
from apps.leases import LeaseLost
from apps.trainings import operations, records
from apps.trainings.pages.training import facts
from apps.trainings.records import KeptEpisode
from gem.agents import make_agent
from gem.rollout import EpisodeRequest, rollout
from gem.training.run_folder import update_name
from tests.apps.trainings.trainings import ENV_ID, claimed, row, small, trained


def test_no_two_agents_of_one_person_have_the_same_name(ada: User) -> None:
    titles = [operations.submit(ada, small(recipe="guess-easy")).title for _ in range(3)]
    assert titles == ["guess-easy", "guess-easy (2)", "guess-easy (3)"]
    assert operations.submit(User.objects.create_user("eve"), small(recipe="guess-easy")).title == "guess-easy"


def test_nobody_has_more_trainings_than_one_person_may(ada: User, settings: Settings) -> None:
    settings.TRAININGS_PER_USER = 1
    operations.submit(ada, small())
    with pytest.raises(TooManyJobs, match="one person may have at most 1"):
        operations.submit(ada, small())


@pytest.mark.parametrize("is_over", [False, True])
def test_what_was_stopped_goes_on_only_if_there_is_room(is_over: bool, ada: User, settings: Settings) -> None:
    settings.TRAININGS_PER_USER = 1
    stopped = operations.submit(ada, small(updates=4))
    if is_over:
        records.finish(trained(stopped))
    else:
        operations.pause(stopped.pk, ada)
    running = operations.submit(ada, small())
    staff = User.objects.create_user("staff", is_staff=True)
    for change in (lambda: operations.extend(stopped.pk, staff, 2), lambda: operations.resume(stopped.pk, ada)):
        with pytest.raises((TooManyJobs, operations.Unfit)) as refused:
            change()
        assert isinstance(refused.value, TooManyJobs) or is_over
    assert Job.objects.get(pk=stopped.pk).spec["updates"] == 4
    assert not Job.objects.get(pk=stopped.pk).shards.filter(state=Shard.State.QUEUED).exists()
    operations.extend(running.pk, ada, 2)
    jobs.cancel(running.pk, ada)
    operations.extend(stopped.pk, ada, 2)
    assert Job.objects.get(pk=stopped.pk).state == Job.State.QUEUED


def test_nobody_without_room_for_files_goes_on_or_extends(ada: User, client: Client) -> None:
    paused, queued = operations.submit(ada, small()), operations.submit(ada, small())
    operations.pause(paused.pk, ada)
    quotas.set_limit(ada, quotas.STORAGE, 0)
    client.force_login(ada)
    for job, change in [(paused, {"do": "resume"}), (queued, {"do": "extend", "updates": "5"})]:
        page = client.post(f"{job.get_absolute_url()}change/", change, follow=True)
        assert "one person may use 0 MB" in page.content.decode(), change
    assert Job.objects.get(pk=paused.pk).state == Job.State.PAUSED
    assert Job.objects.get(pk=queued.pk).spec["updates"] == 10


def test_the_page_shows_curves_episodes_and_checkpoints(client: Client, ada: User) -> None:
    job = operations.submit(ada, small(recipe="guess-easy"))
    trained(job)
    page = client.get(job.get_absolute_url()).content.decode()
    assert "40.0\u00a0%" in page
    assert "random agent 32\u00a0%" in page
    assert page.count("Tree of the 2 tries at seed 5") == 1, "episodes of one seed stand together"
    assert "Seed 0 before and after training" in page
    checkpoint = Checkpoint.objects.get(job=job)
    assert checkpoint.agent.name in page
    assert (checkpoint.success, checkpoint.agent.listed) == (0.4, False)
    curves = client.get(f"{job.get_absolute_url()}curves.json?after=2").json()
    assert (curves["update"], curves["success"], curves["last"]) == ([3, 4], [0.3, 0.4], 4)
    part = client.get(f"{job.get_absolute_url()}updates/4/?seed=2").content.decode()
    assert "Seed 2 before and after training" in part


def test_the_page_shows_what_the_policy_did_before_it_was_trained(client: Client, ada: User) -> None:
    job = operations.submit(ada, small())
    claim = trained(job)
    (first,) = rollout(make_agent("random"), [EpisodeRequest(0, ENV_ID, 0)], num_envs=1)
    records.record_samples(claim, [KeptEpisode(0, 0, first, exam=True)])
    page = client.get(job.get_absolute_url()).content.decode()
    exams = re.findall(r'<a class="note" href="/episodes/\w+/turns/0/">\s*([\w ]+?)\s*</a>', page)
    assert exams == ["before", "update 4"]


def test_the_page_names_the_settings_that_are_not_the_usual_ones() -> None:
    usual, muon = dict(facts(small())), dict(facts(small(optimizer="muon", entropy_bonus=0.01, kl_coefficient=0.1)))
    assert muon.items() - usual.items() == {("Optimizer", "Muon"), ("Entropy bonus", "0.01"), ("KL penalty", "0.1")}


def test_an_episode_that_was_kept_leads_back_to_its_update(client: Client, ada: User) -> None:
    job = operations.submit(ada, small())
    trained(job)
    sample = job.samples.filter(exam=False)[0]
    way = f"/jobs/of/{sample.episode_id}/"
    assert way in client.get(sample.episode.get_absolute_url()).content.decode()
    assert client.get(way)["Location"] == f"{job.get_absolute_url()}?update=4"


def test_a_page_that_is_open_hears_of_updates(client: Client, ada: User) -> None:
    job = operations.submit(ada, small())
    claim = trained(job)
    job.refresh_from_db()
    seq = job.seq
    records.record_points(claim, [row(5, 0.9)])
    events = JobTopic().events(job.pk, seq, "first")
    assert len(events) == 1
    assert "90.0\u00a0%" in events[0].html
    assert 'id="facts"' in events[0].html
    assert "update 5: success 90.0%" in events[0].html
    assert f"parent={job.pk}&amp;parent_update=4" in events[0].html, "a fork goes on from the newest checkpoint"


def test_an_update_made_again_is_there_once(ada: User) -> None:
    job = operations.submit(ada, small())
    claim = trained(job)
    records.record_points(claim, [row(3, 0.9), row(4, 0.95)])
    assert list(job.points.values_list("update", flat=True)) == [1, 2, 3, 4]
    assert Point.objects.get(job=job, update=4).data["success"] == 0.95
    episodes = list(rollout(make_agent("random"), [EpisodeRequest(0, ENV_ID, 9)], num_envs=1))
    records.record_samples(claim, [KeptEpisode(4, 0, episodes[0])])
    assert job.samples.filter(update=4, exam=False).count() == 1
    assert job.samples.filter(update=4, exam=True).count() == 3


def test_a_checkpoint_that_is_read_again_is_told_of_once(ada: User) -> None:
    job = operations.submit(ada, small())
    claim = trained(job)
    records.record_checkpoint(claim, records.folder_of(job.pk) / "checkpoints" / update_name(4))
    assert job.checkpoints.count() == 1
    assert job.events.filter(text="checkpoint after update 4").count() == 1


def test_episodes_that_are_read_again_keep_their_addresses(ada: User) -> None:
    job = operations.submit(ada, small())
    claim = claimed(job)
    again = [
        KeptEpisode(5, 0, one)
        for one in rollout(make_agent("random"), [EpisodeRequest(i, ENV_ID, i) for i in range(3)], num_envs=3)
    ]
    records.record_samples(claim, again)
    addresses = list(job.samples.values_list("episode_id", flat=True))
    operations.pause(job.pk, ada)
    operations.resume(job.pk, ada)
    claim = claimed(job)
    records.record_samples(claim, again)
    assert list(job.samples.values_list("episode_id", flat=True)) == addresses
    records.record_samples(claim, again[1:])
    assert job.samples.count() == 2, "an update that was made again has other episodes"


def test_a_worker_that_lost_its_lease_writes_nothing(ada: User) -> None:
    job = operations.submit(ada, small())
    claim = trained(job)
    operations.pause(job.pk, ada)
    with pytest.raises(LeaseLost):
        records.record_points(claim, [row(5)])
    with pytest.raises(LeaseLost):
        records.finish(claim)
    assert job.points.count() == 4
    operations.resume(job.pk, ada)
    again = claimed(job)
    records.record_points(again, [row(5)])
    assert job.points.count() == 5


def test_only_its_owner_changes_a_training(client: Client, ada: User) -> None:
    job = operations.submit(ada, small())
    eve = User.objects.create_user("eve")
    for change in (operations.pause, operations.resume):
        with pytest.raises(NotYours):
            change(job.pk, eve)
    with pytest.raises(NotYours):
        operations.extend(job.pk, eve, 5)
    client.force_login(eve)
    assert "Pause" not in client.get(job.get_absolute_url()).content.decode()
    with pytest.raises(operations.Unfit, match="Only a paused, stopped"):
        operations.resume(job.pk, ada)


def test_one_that_is_done_can_have_more_updates(ada: User) -> None:
    job = operations.submit(ada, small(updates=4))
    records.finish(trained(job))
    assert Job.objects.get(pk=job.pk).state == Job.State.DONE
    operations.extend(job.pk, ada, 6)
    job = Job.objects.get(pk=job.pk)
    assert (job.state, job.spec["updates"], job.shards.get().count) == (Job.State.QUEUED, 10, 10)
    assert claimed(job).request["updates"] == 10


def test_a_checkpoint_can_be_downloaded_evaluated_and_played(client: Client, ada: User) -> None:
    pytest.importorskip("torch", reason="policies need torch, which `make test` installs")
    job = operations.submit(ada, small())
    trained(job)
    with pytest.warns(Warning, match="asynchronous iterators"):  # the test client is no ASGI server
        content = b"".join(iter(client.get(f"{job.get_absolute_url()}checkpoints/4.zip")))  # type: ignore[call-overload]
    names = zipfile.ZipFile(io.BytesIO(content)).namelist()
    assert {Path(name).name for name in names} >= {"model.safetensors", "config.json", "tokenizer.json", "card.json"}
    checkpoint = Checkpoint.objects.get(job=job)
    assert jobs.find_agent(ada, checkpoint.agent.slug) == checkpoint.agent
    here = player(checkpoint.agent)
    episode = next(iter(rollout(here, [EpisodeRequest(0, ENV_ID, 3)], num_envs=1)))
    assert episode.turn_count >= 1
    assert not episode.failure


def test_what_one_has_trained_is_among_ones_agents(as_ada: Client, ada: User) -> None:
    assert "You have no agents yet" in as_ada.get("/agents/").content.decode()
    trained(operations.submit(ada, small(recipe="guess-easy")))
    trained(operations.submit(User.objects.create_user("eve"), small(recipe="guess-easy")))
    mine = Job.objects.get(owner=ada).agent
    answer = as_ada.get("/agents/")
    assert list(answer.context["trained"]) == [mine], "one for each training of hers"
    page = answer.content.decode()
    assert mine.get_absolute_url() in page
    assert "You have no agents yet" not in page


def test_what_others_trained_is_not_offered_but_may_be_watched(as_ada: Client, ada: User) -> None:
    eve = User.objects.create_user("eve")
    trained(operations.submit(eve, small()))
    agent = Job.objects.get(owner=eve).agent
    assert agent.slug not in as_ada.get("/play/watch/new/").content.decode()
    answer = as_ada.post("/play/watch/new/", {"env_id": ENV_ID, "agent": agent.slug, "pace": "1"})
    assert answer.status_code == 302
    as_ada.logout()
    answer = as_ada.post("/play/watch/new/", {"env_id": ENV_ID, "agent": agent.slug, "pace": "1"})
    assert answer.status_code == 422, "without an account the built-in agents play"
    said = f"<b>{agent.name}</b> is available only to people with an account."
    for page in ("play/watch/new/?agent=", "play/duel/new/?second=", "play/new/?opponent=", "jobs/new/?agent="):
        assert said in as_ada.get(f"/{page}{agent.slug}").content.decode(), page
