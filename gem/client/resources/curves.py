"""Trainings that run elsewhere: sending their curves, and reading them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from gem.client.request import NOTHING, Pages, Request, Resource, iterates, sends
from gem.client.resources.following import place
from gem.client.schemas import (
    EntriesStored,
    NewEntries,
    NewEntry,
    NewOutsideTraining,
    OutsideEnd,
    OutsidePoints,
    OutsideTraining,
    OutsideTrainingPage,
)
from gem.client.schemas.base import Visibility

R_co = TypeVar("R_co", covariant=True)


class Curves(Resource[R_co]):
    """Trainings elsewhere, whose programs send entries while they run."""

    @iterates
    def list(self, *, mine: bool = False, most: int | None = None) -> Pages[OutsideTraining]:
        """Iterate over trainings elsewhere, the newest first."""
        return Pages(Request("GET", "curves", OutsideTrainingPage, {"mine": mine or None}), most)

    @sends
    def begin(
        self,
        project: str,
        key: str,
        *,
        name: str = "",
        group: str = "",
        config: Mapping[str, Any] | None = None,
        visibility: Visibility | None = None,
    ) -> Request[OutsideTraining]:
        """Begin a training, or continue with the one that has this key in this project."""
        content = NewOutsideTraining(
            project=project, key=key, name=name, group=group, config=dict(config or {}), visibility=visibility
        )
        return Request("POST", "curves", OutsideTraining, content=content, keyed=True)

    @sends
    def log(self, training_id: str, entries: Iterable[NewEntry]) -> Request[EntriesStored]:
        """Store entries, at most 2,000 at a time. Those that were sent before are stored once.

        Example: `client.curves.log(training.id, [NewEntry(step=1, metrics={"reward": 0.5})])`.
        """
        content = NewEntries(entries=[*entries])
        return Request("POST", f"{place('curves', training_id)}/entries", EntriesStored, content=content, keyed=True)

    @sends
    def end(
        self, training_id: str, state: Literal["finished", "crashed"] = "finished", reason: str = ""
    ) -> Request[OutsideTraining]:
        """Say how a training ended. Entries that come later open it again."""
        content = OutsideEnd(state=state, reason=reason)
        return Request("POST", f"{place('curves', training_id)}/end", OutsideTraining, content=content, keyed=True)

    @sends
    def get(self, training_id: str) -> Request[OutsideTraining]:
        """Return one training."""
        return Request("GET", place("curves", training_id), OutsideTraining)

    @sends
    def points(self, training_id: str, metrics: Sequence[str] = (), *, after: int = 0) -> Request[OutsidePoints]:
        """Return the points that arrived after an entry.

        Args:
            metrics: their names; by default the first ones.
        """
        query = {"metric": [*metrics] or None, "after": after or None}
        return Request("GET", f"{place('curves', training_id)}/points", OutsidePoints, query)

    @sends
    def delete(self, training_id: str) -> Request[None]:
        """Delete a training with all that it has sent."""
        return Request("DELETE", place("curves", training_id), NOTHING)
