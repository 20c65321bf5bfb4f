"""The form of a training: recipes, refused fields, forks, and the login on the way."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from django.test import Client

from apps.accounts.models import User
from apps.jobs.models import Checkpoint, Job
from apps.trainings import operations, records
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


def test_a_fork_goes_on_from_a_checkpoint_of_somebody_else(as_ada: Client, ada: User) -> None:
    eve = User.objects.create_user("eve")
    records.finish(trained(operations.submit(eve, small(updates=4))))
    parent = Checkpoint.objects.get()
    address = f"/jobs/train/?parent={parent.job_id}&parent_update={parent.update}"
    page = as_ada.get(address)
    assert "The fork continues after update 4" in page.content.decode()
    assert page.context["form"]["updates"].value() == 8, "as many updates again, because none of the parent's is left"
    Job.objects.filter(pk=parent.job_id).update(spec={**parent.job.spec, "updates": 6})
    assert as_ada.get(address).context["form"]["updates"].value() == 6
    sent = {"parent": parent.job_id, "parent_update": "4", "env_id": ENV_ID, "updates": "4"}
    assert "ask for more updates" in as_ada.post("/jobs/train/", sent).content.decode()
    as_ada.post("/jobs/train/", {**sent, "updates": "9", "learning_rate": "0.0001"})
    fork = Job.objects.get(owner=ada)
    assert (fork.parent, fork.parent_update, fork.spec["learning_rate"]) == (parent.job, 4, 0.0001)
    assert "update 4" in as_ada.get(fork.get_absolute_url()).content.decode()


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


def test_a_policy_that_plays_both_seats_has_curves_of_its_own(as_ada: Client) -> None:
    more = '{"self_play": true, "env_kwargs": {}, "wrappers": [], "target_success": 0}'
    sent = {"recipe": "guess-easy", "env_id": "duel:KuhnPoker-v0", "held_out_every": "2", "more": more}
    answer = as_ada.post("/jobs/train/", sent)
    assert answer.status_code == 302, tight(answer)
    job = Job.objects.get()
    records.record_points(claimed(job), [row(1), row(2, exploitability=0.3, rating=12.0)])
    page = tight(as_ada.get(job.get_absolute_url()))
    assert 'data-curve="exploitability"' in page
    assert 'data-curve="rating"' in page
    assert 'data-curve="level"' not in page
    assert "itself; in 50 % of the episodes random, 6 earlier policies" in page
    curves = as_ada.get(f"{job.get_absolute_url()}curves.json").json()
    assert (curves["exploitability"], curves["rating"]) == ([None, 0.3], [None, 12.0])


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
