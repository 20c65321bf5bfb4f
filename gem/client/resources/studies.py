"""Studies: starting one, following it, and fetching its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from gem.client.request import NOTHING, Pages, Parts, Request, Resource, iterates, sends
from gem.client.resources.following import place
from gem.client.schemas import NewStudy, Study, StudyEstimate, StudyPage, StudyRun, StudyRunPage, StudySummary
from gem.client.schemas.base import Visibility

R_co = TypeVar("R_co", covariant=True)


class Studies(Resource[R_co]):
    """Studies of training: many small trainings that answer one question."""

    @iterates
    def list(self, *, mine: bool = False, most: int | None = None) -> Pages[StudySummary]:
        """Iterate over the studies that people have started, the newest first."""
        return Pages(Request("GET", "studies", StudyPage, {"mine": mine or None}), most)

    @sends
    def start(
        self,
        study: str = "",
        plan: Mapping[str, Any] | None = None,
        *,
        seeds: int | None = None,
        environments: Sequence[str] = (),
        title: str = "",
        visibility: Visibility | None = None,
        keeps_policies: bool = False,
        reuses_results: bool = True,
        idempotency_key: str | None = None,
    ) -> Request[Study]:
        """Start a study that comes with the site, by its name, or a plan.

        Args:
            seeds: trainings of each variant in each environment; by default what the plan says.
            environments: only these; by default all.
            keeps_policies: make an agent of the last policy of each compared run.
            reuses_results: do not make runs whose result comes with the site.
            idempotency_key: as with `Jobs.submit`.
        """
        content = _content(study, plan, seeds, environments, reuses_results=reuses_results)
        content = content.model_copy(
            update={"title": title, "visibility": visibility, "keeps_policies": keeps_policies}
        )
        headers = {"Idempotency-Key": idempotency_key} if idempotency_key else {}
        return Request("POST", "studies", Study, content=content, headers=headers, keyed=True)

    @sends
    def estimate(
        self,
        study: str = "",
        plan: Mapping[str, Any] | None = None,
        *,
        seeds: int | None = None,
        environments: Sequence[str] = (),
        reuses_results: bool = True,
    ) -> Request[StudyEstimate]:
        """Return what a study would take. Nothing is started."""
        content = _content(study, plan, seeds, environments, reuses_results=reuses_results)
        return Request("POST", "studies/estimate", StudyEstimate, content=content, keyed=True)

    @sends
    def get(self, study_id: str) -> Request[Study]:
        """Return one study, with what its results allow to say."""
        return Request("GET", place("studies", study_id), Study)

    @iterates
    def runs(self, study_id: str) -> Pages[StudyRun]:
        """Iterate over the runs of a study, in the order in which they are made."""
        return Pages(Request("GET", f"{place('studies', study_id)}/runs", StudyRunPage))

    @iterates
    def results(self, study_id: str) -> Parts[bytes]:
        """Iterate over the parts of an archive with the plan and the results, as the repository keeps them."""
        return Parts(Request("GET", f"{place('studies', study_id)}/results.zip", bytes))

    @sends
    def pause(self, study_id: str) -> Request[Study]:
        """Stop making runs. One that is under way continues from its checkpoint after `resume`."""
        return Request("POST", f"{place('studies', study_id)}/pause", Study, keyed=True)

    @sends
    def resume(self, study_id: str) -> Request[Study]:
        """Go on with a paused, cancelled or failed study. Runs that have failed are tried again."""
        return Request("POST", f"{place('studies', study_id)}/resume", Study, keyed=True)

    @sends
    def cancel(self, study_id: str) -> Request[Study]:
        """End a study. What was made stays, and it can be resumed."""
        return Request("POST", f"{place('studies', study_id)}/cancel", Study, keyed=True)

    @sends
    def delete(self, study_id: str) -> Request[None]:
        """Delete a study that has ended, with its results."""
        return Request("DELETE", place("studies", study_id), NOTHING)


def _content(
    study: str,
    plan: Mapping[str, Any] | None,
    seeds: int | None,
    environments: Sequence[str],
    *,
    reuses_results: bool,
) -> NewStudy:
    return NewStudy(
        study=study, plan=dict(plan or {}), seeds=seeds, environments=[*environments], reuses_results=reuses_results
    )
