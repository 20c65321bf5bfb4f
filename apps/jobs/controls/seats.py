"""Taking the seat of an agent in an episode that an evaluation plays, unless it is ranked.

A worker breaks the episode off at its next turn. The evaluation does not count it, as if it had been dropped, and it
goes on as a live episode in which the person has the seat, and which counts nowhere.
"""

from __future__ import annotations

from django.db import transaction

from apps.accounts.models import User
from apps.admission.counting import one_at_a_time
from apps.agents.models import Agent
from apps.episodes.models import Episode
from apps.jobs.controls.operations import cancel_episode, check_may_change
from apps.jobs.errors import CannotChange
from apps.jobs.leases import CANCELLED
from apps.jobs.models import Job
from apps.play.shows import continuing, seats
from gem.errors import UnknownEnvironment


def take_seat(job_id: str, by: User, slot: int) -> Episode | None:
    """Take the seat of the agent in an episode that is under way. Called again, even at once, it returns the same one.

    Returns:
        The live episode in which the person has the seat; None until a worker has broken the other one off.

    Raises:
        NotYours, Ranked, CannotChange: as `cancel_episode`, or if the episode has ended or cannot be continued.
        apps.episodes.errors.Refusal: no live episode can begin now; the broken-off one can be forked later.
    """
    job = Job.objects.evaluations().get(pk=job_id)
    check_may_change(job, by)
    episode = Episode.objects.filter(batch=job.batch_id, slot=slot).select_related("batch").first()
    if episode is None:
        _check_can_go_on(job, slot)
        cancel_episode(job_id, by, slot, counts=False)
        return None
    if episode.failure != CANCELLED:
        raise CannotChange("This episode has ended. Open it and fork it from any of its turns.")
    if (branch := _begun(episode, by)) is not None:
        return branch
    agent = Agent.objects.get(seats__episode=episode, seats__number=episode.scored_seat)
    drafts = continuing.draft(episode, episode.turn_count, agent, pace=1.0, user=by)
    with transaction.atomic():
        one_at_a_time("seats of jobs", episode.pk)  # of two requests at once, the second finds the branch of the first
        if (branch := _begun(episode, by)) is not None:
            return branch
        (branch,) = continuing.begin(drafts)
        return seats.take(branch.pk, None, user=by, visitor="")


def _begun(episode: Episode, by: User) -> Episode | None:
    """The live episode in which this person has taken the seat already."""
    return episode.branches.filter(taken_over=True, show__started_by=by).order_by("created").first()


def _check_can_go_on(job: Job, slot: int) -> None:
    """Refuse an episode whose state nobody keeps, before it is broken off."""
    shard = job.shards.filter(first_slot__lte=slot).order_by("-first_slot").first()
    if shard is None or slot not in shard.slots:
        raise CannotChange(f"There is no episode in place {slot:,} of this job.")
    try:
        can_go_on = Episode(env_id=shard.env_id).on_record
    except UnknownEnvironment:
        can_go_on = False
    if not can_go_on:
        raise CannotChange(
            f"A turn of {shard.env_id} can take seconds, and evaluations do not save its states, so nobody can "
            f"continue from one. Let the agent play it live instead, and take the seat there."
        )
