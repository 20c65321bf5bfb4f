"""What people change of an evaluation while a worker plays it: the worker notices at its next look and obeys."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from contextlib import suppress

import pytest
from django.test import Client

import gem
from apps.accounts.models import CpuUse, User
from apps.episodes.models import Episode
from apps.jobs import controls, events, leases, operations
from apps.jobs.controls import seats as taking
from apps.jobs.errors import CannotChange, NotYours, Ranked
from apps.jobs.models import Job, JobEvent, Shard
from apps.jobs.results import finished
from apps.leases import LeaseLost
from apps.play.models import Show
from gem.agents import Decision, Request, make_agent
from gem.errors import AgentStopped
from gem.evaluation.spec import EvaluationSpec
from gem.rollout import rollout
from tests.apps.meanwhile import Elsewhere, meanwhile
from tests.workers.environments import BROKEN, BROKEN_SEED
from tests.workers.processes import wait_until
from tests.workers.records import Submit, assert_exactly_once, fresh, play_out
from workers import evaluate
from workers.playing.cpu import CpuMeter
from workers.playing.lease import GivesWay, Lease, Stopping, WatchedAsync

FAST = "game:GuessTheNumber-v0-hard"
OTHER = "game:GuessTheNumber-v0-easy"


class Watchful(Lease):
    """A lease whose worker looks what people want before every turn, and in whose first turns something happens."""

    def __init__(self, claim: leases.Claim, happens: Callable[[], object], at_turn: int = 3) -> None:
        super().__init__(claim, lambda: False)
        self._happens, self._turns_left = happens, at_turn
        self.most_under_way = 0

    def broken_off(self, slot: int) -> str:
        self._turns_left -= 1
        if self._turns_left == 0:
            self._happens()
        if not self._look():
            self._heartbeat.lost.set()
        return super().broken_off(slot)


def play(job: Job, happens: Callable[[], object], at_turn: int = 3) -> None:
    """Play one shard of the job until its worker gives it back; in the given turn, something happens."""
    claim = leases.claim()
    assert claim is not None
    assert claim.job_id == job.pk
    lease = Watchful(claim, happens, at_turn)
    with lease, CpuMeter(claim.owner_id, CpuUse.Use.JOBS) as meter:
        evaluate.play(claim, lease, meter)


def owner_of(job: Job) -> User:
    assert job.owner is not None
    return job.owner


def test_a_paused_job_finishes_what_is_under_way_and_goes_on_later(submit: Submit) -> None:
    job = submit(FAST, 20, num_envs=4)
    play(job, lambda: controls.pause(job.pk, owner_of(job)))
    paused = fresh(job)
    assert paused.state == Job.State.PAUSED
    assert 0 < paused.episodes_done < 20, "episodes under way are played to their end, and no other begins"
    assert paused.shards.get().state == Shard.State.QUEUED
    assert paused.shards.get().lease_token is None
    assert leases.claim() is None
    assert controls.pause(job.pk, owner_of(job)).seq == paused.seq, "it is paused already"
    assert operations.resume(job.pk, owner_of(job)).state == Job.State.QUEUED
    started = paused.started
    play_out(job)
    assert fresh(job).started == started
    assert_exactly_once(job)


def test_a_worker_that_lost_its_lease_while_the_job_was_paused_writes_nothing(submit: Submit) -> None:
    job = submit(FAST, 5)
    claim = leases.claim()
    assert claim is not None
    records = list(rollout(make_agent("random"), claim.slots()[:1]))
    controls.pause(job.pk, owner_of(job))
    leases.release(claim, "the job is paused")
    with pytest.raises(LeaseLost):
        leases.record_episodes(claim, records)
    assert fresh(job).episodes_done == 0


def test_the_pace_changes_from_the_next_episode_on(submit: Submit, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(FAST, 12, num_envs=1)
    asked: list[int] = []
    watched = evaluate.watched

    def counting(agent: object, lease: Lease) -> object:
        wrapped = watched(agent, lease)  # type: ignore[arg-type]
        act = wrapped.act  # type: ignore[union-attr]

        def act_and_count(requests: list[object]) -> object:
            asked.append(len(requests))
            return act(requests)  # type: ignore[arg-type]

        monkeypatch.setattr(wrapped, "act", act_and_count, raising=False)
        return wrapped

    monkeypatch.setattr(evaluate, "watched", counting)
    play(job, lambda: controls.set_pace(job.pk, owner_of(job), num_envs=5))
    assert asked[0] == 1
    assert max(asked) == 5
    assert fresh(job).num_envs == 5
    assert fresh(job).spec["num_envs"] == 1, "the request stays as it was submitted"
    assert_exactly_once(job)


def test_a_job_has_no_more_workers_than_it_may(submit: Submit) -> None:
    from tests.workers.test_fencing import split

    job = submit(FAST, 30)
    split(job, 3)
    first, second = leases.claim(), leases.claim()
    assert first is not None
    assert second is not None
    controls.set_pace(job.pk, owner_of(job), max_workers=1)
    assert leases.claim() is None
    kept, given_back = leases.wishes(first), leases.wishes(second)
    assert kept is not None
    assert given_back is not None
    assert not kept.why_stop
    assert given_back.why_stop
    leases.release(second, given_back.why_stop)
    assert leases.claim() is None
    controls.set_pace(job.pk, owner_of(job), max_workers=0)
    assert leases.claim() is not None


@pytest.mark.parametrize("counts", [True, False])
def test_a_cancelled_episode_counts_as_not_solved_or_is_dropped(submit: Submit, counts: bool) -> None:
    job = submit(FAST, 6, num_envs=2)
    play(job, lambda: controls.cancel_episode(job.pk, owner_of(job), 1, counts=counts))
    assert_exactly_once(job)
    episode, shard = job.batch.episodes.get(slot=1), job.shards.get()
    assert shard.orders == {}
    assert (shard.errors, shard.cancelled, shard.unanswered) == ((0, 0, 0) if counts else (1, 1, 0))
    assert episode.status == (Episode.Status.ENDED if counts else Episode.Status.FAILED)
    assert episode.success is (False if counts else None)
    with pytest.raises(CannotChange, match="has ended"):
        controls.cancel_episode(job.pk, owner_of(job), 1, counts=counts)


def test_a_person_takes_the_seat_in_an_episode_that_is_under_way(submit: Submit) -> None:
    job = submit(FAST, 6, num_envs=2)
    owner = owner_of(job)
    play(job, lambda: taking.take_seat(job.pk, owner, 1))
    broken_off = job.batch.episodes.get(slot=1)
    assert (broken_off.status, broken_off.success) == (Episode.Status.FAILED, None)
    live = taking.take_seat(job.pk, owner, 1)
    assert live is not None
    assert (live.parent, live.batch, live.taken_over) == (broken_off, None, True)
    assert live.turn_count == broken_off.turn_count
    seat = live.seats.get()
    assert (seat.agent, seat.user, seat.is_taken) == (job.agent, owner, True)
    assert taking.take_seat(job.pk, owner, 1) == live  # asked again
    with pytest.raises(CannotChange, match="has ended"):
        taking.take_seat(job.pk, owner, 0)
    with pytest.raises(CannotChange, match="no episode in place"):
        taking.take_seat(job.pk, owner, 99)
    with pytest.raises(NotYours):
        taking.take_seat(job.pk, User.objects.create_user("eve"), 1)


def test_a_seat_that_is_taken_twice_at_once_begins_one_live_episode(submit: Submit) -> None:
    job = submit(FAST, 6, num_envs=2)
    owner = owner_of(job)
    play(job, lambda: taking.take_seat(job.pk, owner, 1))
    begun: list[Episode | None] = []
    again = Elsewhere(lambda: begun.append(taking.take_seat(job.pk, owner, 1)))
    with meanwhile('INTO "play_show"', again) as it:
        begun.append(taking.take_seat(job.pk, owner, 1))
    again.end()
    assert it.happened
    assert again.refusal is None
    assert begun == [Show.objects.get().episode] * 2


def test_an_episode_that_begins_again_is_recorded_once(submit: Submit) -> None:
    job = submit(FAST, 6, num_envs=2)
    play(job, lambda: controls.requeue_episode(job.pk, owner_of(job), 0))
    assert not job.batch.episodes.filter(slot=0).exists()
    assert job.shards.get().orders == {}
    play_out(job)
    assert_exactly_once(job)
    with pytest.raises(CannotChange, match="counts"):
        controls.requeue_episode(job.pk, owner_of(job), 0)


def test_what_failed_is_played_again_after_the_end_and_stays_listed(submit: Submit, client: Client) -> None:
    job = submit(BROKEN, 10)
    play_out(job)
    failed = job.batch.episodes.get(status="failed")
    before = events_of(job)
    assert controls.retry_failed(job.pk, owner_of(job)).state == Job.State.QUEUED
    assert fresh(job).episodes_done == 9
    assert job.shards.get().errors == 0
    play_out(job)
    assert fresh(job).state == Job.State.DONE
    assert [episode.pk for episode in finished.replaced(job)] == [failed.pk]
    assert sorted(finished.finished(job).values_list("slot", flat=True)) == list(range(10))
    assert client.get(failed.get_absolute_url()).status_code in (200, 404)
    assert events_of(job)[: len(before)] == before, "what programs have read stays as it was"
    assert failed.pk in finished_of(events_of(job)[: len(before)])
    assert failed.pk not in finished_of(events_of(job)[len(before) :])


def test_what_is_retried_while_its_shard_is_played_needs_no_lease_to_expire(
    submit: Submit, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evaluate, "CHUNK_SECONDS", 0.0)
    job = submit(BROKEN, BROKEN_SEED + 3, num_envs=1)

    class Retrying(Watchful):
        """Plays the failed episode again as soon as it is recorded."""

        def broken_off(self, slot: int) -> str:
            if slot > BROKEN_SEED + 1:
                failed = Episode.objects.filter(batch=job.batch_id, status=Episode.Status.FAILED)
                wait_until(failed.exists, "the failed episode is recorded")
                with suppress(CannotChange):  # it is played again already
                    controls.retry_failed(job.pk, owner_of(job))
            return super().broken_off(slot)

    claim = leases.claim()
    assert claim is not None
    with Retrying(claim, lambda: None, 0) as lease, CpuMeter(None, CpuUse.Use.JOBS) as meter:
        evaluate.play(claim, lease, meter)
    shard = job.shards.get()  # queued, or claimed again and done
    assert shard.lease_token is None
    assert [shard.attempt - (shard.state == Shard.State.DONE), shard.setbacks] == [0, 0], "nothing has failed"
    assert job.events.filter(kind=JobEvent.Kind.REQUEUED, text__contains="to play again").exists()


def test_a_shard_whose_count_is_wrong_is_not_claimed_without_end(submit: Submit) -> None:
    job = play_out(submit(BROKEN, 2))
    job.shards.update(state=Shard.State.QUEUED, done=1)
    Job.objects.filter(pk=job.pk).update(state=Job.State.RUNNING)
    evaluate.shards(job.pk)
    assert job.events.filter(kind=JobEvent.Kind.CLAIMED).count() == 2


def events_of(job: Job) -> list[str]:
    return [event.model_dump_json() for event in events.evaluation_events(fresh(job), list(job.events.all()))]


def finished_of(lines: list[str]) -> str:
    return "".join(line for line in lines if "job.episodes" in line)


def test_only_what_failed_is_played_again(submit: Submit) -> None:
    job = submit(FAST, 4)
    play_out(job)
    with pytest.raises(CannotChange, match="No episode has failed"):
        controls.retry_failed(job.pk, owner_of(job))
    cancelled = submit(BROKEN, 10)
    claim = leases.claim()
    assert claim is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots()[:8])))
    operations.cancel(cancelled.pk, owner_of(cancelled))
    with pytest.raises(CannotChange, match="cannot continue"):
        controls.retry_failed(cancelled.pk, owner_of(cancelled))


def test_a_failed_job_goes_on_with_what_it_had_not_played(submit: Submit) -> None:
    job = submit(FAST, 6)
    claim = leases.claim()
    assert claim is not None
    leases.record_episodes(claim, list(rollout(make_agent("random"), claim.slots()[:2])))
    leases.fail_job(claim, "The key was refused.")
    assert fresh(job).state == Job.State.FAILED
    controls.retry_failed(job.pk, owner_of(job))
    play_out(job)
    assert_exactly_once(job)


def test_a_skipped_environment_is_missing_until_it_is_brought_back(owner: User) -> None:
    spec = EvaluationSpec(agent="random", env_ids=(FAST, OTHER), episodes_per_env=4)
    job = operations.submit(owner, spec)

    def skip() -> None:
        controls.skip_environment(job.pk, owner_of(job), FAST)
        with pytest.raises(CannotChange, match="Cancel the job"):
            controls.skip_environment(job.pk, owner_of(job), OTHER)

    play(job, skip)
    assert job.shards.filter(env_id=FAST, skipped=True, state=Shard.State.CANCELLED).exists()
    assert fresh(job).state == Job.State.DONE, "the worker goes on with what it holds of the other environment"
    assert fresh(job).episodes_done < fresh(job).episodes_total
    assert not job.batch.episodes.filter(env_id=FAST).exists(), "its worker had lost that shard"
    controls.bring_back(job.pk, owner_of(job), FAST)
    play_out(job)
    assert_exactly_once(job)


CONTROLS: dict[str, Callable[[Job, User], object]] = {
    "pause": lambda job, by: controls.pause(job.pk, by),
    "pace": lambda job, by: controls.set_pace(job.pk, by, num_envs=2),
    "cancel": lambda job, by: controls.cancel_episode(job.pk, by, 0, counts=True),
    "requeue": lambda job, by: controls.requeue_episode(job.pk, by, 0),
    "seat": lambda job, by: taking.take_seat(job.pk, by, 0),
    "retry": lambda job, by: controls.retry_failed(job.pk, by),
    "skip": lambda job, by: controls.skip_environment(job.pk, by, job.shards.all()[0].env_id),
    "bring back": lambda job, by: controls.bring_back(job.pk, by, job.shards.all()[0].env_id),
}


def test_a_ranked_job_is_played_as_it_was_submitted(submit: Submit) -> None:
    job = submit(benchmark="games")
    assert job.is_ranked
    for control in CONTROLS.values():
        with pytest.raises(Ranked, match="leaderboard of games"):
            control(job, owner_of(job))
    assert not JobEvent.objects.filter(job=job).exclude(kind=JobEvent.Kind.SUBMITTED).exists()


def test_others_change_nothing(submit: Submit) -> None:
    job, somebody_else = submit(FAST, 4), User.objects.create_user("somebody-else")
    for control in CONTROLS.values():
        with pytest.raises(NotYours):
            control(job, somebody_else)


def test_numbers_out_of_range_are_refused(submit: Submit) -> None:
    job = submit(FAST, 4)
    for pace in ({"num_envs": 0}, {"num_envs": 257}, {"max_workers": -1}, {"max_workers": 1001}):
        with pytest.raises(CannotChange):
            controls.set_pace(job.pk, owner_of(job), **pace)
    for slot in (4, 10**9):
        with pytest.raises(CannotChange, match="no episode"):
            controls.cancel_episode(job.pk, owner_of(job), slot, counts=True)


def test_a_lease_gives_way_when_the_job_is_paused(submit: Submit) -> None:
    job = submit(FAST, 4)
    claim = leases.claim()
    assert claim is not None
    lease = Lease(claim, lambda: False)
    controls.pause(job.pk, owner_of(job))
    assert lease._look()
    assert lease.gives_way.is_set()
    with lease:
        raise GivesWay
    assert job.shards.get().state == Shard.State.QUEUED
    assert job.events.filter(text__contains="the job is paused").exists()


class Unavailable:
    """An agent whose server is gone by the time that it is asked."""

    name = "unavailable"

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    async def decide(self, request: Request) -> Decision:
        self.asked.set()
        raise AgentStopped("The server is gone.")

    async def close(self) -> None: ...


def test_what_an_agent_says_after_its_worker_stops_is_no_lost_exception(submit: Submit) -> None:
    submit(FAST, 4)
    claim = leases.claim()
    assert claim is not None
    lost: list[str] = []

    async def ask() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: lost.append(context["message"]))
        agent = Unavailable()
        lease = Lease(claim, agent.asked.is_set)  # the worker stops once the agent is asked
        with pytest.raises(Stopping):
            await WatchedAsync(agent, lease).decide(Request(gem.make(FAST), "observation", {}, 1))
        gc.collect()

    asyncio.run(ask())
    assert lost == []
