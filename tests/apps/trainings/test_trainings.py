"""Trainings on the web: the form, what a page shows, who may change what, and what survives a lost lease."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

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
from apps.trainings import compare, operations, records
from apps.trainings.records import KeptEpisode
from gem.agents import make_agent
from gem.rollout import EpisodeRequest, rollout
from gem.training.run_folder import update_name
from tests.apps.trainings.trainings import ENV_ID, claimed, row, small, trained
from tests.html import tight


def test_a_recipe_becomes_a_training_and_an_agent(as_ada: Client, ada: User) -> None:
    form = tight(as_ada.get("/jobs/train/"))
    assert 'name="recipe" value="guess-easy" checked' in form
    answer = as_ada.post("/jobs/train/", {"recipe": "guess-easy", "updates": "7", "name": "my first"})
    job = Job.objects.get()
    assert (answer.status_code, answer["Location"]) == (302, job.get_absolute_url())
    assert (job.kind, job.owner, job.spec["updates"], job.spec["recipe"]) == ("training", ada, 7, "guess-easy")
    assert (job.agent.kind, job.agent.name, job.agent.owner) == ("checkpoint", "my first", ada)
    assert job.shards.get().count == 7


def test_a_refused_field_says_what_to_do_and_keeps_the_rest(as_ada: Client) -> None:
    answer = as_ada.post("/jobs/train/", {"recipe": "guess-easy", "updates": "-3", "name": "kept"})
    page = tight(answer)
    assert answer.status_code == 422
    assert "Updates has to be at least 1, not -3." in page
    assert "1 field to correct." in page
    assert 'value="kept"' in page
    answer = as_ada.post("/jobs/train/", {"recipe": "guess-easy", "more": "{not json"})
    assert "Write other settings as JSON" in answer.content.decode()
    assert not Job.objects.exists()


def test_a_refused_form_keeps_how_many_seeds_and_algorithms(as_ada: Client) -> None:
    sent = {"recipe": "guess-easy", "updates": "-3", "seeds": "5", "all_algorithms": "on"}
    form = as_ada.post("/jobs/train/", sent).context["form"]
    assert 'value="5" selected' in str(form["seeds"])
    assert "checked" in str(form["all_algorithms"])
    answer = as_ada.post("/jobs/train/", {"recipe": "guess-easy", "seeds": "1000"})
    assert "Choose one, three or five seeds." in answer.content.decode()
    assert not Job.objects.exists()


def test_whoever_logs_in_on_the_way_finds_the_form_as_it_was(client: Client, ada: User) -> None:
    sent = {"recipe": "guess-easy", "updates": "7", "seeds": "3", "name": "my own", "more": '{"minibatches": 2}'}
    answer = client.post("/jobs/train/", {**sent, "learning_rate": "0.0005", "evaluate_best": "on"})
    back = parse_qs(urlsplit(answer["Location"]).query)["next"][0]
    client.force_login(ada)
    form = client.get(back).context["form"]
    assert {name: form[name].value() for name in sent} == sent
    assert form["learning_rate"].value() == "0.0005"
    assert form["algorithm"].value() == "rebn", "what was not changed is as the recipe says"
    assert "checked" in str(form["evaluate_best"])


def test_whoever_logs_in_on_the_way_to_a_fork_is_led_back_to_it(client: Client, ada: User) -> None:
    records.finish(trained(operations.submit(ada, small(updates=4))))
    parent = Checkpoint.objects.get()
    answer = client.post("/jobs/train/", {"parent": parent.job_id, "parent_update": "4", "updates": "9"})
    back = parse_qs(urlsplit(answer["Location"]).query)["next"][0]
    client.force_login(ada)
    page = client.get(back)
    assert "The fork continues after update 4" in page.content.decode()
    assert page.context["form"]["updates"].value() == "9"


def test_all_refused_fields_are_named_at_once(as_ada: Client) -> None:
    sent = {
        "recipe": "guess-easy",
        "learning_rate": "fast",
        "updates": "0",
        "more": '{"minibatch": 2, "group_size": 0}',
    }
    errors = as_ada.post("/jobs/train/", sent).context["form"].errors
    assert {name: list(said) for name, said in errors.items()} == {
        "learning_rate": ["Learning rate has to be a number, not 'fast'."],
        "updates": ["Updates has to be at least 1, not 0."],
        "more": ["group_size has to be at least 2, not 0.", "There is no setting minibatch. Did you mean minibatches?"],
    }


def test_several_seeds_and_all_algorithms_are_one_comparison(as_ada: Client) -> None:
    sent = {"recipe": "guess-easy", "seeds": "3", "all_algorithms": "1", "updates": "5"}
    answer = as_ada.post("/jobs/train/", sent)
    assert answer["Location"].startswith("/jobs/compare/?job=")
    specs = [job.spec for job in Job.objects.all()]
    assert {(spec["algorithm"], spec["seed"]) for spec in specs} == {
        (name, seed) for name in ("reinforce", "rebn", "grpo", "ppo") for seed in range(3)
    }
    page = as_ada.get(answer["Location"]).content.decode()
    assert "Comparison of 12 trainings" in page
    assert "There is nothing to compare yet" in page
    assert "guess-easy, GRPO, seed 2" in [job.title for job in Job.objects.all()]


def test_no_two_agents_of_one_person_have_the_same_name(ada: User) -> None:
    titles = [operations.submit(ada, small(recipe="guess-easy")).title for _ in range(3)]
    assert titles == ["guess-easy", "guess-easy (2)", "guess-easy (3)"]
    assert operations.submit(User.objects.create_user("eve"), small(recipe="guess-easy")).title == "guess-easy"


def test_a_comparison_follows_trainings_that_run(client: Client, ada: User) -> None:
    first, second = (operations.submit(ada, small(algorithm=name)) for name in ("ppo", "rebn"))
    address = f"/jobs/compare/?job={first.pk}&job={second.pk}"
    assert 'hx-trigger="every 3s"' in client.get(address).content.decode()
    claim = claimed(first)
    records.record_points(claim, [row(1, 0.9)])
    news = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert "90.0 %" in news
    assert 'id="said"' in news
    assert "<html" not in news
    for each in (claim, claimed(second)):
        records.finish(each)
    assert "every 3s" not in client.get(address, headers={"HX-Request": "true"}).content.decode()


def test_seeds_that_have_not_begun_make_no_interval(ada: User) -> None:
    for seed in range(3):
        operations.submit(ada, small(seed=seed))
    records.record_points(claimed(Job.objects.get(spec__seed=0)), [row(1, 0.4)])
    [arm] = compare.arms(list(Job.objects.all()))
    assert (len(arm.jobs), arm.begun) == (3, 1)
    assert "there is no conclusion yet" in compare.verdict([arm])


def test_seeds_alone_are_said_to_lie_so_far_apart(ada: User) -> None:
    for seed, success in ((0, 0.4), (1, 0.5), (2, 0.6)):
        claim = claimed(operations.submit(ada, small(seed=seed)))
        records.record_points(claim, [row(1, success)])
        records.finish(claim)
    said = compare.verdict(compare.arms(list(Job.objects.all())))
    assert said.startswith("These trainings differ only in their seed. At the end they solve 50.0 % of their episodes")
    assert "25.2 % to 74.8 %" in said


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
    assert "40.0 %" in page
    assert "random agent 32 %" in page
    assert page.count("Tree of the 2 tries at seed 5") == 1, "episodes of one seed stand together"
    assert "Seed 0 before and after training" in page
    checkpoint = Checkpoint.objects.get(job=job)
    assert checkpoint.agent.name in page
    assert (checkpoint.success, checkpoint.agent.listed) == (0.4, False)
    curves = client.get(f"{job.get_absolute_url()}curves.json?after=2").json()
    assert (curves["update"], curves["success"], curves["last"]) == ([3, 4], [0.3, 0.4], 4)
    part = client.get(f"{job.get_absolute_url()}updates/4/?seed=2").content.decode()
    assert "Seed 2 before and after training" in part


def test_held_out_seeds_are_asked_for_in_expert_mode_and_have_a_curve(as_ada: Client) -> None:
    sent = {"recipe": "guess-easy", "held_out_every": "2", "clip_range_high": "0.28", "target_kl": "0.05"}
    as_ada.post("/jobs/train/", sent)
    job = Job.objects.get()
    assert {name: job.spec[name] for name in ("held_out_every", "clip_range_high", "target_kl")} == {
        "held_out_every": 2,
        "clip_range_high": 0.28,
        "target_kl": 0.05,
    }
    records.record_points(claimed(job), [row(1), row(2, held_out_success=0.4), row(3)])
    page = as_ada.get(job.get_absolute_url()).content.decode()
    assert 'data-curve="held_out_success"' in page
    assert "64, every 2 updates" in page
    assert as_ada.get(f"{job.get_absolute_url()}curves.json").json()["held_out_success"] == [None, 0.4, None]


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
    assert "90.0 %" in events[0].html
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
    with pytest.raises(operations.Unfit, match="Only a paused"):
        operations.resume(job.pk, ada)


def test_one_that_is_done_can_have_more_updates(ada: User) -> None:
    job = operations.submit(ada, small(updates=4))
    records.finish(trained(job))
    assert Job.objects.get(pk=job.pk).state == Job.State.DONE
    operations.extend(job.pk, ada, 6)
    job = Job.objects.get(pk=job.pk)
    assert (job.state, job.spec["updates"], job.shards.get().count) == (Job.State.QUEUED, 10, 10)
    assert claimed(job).request["updates"] == 10


def test_a_fork_goes_on_from_a_checkpoint_of_somebody_else(as_ada: Client, ada: User) -> None:
    eve = User.objects.create_user("eve")
    records.finish(trained(operations.submit(eve, small(updates=4))))
    parent = Checkpoint.objects.get()
    address = f"/jobs/train/?parent={parent.job_id}&parent_update={parent.update}"
    assert "The fork continues after update 4" in as_ada.get(address).content.decode()
    sent = {"parent": parent.job_id, "parent_update": "4", "env_id": ENV_ID, "updates": "4"}
    assert "ask for more updates" in as_ada.post("/jobs/train/", sent).content.decode()
    as_ada.post("/jobs/train/", {**sent, "updates": "9", "learning_rate": "0.0001"})
    fork = Job.objects.get(owner=ada)
    assert (fork.parent, fork.parent_update, fork.spec["learning_rate"]) == (parent.job, 4, 0.0001)
    assert "update 4" in as_ada.get(fork.get_absolute_url()).content.decode()


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


def test_arms_differ_in_more_than_the_seed_and_an_order_needs_intervals_apart(ada: User) -> None:
    for algorithm, base in (("rebn", 0.8), ("reinforce", 0.1)):
        for seed in range(3):
            job = operations.submit(ada, small(algorithm=algorithm, seed=seed, updates=4))
            claim = claimed(job)
            records.record_points(claim, [row(update, base + 0.01 * seed) for update in range(1, 5)])
            records.finish(claim)
    found = compare.arms(list(Job.objects.all()))
    assert [(arm.label, len(arm.jobs)) for arm in found] == [("ReBN", 3), ("REINFORCE", 3)]
    assert compare.verdict(found).startswith("ReBN solved more than REINFORCE at the end")
    one = compare.arms(list(Job.objects.filter(spec__seed=0)))
    assert "One seed shows no spread" in compare.verdict(one)


def test_forms_offer_the_newest_policy_and_a_checkpoint_that_was_chosen(as_ada: Client, ada: User) -> None:
    trained(operations.submit(ada, small(recipe="guess-easy")))
    checkpoint = Checkpoint.objects.select_related("agent", "job__agent").get()
    for page in ("/play/watch/new/", "/jobs/new/"):
        plain = as_ada.get(page).content.decode()
        assert checkpoint.job.agent.slug in plain
        assert checkpoint.agent.slug not in plain, "single checkpoints are found through their training"
        chosen = as_ada.get(f"{page}?agent={checkpoint.agent.slug}").content.decode()
        assert checkpoint.agent.slug in chosen
    answer = as_ada.post("/play/watch/new/", {"env_id": ENV_ID, "agent": checkpoint.agent.slug, "pace": "1"})
    assert answer.status_code == 302


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
    said = f"<b>{agent.name}</b> plays only for people with an account."
    for page in ("play/watch/new/?agent=", "play/duel/new/?second=", "play/new/?opponent=", "jobs/new/?agent="):
        assert said in as_ada.get(f"/{page}{agent.slug}").content.decode(), page


def test_trainings_that_differ_in_their_seed_only_are_drawn_together(client: Client, ada: User) -> None:
    first = operations.submit(ada, small(seed=1))
    others = [operations.submit(ada, small(seed=seed)) for seed in (2, 3)]
    operations.submit(ada, small(seed=4, learning_rate=0.1))
    operations.submit(ada, small(seed=5, env_kwargs={"max_turns": 3}))
    operations.submit(User.objects.create_user("eve"), small(seed=6))
    assert [job.spec["seed"] for job in compare.trainings_with_same_settings(first, Job.objects.all())] == [1, 3, 2]
    page = client.get(first.get_absolute_url()).content.decode()
    assert "mean of 3 seeds" in page
    for other in others:
        assert f"{other.get_absolute_url()}curves.json" in page
    alone = operations.submit(ada, small(seed=1, episodes=32))
    assert "data-others" not in client.get(alone.get_absolute_url()).content.decode()


def test_of_one_seed_trained_twice_the_newer_is_drawn(ada: User) -> None:
    first = operations.submit(ada, small(seed=1))
    operations.submit(ada, small(seed=2))
    newer = operations.submit(ada, small(seed=2))
    assert compare.trainings_with_same_settings(first, Job.objects.all()) == [first, newer]
