"""Seasons: hidden seeds that only workers derive, one for each scope, and their reveal."""

from __future__ import annotations

import logging
import re

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client
from pydantic import ValidationError

import gem
from apps.accounts.models import User
from apps.agents.models import Agent
from apps.episodes.errors import Sealed
from apps.episodes.models import Episode
from apps.episodes.operations import verify
from apps.jobs import controls
from apps.jobs import operations as job_operations
from apps.jobs.afterwards.operations import reason_to_keep
from apps.jobs.errors import Ranked
from apps.jobs.models import Job, JobEvent
from apps.jobs.ranked.tries import tries_of
from apps.leaderboard import ranked_play
from apps.leaderboard.human_tries import NoSeedLeft
from apps.leaderboard.models import Score
from apps.leaderboard.operations import record_scores
from apps.leaderboard.seasons import reveal
from apps.play import hints
from apps.play import operations as play
from apps.seasons import numbers, operations
from apps.seasons.models import Season
from gem import benchmarks, replay
from gem.benchmarks import seeds
from gem.errors import InvalidArgument
from gem.evaluation.spec import EvaluationSpec
from gem.records import Identity
from tests.apps.seasons import ENV_IDS, HIDDEN_SEEDS, NAME, end, ranked_job, shorten, submit
from tests.html import tight

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def season(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Season:
    """The running season of a short benchmark, and the agents that play in it."""
    for kind in ("random", "expert", "human"):
        Agent.objects.get_or_create(slug=kind, defaults={"name": kind, "kind": kind, "colour": 8})
    shorten(monkeypatch)
    return operations.current(benchmarks.load(NAME))


def test_numbers_stand_for_seeds_and_say_nothing_about_them() -> None:
    first = numbers.first_number(3, 5)
    assert all(numbers.is_hidden(number) for number in range(first, first + numbers.MAX_PLACES, 999))
    assert numbers.read(first + 7) == (3, 5, 7)
    assert numbers.read(first + numbers.MAX_PLACES - 1) == (3, 5, numbers.MAX_PLACES - 1)
    assert numbers.read(numbers.first_number(3, 0)) == (3, 0, 0)
    assert numbers.first_number(2**14 - 1, numbers.MAX_SUBMISSIONS - 1) > -(2**53)
    assert numbers.in_words(first + 6) == "hidden 7"
    assert numbers.in_words(42) == "42"


def test_a_season_begins_once_and_its_key_is_sealed(season: Season) -> None:
    assert operations.current(benchmarks.load(NAME)) == season
    assert season.number == 1
    assert not season.is_over
    assert season.published_key == ""
    assert seeds.keeps(season.key, season.commitment)
    assert season.key.hex() not in season.sealed_key
    after = operations.current(benchmarks.load(NAME)) if end(season).is_over else season
    assert after.number == 2
    assert after.commitment != season.commitment


def test_workers_play_the_seeds_of_the_key_and_store_numbers(season: Season) -> None:
    job = ranked_job(None)
    assert job.state == Job.State.DONE
    assert job.is_closed
    assert job.is_ranked
    for env_id in ENV_IDS:
        order = seeds.order_of_play(season.key, NAME, season.version, seeds.COMMON, HIDDEN_SEEDS)
        drawn = [seeds.derive_seed(season.key, NAME, season.version, env_id, seeds.COMMON, i) for i in order]
        episodes = list(Episode.objects.filter(batch=job.batch, env_id=env_id).order_by("slot"))
        assert [episode.seed for episode in episodes] == list(season.numbers(env_id, 0))
        assert [episode.played_seed for episode in episodes] == drawn
        for episode in episodes:
            observation, _ = replay.make_env(Identity(**episode.identity())).reset(seed=episode.played_seed)
            assert observation == episode.first_observation
    assert {score.env_id for score in job.scores.all()} == {*ENV_IDS, ""}


def test_weights_share_their_seeds_and_endpoints_get_seeds_of_their_own(season: Season) -> None:
    owner = User.objects.create_user("owner")
    endpoint = Agent.objects.create(slug="mine", name="mine", kind=Agent.Kind.ENDPOINT, colour=1, owner=owner)
    submissions = [submit(owner, agent).batch.submission for agent in ("random", "expert", "mine", "mine")]
    assert submissions == [0, 0, 1, 2]
    scopes = [set(season.seeds(ENV_IDS[0], number)) for number in (0, 1, 2)]
    assert not scopes[0] & scopes[1]
    assert not scopes[1] & scopes[2]
    assert not scopes[0] & scopes[2]
    assert endpoint.jobs.count() == 2
    season.refresh_from_db()
    assert season.submissions == 2


def test_a_season_is_revealed_when_its_last_job_has_ended(season: Season) -> None:
    played, unfinished = ranked_job(None), submit(None, "expert")
    assert not reveal(season)
    season = end(season)
    assert not reveal(season)
    Job.objects.filter(pk=unfinished.pk).update(state=Job.State.CANCELLED)
    assert reveal(season)
    season.refresh_from_db()
    key = bytes.fromhex(season.published_key)
    assert seeds.keeps(key, season.commitment)
    assert season.is_revealed
    job = Job.objects.select_related("batch").get(pk=played.pk)
    assert not job.is_closed
    assert job.events.filter(kind=JobEvent.Kind.CHANGED).count() == 1
    for env_id in ENV_IDS:
        order = seeds.order_of_play(key, NAME, season.version, seeds.COMMON, HIDDEN_SEEDS)
        drawn = [seeds.derive_seed(key, NAME, season.version, env_id, seeds.COMMON, index) for index in order]
        assert list(job.batch.episodes.filter(env_id=env_id).order_by("slot").values_list("seed", flat=True)) == drawn
    for episode in job.batch.episodes.all():
        assert verify(episode) is None
    assert reveal(season)
    assert Season.objects.get(pk=season.pk).revealed_at == season.revealed_at


def test_a_practice_job_is_not_ranked(season: Season) -> None:
    job = ranked_job(None)
    practice = submit(None, hidden_seeds=False)
    assert not practice.is_ranked
    assert not practice.is_closed
    assert practice.batch.season is None
    assert list(practice.shards.values_list("first_seed", flat=True)) == [1000, 1000]
    Job.objects.filter(pk=practice.pk).update(state=Job.State.DONE)
    assert record_scores(practice.pk) == 0
    assert Score.objects.filter(job=job).count() == len(ENV_IDS) + 1


def test_unanswered_episodes_count_with_the_lowest_return(season: Season) -> None:
    job = ranked_job(None)
    env_id = ENV_IDS[0]
    Score.objects.filter(job=job).delete()
    unanswered = Episode.objects.filter(batch=job.batch, env_id=env_id).first()
    assert unanswered is not None
    Episode.objects.filter(pk=unanswered.pk).update(
        status=Episode.Status.FAILED, failed_by=Episode.FailedBy.AGENT, failure="It said nothing."
    )
    record_scores(job.pk)
    score = Score.objects.get(job=job, env_id=env_id)
    assert score.n == HIDDEN_SEEDS
    assert score.errors == 0
    others = Episode.objects.filter(batch=job.batch, env_id=env_id).exclude(pk=unanswered.pk)
    returns = list(others.values_list("seats__total_reward", flat=True))
    lowest = min(0.0, *returns, benchmarks.load(NAME).entry(env_id).random_return)
    assert score.mean_return == pytest.approx((sum(returns) + lowest) / HIDDEN_SEEDS)


def test_no_key_is_logged(season: Season, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        ranked_job(None)
        reveal(end(season))
    assert season.key.hex() not in caplog.text
    assert str(season.key) not in caplog.text


def test_people_play_seeds_of_their_own_once_and_nobody_else_sees_them(season: Season) -> None:
    person, other = (User.objects.create_user(name) for name in ("person", "other"))
    benchmark = benchmarks.load(NAME)
    played = [ranked_play.begin(benchmark, person, "", env_id=ENV_IDS[0]) for _ in range(HIDDEN_SEEDS)]
    assert [episode.played_seed for episode in played] == season.seeds(ENV_IDS[0], 1)
    assert all(episode.seed < 0 for episode in played)
    with pytest.raises(NoSeedLeft):
        ranked_play.begin(benchmark, person, "", env_id=ENV_IDS[0])
    assert ranked_play.begin(benchmark, person, "").env_id == ENV_IDS[1]
    theirs = ranked_play.begin(benchmark, other, "", env_id=ENV_IDS[0])
    assert theirs.played_seed == season.seeds(ENV_IDS[0], 2)[0]
    for viewer, expected in ((person, True), (other, False), (AnonymousUser(), False)):
        assert Episode.objects.visible_to(viewer).filter(pk=played[0].pk).exists() is expected
    turn = play.take_turn(played[0].pk, "\\boxed{1}", expected_seq=0, user=person, visitor="")
    assert turn.turn_count == 1
    with pytest.raises(Sealed):
        play.undo(played[0].pk, user=person, visitor="")
    with pytest.raises(Sealed):
        play.fork(played[0], 0, user=person, visitor="")
    assert not hints.seen_by(played[0], person, "").helps
    assert reveal(end(season))
    assert Episode.objects.visible_to(other).filter(pk=played[0].pk).exists()
    assert Episode.objects.get(pk=played[0].pk).seed == played[0].played_seed


def test_a_ranked_job_is_played_whole_and_every_try_counts(season: Season) -> None:
    owner = User.objects.create_user("owner")
    fields = {"agent": "random", "benchmark": NAME, "hidden_seeds": True}
    for more in ({"token_budget": 10}, {"repeats": 2}, {"max_error_share": 1.0}, {"retries": 1}, {"max_turns": 3}):
        with pytest.raises(ValidationError):
            EvaluationSpec.model_validate({**fields, **more})
    jobs = [submit(owner), submit(owner)]
    for change in (controls.pause, controls.retry_failed):
        with pytest.raises(Ranked):
            change(jobs[0].pk, owner)
    with pytest.raises(Ranked):
        controls.cancel_episode(jobs[0].pk, owner, 0, counts=False)
    cancelled = job_operations.cancel(jobs[0].pk, owner)
    assert tries_of(cancelled) == tries_of(jobs[1]) == 2
    assert "counts as a try" in reason_to_keep(cancelled)
    assert tries_of(submit(None)) == 1


def test_hidden_seeds_are_no_seeds_outside_of_a_site() -> None:
    spec = EvaluationSpec.model_validate({"agent": "random", "benchmark": NAME, "hidden_seeds": True})
    with pytest.raises(InvalidArgument):
        gem.make(ENV_IDS[0]).reset(seed=spec.parts[0].first_seed)
    assert "hidden_seeds" not in EvaluationSpec(agent="random", benchmark=NAME).model_dump()


def test_every_page_of_a_season_names_what_its_chips_copy_alike(season: Season, client: Client) -> None:
    chip = re.compile(r'<button class="chip" type="button" data-copy="([0-9a-f]+)"><span class="sr">([^<]+)</span>')
    commitment = (season.commitment, f"Copy the commitment of {NAME}, season 1:")
    pages = [f"/leaderboard/{page}?benchmark={NAME}" for page in ("", "about/", "seasons/")]
    for page in pages:
        assert chip.findall(tight(client.get(page))) == [commitment], page
    assert reveal(end(season))
    season.refresh_from_db()
    for page in pages[1:]:
        key = (season.published_key, f"Copy the key of {NAME}, season 1:")
        assert chip.findall(tight(client.get(page))) == [commitment, key], page
