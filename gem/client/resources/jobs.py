"""Jobs of both kinds: evaluations and trainings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeVar

from gem.client.effects import Progress
from gem.client.events import Event
from gem.client.request import NOTHING, Events, Lines, Pages, Parts, Request, Resource, iterates, sends
from gem.client.resources.following import events_of, place
from gem.client.schemas import (
    Analysis,
    Checkpoint,
    CheckpointPage,
    EpisodeEnd,
    EpisodeRecord,
    Exports,
    Extension,
    Job,
    JobChange,
    JobEpisode,
    JobEpisodePage,
    JobPage,
    JobSummary,
    LogLine,
    LogPage,
    Metrics,
    NewTraining,
    OneEnvironment,
    Pace,
    Powers,
    Results,
    Retry,
    SeedPage,
    SeedResult,
    Submitted,
    TakenSeat,
    Training,
    VisibilityChoice,
)
from gem.client.schemas.base import JobState, Visibility
from gem.client.schemas.job_results import Table, TableFormat
from gem.evaluation.spec import EvaluationSpec
from gem.evaluation.submission import Submission

R_co = TypeVar("R_co", covariant=True)
Kind = Literal["evaluation", "training"]
Level = Literal["all", "warnings", "errors"]
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
        tag: str | None = None,
        group: str | None = None,
        q: str | None = None,
        archived: bool | None = None,
        most: int | None = None,
    ) -> Pages[JobSummary]:
        """Iterate over jobs, the newest first.

        Args:
            tag: only those with this tag.
            group: only those that were submitted together: `JobSummary.group`.
            q: only those with these words in their name, their notes or the name of their agent.
            archived: archived jobs, which are left out otherwise.
        """
        query = {"kind": kind, "state": state, "mine": mine, "tag": tag, "group": group, "q": q, "archived": archived}
        return Pages(Request("GET", "jobs", JobPage, query), most)

    @sends
    def submit(
        self,
        spec: Submission | EvaluationSpec | Mapping[str, Any],
        *,
        name: str = "",
        visibility: Visibility | None = None,
        idempotency_key: str | None = None,
    ) -> Request[Submitted]:
        """Submit an evaluation, which workers play; with several agents, one job for each, or none.

        Args:
            spec: the specification, or its fields as plain data, which only the server checks.
            name: what the job is called, if `spec` does not say.
            visibility: who may see it; by default what `spec` or the account says.
            idempotency_key: submit once however often this is called with the key within a day, also by other
                programs of the account; by default each call submits anew.
        """
        content = dict(spec) if isinstance(spec, Mapping) else spec.model_dump(mode="json", exclude_unset=True)
        if name:
            content["name"] = name
        if visibility is not None:
            content["visibility"] = visibility
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return Request("POST", "jobs", Submitted, content=content, headers=headers, keyed=True)

    @sends
    def power(
        self, spec: Submission | EvaluationSpec | Mapping[str, Any], *, difference: float | None = None
    ) -> Request[Powers]:
        """Return how small a difference of solved seeds a submission would show. Nothing is submitted.

        Args:
            difference: also say how many seeds show this one: 0.03 is 3 points.
        """
        content = dict(spec) if isinstance(spec, Mapping) else spec.model_dump(mode="json", exclude_unset=True)
        return Request("POST", "jobs/power", Powers, {"difference": difference}, content=content)

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
        query = {"env_id": env_id, "outcome": outcome, "limit": 200}
        return Pages(Request("GET", f"{place('jobs', job_id)}/episodes", JobEpisodePage, query), most)

    @iterates
    def records(self, job_id: str) -> Lines[EpisodeRecord]:
        """Iterate over all stored episodes of a job with their turns, in constant memory."""
        return Lines(Request("GET", f"{place('jobs', job_id)}/episodes.jsonl", EpisodeRecord))

    @iterates
    def export(self, job_id: str, *, progress: Progress | None = None) -> Parts[bytes]:
        """Iterate over the parts of a file with these episodes, which `gemweb replay` reads: JSON lines."""
        return Parts(Request("GET", f"{place('jobs', job_id)}/episodes.jsonl", bytes), progress)

    @sends
    def analysis(self, job_id: str, *, env_id: str | None = None) -> Request[Analysis]:
        """Return groups, distributions, failures, and the worst and the best replays of an evaluation.

        Args:
            env_id: only this environment in the distributions.
        """
        return Request("GET", f"{place('jobs', job_id)}/analysis", Analysis, {"env_id": env_id})

    @iterates
    def seeds(self, job_id: str, *, most: int | None = None) -> Pages[SeedResult]:
        """Iterate over the outcomes of all seeds of an evaluation, by environment and seed."""
        return Pages(Request("GET", f"{place('jobs', job_id)}/seeds", SeedPage, {"limit": 200}), most)

    @sends
    def exports(self, job_id: str) -> Request[Exports]:
        """Return the tables that `table` fetches, with what their columns mean, and the data that were played on."""
        return Request("GET", f"{place('jobs', job_id)}/exports", Exports)

    @iterates
    def table(
        self, job_id: str, table: Table, form: TableFormat = "parquet", *, progress: Progress | None = None
    ) -> Parts[bytes]:
        """Iterate over the parts of a file with the episodes, the turns or the scores of an evaluation."""
        return Parts(Request("GET", f"{place('jobs', job_id)}/export/{table}.{form}", bytes), progress)

    @sends
    def change(
        self,
        job_id: str,
        *,
        name: str | None = None,
        notes: str | None = None,
        tags: Sequence[str] | None = None,
        archived: bool | None = None,
    ) -> Request[Job]:
        """Change the name, the notes or the tags of your evaluation, or archive it. What is left out stays."""
        content = JobChange(name=name, notes=notes, tags=None if tags is None else [*tags], archived=archived)
        return Request("PATCH", place("jobs", job_id), Job, content=content, keyed=True)

    @sends
    def delete(self, job_id: str) -> Request[None]:
        """Delete your evaluation with its results and episodes. It must have ended; ranked ones cannot be deleted."""
        return Request("DELETE", place("jobs", job_id), NOTHING)

    @iterates
    def log(
        self,
        job_id: str,
        *,
        after: int | None = None,
        search: str | None = None,
        level: Level | None = None,
        most: int | None = None,
    ) -> Pages[LogLine]:
        """Iterate over the log of a job, in its order.

        Args:
            after: only lines after the one with this `seq`.
            search: only lines with this text.
            level: only `warnings` and worse, or only `errors`.
            most: at most so many.
        """
        query = {"cursor": after, "limit": 200, "q": search, "level": level}
        return Pages(Request("GET", f"{place('jobs', job_id)}/log", LogPage, query), most)

    @iterates
    def download_log(self, job_id: str, *, search: str | None = None, level: Level | None = None) -> Parts[bytes]:
        """Iterate over the parts of the log of a job as plain text."""
        return Parts(Request("GET", f"{place('jobs', job_id)}/log.txt", bytes, {"q": search, "level": level}), None)

    @iterates
    def events(self, job_id: str, *, after: int | None = None) -> Events[Event]:
        """Iterate over the events of an evaluation: first its history, then what happens, until it ends."""
        return events_of(place("jobs", job_id), after)

    @sends
    def cancel(self, job_id: str) -> Request[Job]:
        """Cancel a job. Finished episodes are kept. A job that has ended stays as it is."""
        return Request("POST", f"{place('jobs', job_id)}/cancel", Job, keyed=True)

    @sends
    def pause(self, job_id: str) -> Request[Job]:
        """Begin no further episode of an evaluation. Those under way are played to their end, and count."""
        return Request("POST", f"{place('jobs', job_id)}/pause", Job, keyed=True)

    @sends
    def resume(self, job_id: str) -> Request[Job]:
        """Continue an evaluation that was paused."""
        return Request("POST", f"{place('jobs', job_id)}/resume", Job, keyed=True)

    @sends
    def set_pace(self, job_id: str, *, num_envs: int | None = None, max_workers: int | None = None) -> Request[Job]:
        """Change how much of an evaluation is played at a time, from the next episode on.

        Args:
            num_envs: episodes that each worker plays at a time; None leaves it as it is.
            max_workers: the most workers that play it; 0 for as many as there are, None leaves it as it is.
        """
        content = Pace(num_envs=num_envs, max_workers=max_workers)
        return Request("POST", f"{place('jobs', job_id)}/pace", Job, content=content, keyed=True)

    @sends
    def cancel_episode(self, job_id: str, slot: int, *, counts: bool) -> Request[Job]:
        """End an episode that is under way: it counts as not solved, or is dropped."""
        address = f"{place('jobs', job_id)}/episodes/{slot}/cancel"
        return Request("POST", address, Job, content=EpisodeEnd(counts=counts), keyed=True)

    @sends
    def requeue_episode(self, job_id: str, slot: int) -> Request[Job]:
        """Play an episode again that is under way or was not counted."""
        return Request("POST", f"{place('jobs', job_id)}/episodes/{slot}/requeue", Job, keyed=True)

    @sends
    def take_seat(self, job_id: str, slot: int) -> Request[TakenSeat]:
        """Take the seat in an episode that is under way: it is dropped, and continues live with the caller in the seat.

        Ask again until the answer has an episode: its worker lets go of it at the next turn.
        """
        return Request("POST", f"{place('jobs', job_id)}/episodes/{slot}/seat", TakenSeat, keyed=True)

    @sends
    def retry(self, job_id: str, *, env_id: str = "") -> Request[Job]:
        """Play again what was not counted, also after the end; only in one environment, if it is given."""
        return Request("POST", f"{place('jobs', job_id)}/retry", Job, content=Retry(env_id=env_id), keyed=True)

    @sends
    def skip(self, job_id: str, env_id: str) -> Request[Job]:
        """Drop what is left of an environment. The results are then partial."""
        content = OneEnvironment(env_id=env_id)
        return Request("POST", f"{place('jobs', job_id)}/skip", Job, content=content, keyed=True)

    @sends
    def bring_back(self, job_id: str, env_id: str) -> Request[Job]:
        """Play the rest of an environment that was skipped."""
        content = OneEnvironment(env_id=env_id)
        return Request("POST", f"{place('jobs', job_id)}/bring-back", Job, content=content, keyed=True)

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
