"""Evaluations that other programs have made: reporting them, and reading what was reported."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from gem.client.effects import FileToSend, Progress
from gem.client.request import NOTHING, Pages, Request, Resource, iterates, sends
from gem.client.resources.following import place
from gem.client.schemas import (
    ReportedEpisode,
    ReportedEpisodePage,
    ReportedEvaluation,
    ReportedEvaluationPage,
)
from gem.client.schemas.base import Visibility

R_co = TypeVar("R_co", covariant=True)


class Reported(Resource[R_co]):
    """Reported evaluations, of which nothing is verified."""

    @iterates
    def list(self, *, mine: bool = False, most: int | None = None) -> Pages[ReportedEvaluation]:
        """Iterate over reported evaluations, the newest first."""
        return Pages(Request("GET", "evaluations-elsewhere", ReportedEvaluationPage, {"mine": mine or None}), most)

    @sends
    def send(
        self,
        path: str | Path,
        *,
        name: str = "",
        visibility: Visibility | None = None,
        progress: Progress | None = None,
    ) -> Request[ReportedEvaluation]:
        """Send a log of Inspect, rows of verifiers or episodes as JSON lines. A worker reads it.

        Args:
            name: what pages call it until the file says it.
        """
        fields = {"name": name or Path(path).name, "visibility": visibility or ""}
        file = FileToSend(Path(path), fields=fields, progress=progress)
        return Request("POST", "evaluations-elsewhere", ReportedEvaluation, file=file)

    @sends
    def get(self, evaluation_id: str) -> Request[ReportedEvaluation]:
        """Return one reported evaluation."""
        return Request("GET", place("evaluations-elsewhere", evaluation_id), ReportedEvaluation)

    @iterates
    def episodes(self, evaluation_id: str, *, most: int | None = None) -> Pages[ReportedEpisode]:
        """Iterate over the episodes of a reported evaluation, with their transcripts."""
        address = f"{place('evaluations-elsewhere', evaluation_id)}/episodes"
        return Pages(Request("GET", address, ReportedEpisodePage), most)

    @sends
    def delete(self, evaluation_id: str) -> Request[None]:
        """Delete a reported evaluation with its episodes."""
        return Request("DELETE", place("evaluations-elsewhere", evaluation_id), NOTHING)
