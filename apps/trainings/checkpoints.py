"""Finding the checkpoint that a training forks."""

from __future__ import annotations

from django.http import Http404

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.jobs.models import Checkpoint, Job


def checkpoint_to_fork(viewer: Viewer, job_id: str, update: int | None) -> Checkpoint:
    """The checkpoint of a training after this update; without one, the newest.

    Raises:
        Http404: if there is none that this person may see.
    """
    jobs, agents = Job.objects.visible_to(viewer).filter(pk=job_id), Agent.objects.visible_to(viewer)
    checkpoints = Checkpoint.objects.filter(job__in=jobs, agent__in=agents)
    if update is not None:
        checkpoints = checkpoints.filter(update=update) if update < 2**31 else checkpoints.none()
    checkpoint = checkpoints.select_related("job").order_by("-update").first()
    if checkpoint is None:
        raise Http404("There is no such checkpoint to continue from.")
    return checkpoint
