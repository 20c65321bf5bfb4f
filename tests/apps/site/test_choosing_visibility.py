"""Choosing who sees what: the form, the default of the account, the page of the object, and what follows from it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import User
from apps.agents.models import Agent
from apps.duels import operations as duels
from apps.duels.head_to_head import record_of
from apps.duels.side_by_side import sides_of
from apps.episodes.models import Batch, Episode
from apps.jobs import estimates
from apps.jobs import operations as jobs
from apps.jobs.models import Job, Shard
from apps.leaderboard.models import Score
from apps.play import operations as play
from apps.play.shows import operations as shows
from apps.trainings import operations as trainings
from gem import benchmarks
from gem.evaluation.spec import EvaluationSpec
from gem.training.spec import read_spec
from tests.apps.play.people import Person
from tests.apps.play.seats import pair
from tests.apps.site.objects import SCORE
from tests.apps.site.roles import ENV_ID

pytestmark = pytest.mark.django_db

SPEC = EvaluationSpec(agent="random", env_ids=(ENV_ID,), episodes_per_env=2)


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def as_ada(ada: User, client: Client) -> Client:
    client.force_login(ada)
    return client


def test_what_is_begun_without_a_choice_is_as_the_account_says(as_ada: Client, ada: User) -> None:
    before = jobs.submit(ada, SPEC)
    values = {"default_visibility": "private", "agent_visibility": "unlisted"}
    as_ada.post(reverse("accounts:visibility"), values)
    ada.refresh_from_db()
    as_ada.post(reverse("play:new"), {"env_id": ENV_ID})
    as_ada.post(reverse("site:begin"), {"env_id": ENV_ID})
    as_ada.post(reverse("play:watch_new"), {"env_id": ENV_ID, "agent": "random"})
    as_ada.post(reverse("leaderboard:play"))
    as_ada.post(reverse("jobs:resubmit", args=[before.pk]), {"idempotency_key": "again"})
    assert list(Episode.objects.values_list("visibility", flat=True)) == ["private"] * 4
    duel = duels.start(duels.DuelStart(ENV_ID), [Agent.objects.get(slug="random")], plays=True, user=ada, visitor="")
    training = trainings.submit(ada, read_spec({"env_id": ENV_ID}))
    assert {duel.visibility, training.visibility, training.agent.visibility} == {"private"}
    assert [job.visibility for job in Job.objects.evaluations().order_by("created")] == ["public", "private"]
    page = as_ada.get(reverse("jobs:submit")).content.decode()
    assert '<option value="private" selected>' in page
    assert '<option value="unlisted" selected>' in as_ada.get(reverse("agents:new")).content.decode()


def test_a_default_that_there_is_not_changes_nothing(as_ada: Client, ada: User) -> None:
    answer = as_ada.post(reverse("accounts:visibility"), {"default_visibility": "secret"}, follow=True)
    assert "Nothing was changed" in answer.content.decode()
    ada.refresh_from_db()
    assert (ada.default_visibility, ada.agent_visibility) == ("public", "private")


def test_the_owner_changes_it_afterwards(as_ada: Client, ada: User) -> None:
    episode = play.begin(ENV_ID, seed=1, user=ada, visitor="")
    duel = duels.start(duels.DuelStart(ENV_ID), [Agent.objects.get(slug="random")], plays=True, user=ada, visitor="")
    job = jobs.submit(ada, SPEC)
    addresses = {
        reverse("episodes:visibility", args=[episode.pk]): Episode.objects.filter(pk=episode.pk),
        reverse("duels:visibility", args=[duel.pk]): Batch.objects.filter(pk=duel.pk),
        reverse("jobs:visibility", args=[job.pk]): Batch.objects.filter(job=job),
    }
    for address, rows in addresses.items():
        for chosen, expected in (("private", "private"), ("secret", "private"), ("unlisted", "unlisted")):
            page = as_ada.post(address, {"visibility": chosen}, follow=True).content.decode()
            assert rows.values_list("visibility", flat=True).get() == expected, address
            assert 'id="set-visibility"' in page
    page = Client().get(job.get_absolute_url()).content.decode()
    assert "unlisted" in page
    assert 'id="set-visibility"' not in page
    in_duel = Episode.objects.filter(batch=duel).first()
    assert in_duel is not None
    refused = as_ada.post(reverse("episodes:visibility", args=[in_duel.pk]), {"visibility": "public"})
    assert refused.status_code == 403, "an episode follows its duel"


def test_visitors_have_private_episodes_and_keep_them_when_they_log_in(ada: User) -> None:
    person, other = Person(), Person()
    episode = person.begin(ENV_ID, visibility="private")
    person.client.post(reverse("play:watch_new"), {"env_id": ENV_ID, "agent": "random", "visibility": "private"})
    paths = [row.get_absolute_url() for row in Episode.objects.all()]
    assert len(paths) == 2
    assert [person.client.get(path).status_code for path in paths] == [200, 200]
    assert [other.client.get(path).status_code for path in paths] == [404, 404]
    ada.set_password("a long enough one")
    ada.save()
    person.client.post(reverse("accounts:login"), {"username": "ada", "password": "a long enough one"})
    assert [person.client.get(path).status_code for path in paths] == [200, 200]
    assert episode.id in person.client.get("/episodes/").content.decode()


def test_a_link_to_a_seat_opens_a_private_episode_and_neither_opens_it_alone() -> None:
    first, second = Person(), Person()
    episode = first.begin("duel:TicTacToe-v0", opponent="person", seat="0", visibility="private")
    assert second.client.get(episode.get_absolute_url()).status_code == 404
    link = first.link(episode)
    assert second.client.get(link).status_code == 200
    second.sit_down(link)
    assert second.client.get(episode.get_absolute_url()).status_code == 200
    assert Person().client.get(episode.get_absolute_url()).status_code == 404
    change = reverse("episodes:visibility", args=[episode.pk])
    second.client.post(change, {"visibility": "public"})
    episode.refresh_from_db()
    assert episode.visibility == "private"


def test_either_of_two_people_closes_their_episode() -> None:
    people, episode = pair("duel:TicTacToe-v0")
    for person, chosen in zip(people, ("unlisted", "private"), strict=True):
        person.client.post(reverse("episodes:visibility", args=[episode.pk]), {"visibility": chosen})
        episode.refresh_from_db()
        assert episode.visibility == chosen


def test_a_branch_is_as_closed_as_its_parent_or_its_owner(ada: User) -> None:
    bob = User.objects.create_user("bob", default_visibility="private")
    public = play.begin(ENV_ID, seed=1, user=ada, visitor="")
    private = play.begin(ENV_ID, seed=1, user=ada, visitor="", visibility="private")
    assert play.fork(public, 0, user=ada, visitor="").visibility == "public"
    assert play.fork(public, 0, user=bob, visitor="").visibility == "private"
    assert play.fork(private, 0, user=ada, visitor="").visibility == "private"


def test_people_find_the_shows_that_they_started_among_their_episodes(as_ada: Client, ada: User) -> None:
    random = Agent.objects.get(slug="random")
    of_ada = shows.start(ENV_ID, random, user=ada, visibility="private")
    visitor = Person()
    key = visitor.begin(ENV_ID, 7).seats.get().visitor
    of_visitor = shows.start(ENV_ID, random, visitor=key, visibility="private")
    for browser, own, other in ((as_ada, of_ada, of_visitor), (visitor.client, of_visitor, of_ada)):
        page = browser.get("/episodes/?mine=on").content.decode()
        assert own.pk in page
        assert other.pk not in page


def test_saving_a_visibility_is_told_after_it_was_saved(
    as_ada: Client, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    episode = play.begin(ENV_ID, seed=1, user=ada, visitor="", visibility="public")
    answer = as_ada.post(f"/episodes/{episode.pk}/visibility/", {"visibility": "private"}, follow=True)
    assert "Saved. Private means: only you and the administrators of this site." in answer.content.decode()
    as_ada.raise_request_exception = False
    monkeypatch.delattr("apps.episodes.operations.Episode")  # nothing can be saved
    as_ada.post(f"/episodes/{episode.pk}/visibility/", {"visibility": "public"})
    monkeypatch.undo()
    assert "Saved." not in as_ada.get("/account/").content.decode()


def test_no_shared_cache_keeps_what_is_not_public(as_ada: Client, ada: User) -> None:
    episode = play.begin(ENV_ID, seed=1, user=ada, visitor="", visibility="private")
    play.abandon(episode.pk, user=ada, visitor="")
    frames = as_ada.get(reverse("episodes:frames", args=[episode.pk, 0]))
    assert frames["Cache-Control"].startswith("private")


def test_staff_open_what_is_private_and_find_no_more_than_others(ada: User, admin_client: Client) -> None:
    job = jobs.submit(ada, SPEC, name="secret plan", visibility="private")
    assert admin_client.get(job.get_absolute_url()).status_code == 200
    assert "secret plan" not in admin_client.get(reverse("jobs:list")).content.decode()


def test_a_score_that_is_not_public_gives_its_place_to_the_one_before() -> None:
    random = Agent.objects.get(slug="random")
    for name, age in (("older", 2), ("newer", 1)):
        job = jobs.submit(None, SPEC, name=name)
        score = Score.objects.create(job=job, agent=random, **SCORE)
        Score.objects.filter(pk=score.pk).update(created=timezone.now() - timedelta(days=age))

    def shown() -> list[str]:
        scores = Score.objects.of(benchmarks.load("games")).with_tools(False).newest()
        return list(scores.values_list("job__name", flat=True))

    assert shown() == ["newer"]
    newer = Job.objects.get(name="newer")
    for visibility in ("unlisted", "private"):
        jobs.set_visibility(newer, visibility)
        assert shown() == ["older"]
    jobs.set_visibility(newer, "public")
    assert shown() == ["newer"]


def test_estimates_rest_on_nobody_elses_private_jobs(ada: User) -> None:
    job = jobs.submit(ada, SPEC, visibility="private")
    Shard.objects.filter(job=job).update(done=2, seconds=1.0, turns=4)
    Job.objects.filter(pk=job.pk).update(episodes_done=2)
    random = Agent.objects.get(slug="random")

    def evidence(person: Any) -> int:
        return estimates.estimate(random, SPEC, Job.objects.listed_for(person)).evidence

    assert (evidence(AnonymousUser()), evidence(ada)) == (0, 2)


def test_comparisons_over_many_seeds_count_public_episodes(ada: User) -> None:
    agents = [Agent.objects.get(slug=slug) for slug in ("random", "expert")]
    for seed, visibility in enumerate(("public", "unlisted", "private", "private")):
        duel = duels.start(duels.DuelStart(ENV_ID, seed), agents, user=ada, visitor="", visibility=visibility)
        Episode.objects.filter(batch=duel).update(status="ended", success=True)
    record = record_of(sides_of(duel))
    assert record is not None
    assert record.seeds == 2, "the public one, and the one on the page"
