"""Jobs of both kinds: evaluations and trainings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from gem.client.effects import Progress
from gem.client.events import Event
from gem.client.request import Events, Lines, Pages, Parts, Request, Resource, iterates, sends
from gem.client.resources.following import events_of, place
from gem.client.schemas import (
    Checkpoint,
    CheckpointPage,
    EpisodeRecord,
    Extension,
    Job,
    JobEpisode,
    JobEpisodePage,
    JobPage,
    JobSummary,
    LogLine,
    LogPage,
    Metrics,
    NewTraining,
    Results,
    Training,
    VisibilityChoice,
)
from gem.client.schemas.base import JobState, Visibility
from gem.evaluation.spec import EvaluationSpec

R_co = TypeVar("R_co", covariant=True)
Kind = Literal["evaluation", "training"]
Ending = Literal["won", "lost", "limit", "error"]


class Jobs(Resource[R_co]):
    """Evaluations, and what evaluations and trainings have in common."""

    @iterates
    def list(
        self,
        *,
        kind: Kind | None = None,
        state: JobState | None = None,
        mine: bool | None = None,
        most: int | None = None,
    ) -> Pages[JobSummary]:
        """Iterate over jobs, the newest first."""
        return Pages(Request("GET", "jobs", JobPage, {"kind": kind, "state": state, "mine": mine}), most)

    @sends
    def submit(
        self,
        spec: EvaluationSpec | Mapping[str, Any],
        *,
        name: str = "",
        visibility: Visibility | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Job]:
        """Submit an evaluation, which workers play.

        Args:
            spec: the specification, or its fields as plain data, which only the server checks.
            name: what the job is called.
            visibility: who may see it; by default what the account says.
            idempotency_key: submit one job however often this is called with the key within a day, also by other
                programs of the account; by default each call submits one.
        """
        fields = spec.model_dump(mode="json", exclude_unset=True) if isinstance(spec, EvaluationSpec) else dict(spec)
        content: dict[str, Any] = {"spec": fields, "name": name}
        if visibility is not None:
            content["visibility"] = visibility
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return Request("POST", "jobs", Job, content=content, headers=headers, keyed=True)

    @sends
    def get(self, job_id: str) -> Request[Job]:
        """Return one job, with its request and how far it is."""
        return Request("GET", place("jobs", job_id), Job)

    @sends
    def results(self, job_id: str) -> Request[Results]:
        """Return the results of an evaluation so far, together and by environment."""
        return Request("GET", f"{place('jobs', job_id)}/results", Results)

    @iterates
    def episodes(
        self, job_id: str, *, env_id: str | None = None, outcome: Ending | None = None, most: int | None = None
    ) -> Pages[JobEpisode]:
        """Iterate over the finished episodes of an evaluation, in the order of their seeds."""
        query = {"env_id": env_id, "outcome": outcome}
        return Pages(Request("GET", f"{place('jobs', job_id)}/episodes", JobEpisodePage, query), most)

    @iterates
    def records(self, job_id: str) -> Lines[EpisodeRecord]:
        """Iterate over all stored episodes of a job with their turns, in constant memory."""
        return Lines(Request("GET", f"{place('jobs', job_id)}/episodes.jsonl", EpisodeRecord))

    @iterates
    def export(self, job_id: str, *, progress: Progress | None = None) -> Parts[bytes]:
        """Iterate over the parts of a file with these episodes, which `gemweb replay` reads: JSON lines."""
        return Parts(Request("GET", f"{place('jobs', job_id)}/episodes.jsonl", bytes), progress)

    @iterates
    def log(self, job_id: str, *, after: int | None = None, most: int | None = None) -> Pages[LogLine]:
        """Iterate over the log of a job, in its order; after the line with the `seq` `after`, if it is given."""
        query = {"cursor": after, "limit": 200}
        return Pages(Request("GET", f"{place('jobs', job_id)}/log", LogPage, query), most)

    @iterates
    def events(self, job_id: str, *, after: int | None = None) -> Events[Event]:
        """Iterate over the events of an evaluation: first its history, then what happens, until it ends."""
        return events_of(place("jobs", job_id), after)

    @sends
    def cancel(self, job_id: str) -> Request[Job]:
        """Cancel a job. Finished episodes are kept. A job that has ended stays as it is."""
        return Request("POST", f"{place('jobs', job_id)}/cancel", Job, keyed=True)

    @sends
    def resume(self, job_id: str) -> Request[Job]:
        """Continue an evaluation that a restore has paused."""
        return Request("POST", f"{place('jobs', job_id)}/resume", Job, keyed=True)

    @sends
    def resubmit(self, job_id: str) -> Request[Job]:
        """Submit the request of any evaluation again, as a job of one's own."""
        return Request("POST", f"{place('jobs', job_id)}/resubmit", Job, keyed=True)

    @sends
    def set_visibility(self, job_id: str, visibility: Visibility) -> Request[Job]:
        """Change who may see a job and its episodes; of a training, also its agent and checkpoints."""
        content = VisibilityChoice(visibility=visibility)
        return Request("PUT", f"{place('jobs', job_id)}/visibility", Job, content=content)


