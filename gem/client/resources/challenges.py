"""Results from elsewhere: challenges, and rows that are only reported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from gem.client.effects import FileToSend, Progress
from gem.client.request import NOTHING, Pages, Request, Resource, iterates, sends
from gem.client.resources.following import place
from gem.client.schemas import (
    Challenge,
    ChallengePage,
    DeclaredKind,
    NewChallenge,
    NewReportedRow,
    ReportedNumbers,
    ReportedRow,
    ReportedRows,
)
from gem.client.schemas.base import Visibility

R_co = TypeVar("R_co", covariant=True)


class Challenges(Resource[R_co]):
    """Seeds that are drawn for the account, and the episodes that are sent for them."""

    @sends
    def draw(
        self,
        benchmark: str,
        agent: str,
        kind: DeclaredKind,
        *,
        tools: Sequence[str] = (),
        max_tool_uses: int | None = None,
        tool_format: Literal["tags", "native"] | None = None,
        visibility: Visibility | None = None,
    ) -> Request[Challenge]:
        """Draw the seeds of a challenge. It counts as a try from then on.

        Args:
            benchmark: the name of a benchmark with hidden seeds.
            agent: the name that the row will have.
            kind: what the agent is: `model`, `program` or `person`.
        """
        content = NewChallenge(
            agent=agent,
            kind=kind,
            tools=[*tools],
            max_tool_uses=max_tool_uses,
            tool_format=tool_format,
            visibility=visibility,
        )
        return Request("POST", f"{place('benchmarks', benchmark)}/challenges", Challenge, content=content, keyed=True)

    @iterates
    def list(self, *, most: int | None = None) -> Pages[Challenge]:
        """Iterate over the challenges of the account, the newest first."""
        return Pages(Request("GET", "challenges", ChallengePage), most)

    @sends
    def get(self, challenge_id: str) -> Request[Challenge]:
        """Return one challenge of the account."""
        return Request("GET", place("challenges", challenge_id), Challenge)

    @sends
    def document(self, challenge_id: str) -> Request[bytes]:
        """Return the file that `gemweb eval --challenge` plays: the environments and their seeds, as JSON."""
        return Request("GET", f"{place('challenges', challenge_id)}/challenge.json", bytes)

    @sends
    def push(self, challenge_id: str, path: Path | str, *, progress: Progress | None = None) -> Request[Challenge]:
        """Send the episodes of a challenge.

        Args:
            path: a file with one episode on each line, as `gemweb eval --out` writes it, packed with gzip or not.
            progress: called with the bytes sent so far and those of the whole file.
        """
        file = FileToSend(Path(path), {"challenge": challenge_id}, progress)
        return Request("POST", "challenges/episodes", Challenge, file=file, keyed=True)

    @sends
    def report(
        self,
        benchmark: str,
        agent: str,
        kind: DeclaredKind,
        environments: Sequence[Mapping[str, Any]],
        *,
        tools: str = "",
        link: str = "",
        notes: str = "",
        visibility: Visibility | None = None,
    ) -> Request[ReportedRow]:
        """Report numbers from elsewhere. Nothing proves them, and they are ranked apart.

        Args:
            environments: of each environment of the benchmark: `env_id`, `mean_return`, `episodes`, `success_rate`.
        """
        content = NewReportedRow(
            agent=agent,
            kind=kind,
            environments=[ReportedNumbers.model_validate(each) for each in environments],
            tools=tools,
            link=link,
            notes=notes,
            visibility=visibility,
        )
        return Request("POST", f"{place('benchmarks', benchmark)}/reported", ReportedRow, content=content, keyed=True)

    @sends
    def reported(self, benchmark: str) -> Request[ReportedRows]:
        """Return the reported rows of a benchmark, the best first."""
        return Request("GET", f"{place('benchmarks', benchmark)}/reported", ReportedRows)

    @sends
    def delete_reported(self, row_id: str) -> Request[None]:
        """Delete a reported row of the account."""
        return Request("DELETE", place("reported", row_id), NOTHING)
