"""Actions that an environment did not accept: unreadable ones, and those that its rules do not allow."""

from __future__ import annotations

from typing import NamedTuple

from gem.records import EpisodeRecord


class Faults(NamedTuple):
    """Numbers of actions of one agent."""

    actions: int
    """All actions, accepted or not."""
    unreadable: int
    """Those that the environment could not understand (the error "format")."""
    forbidden: int
    """Those that the rules do not allow (the error "rule")."""

    @property
    def unreadable_share(self) -> float | None:
        """The share of the actions that were unreadable; None without any."""
        return self.unreadable / self.actions if self.actions else None

    @property
    def forbidden_share(self) -> float | None:
        """The share of the actions that were forbidden; None without any."""
        return self.forbidden / self.actions if self.actions else None


NO_FAULTS = Faults(0, 0, 0)


def faults_of(record: EpisodeRecord) -> Faults:
    """Count the actions of the agent that the episode belongs to. With several seats, those of the others are not."""
    errors = [turn.info.get("error") for turn in record.turns if turn.seat in (None, record.seat)]
    return Faults(len(errors), errors.count("format"), errors.count("rule"))