class Trainings(Resource[R_co]):
    """Trainings, their curves and their checkpoints."""

    @iterates
    def list(self, *, mine: bool | None = None, most: int | None = None) -> Pages[JobSummary]:
        """Iterate over trainings, the newest first."""
        return Pages(Request("GET", "trainings", JobPage, {"mine": mine}), most)

    @sends
    def submit(
        self,
        recipe: str = "",
        spec: Mapping[str, Any] | None = None,
        *,
        name: str = "",
        visibility: Visibility | None = None,
        evaluate_best: bool = False,
        parent: str | None = None,
        parent_update: int | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Training]:
        """Submit a training: a recipe, a specification, or a recipe with some settings changed.

        Args:
            recipe: the name of a recipe; empty for none.
            spec: settings of a `gem.training.spec.TrainingSpec`, which come before those of the recipe.
            name: what the training is called.
            visibility: who may see it; by default what the account says.
            evaluate_best: submit the best checkpoint for evaluation when the training is done.
            parent: the id of a training to fork.
            parent_update: the update of the checkpoint to fork; the newest if it is None.
            idempotency_key: as with `Jobs.submit`.
        """
        content = NewTraining(
            recipe=recipe,
            spec=dict(spec or {}),
            name=name,
            visibility=visibility,
            evaluate_best=evaluate_best,
            parent=parent,
            parent_update=parent_update,
        )
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return Request("POST", "trainings", Training, content=content, headers=headers, keyed=True)

    @sends
    def get(self, job_id: str) -> Request[Training]:
        """Return one training, with its last update."""
        return Request("GET", place("trainings", job_id), Training)

    @sends
    def metrics(self, job_id: str, *, after: int = 0) -> Request[Metrics]:
        """Return the points of all curves after an update."""
        return Request("GET", f"{place('trainings', job_id)}/metrics", Metrics, {"after": after or None})

    @iterates
    def checkpoints(self, job_id: str) -> Pages[Checkpoint]:
        """Iterate over the checkpoints of a training, in their order. Each is an agent."""
        return Pages(Request("GET", f"{place('trainings', job_id)}/checkpoints", CheckpointPage))

    @iterates
    def checkpoint(self, job_id: str, update: int, *, progress: Progress | None = None) -> Parts[bytes]:
        """Iterate over the parts of an archive with the weights after an update, the tokenizer and the card."""
        return Parts(Request("GET", f"{place('trainings', job_id)}/checkpoints/{update}.zip", bytes), progress)

    @iterates
    def log(self, job_id: str) -> Parts[bytes]:
        """Iterate over the parts of the log of the process that trains, which only the owner can read."""
        return Parts(Request("GET", f"{place('trainings', job_id)}/log.txt", bytes))

    @iterates
    def events(self, job_id: str, *, after: int | None = None) -> Events[Event]:
        """Iterate over the events of a training: first its history, then what happens, until it ends."""
        return events_of(place("trainings", job_id), after)

    @sends
    def pause(self, job_id: str) -> Request[Training]:
        """Stop a training after its current update, with a checkpoint."""
        return Request("POST", f"{place('trainings', job_id)}/pause", Training, keyed=True)

    @sends
    def resume(self, job_id: str) -> Request[Training]:
        """Continue a paused, cancelled or failed training from its last checkpoint."""
        return Request("POST", f"{place('trainings', job_id)}/resume", Training, keyed=True)

    @sends
    def extend(self, job_id: str, updates: int) -> Request[Training]:
        """Give a training more updates. One that was done continues."""
        content = Extension(updates=updates)
        return Request("POST", f"{place('trainings', job_id)}/extend", Training, content=content, keyed=True)

    @sends
    def cancel(self, job_id: str) -> Request[Training]:
        """Cancel a training. Its checkpoints are kept, and it can be resumed."""
        return Request("POST", f"{place('trainings', job_id)}/cancel", Training, keyed=True)

    @sends
    def evaluate_best(self, job_id: str) -> Request[Training]:
        """Submit the best checkpoint for evaluation: now if the training has ended, otherwise when it is done."""
        return Request("POST", f"{place('trainings', job_id)}/evaluate-best", Training, keyed=True)
