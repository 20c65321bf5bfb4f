"""How the jobs of a submission are filed: what they are called, how they are found, and who sees them."""

from __future__ import annotations

from dataclasses import dataclass

from gem.evaluation.submission import Submission

PRIORITIES = {"low": -1, "normal": 0, "high": 1}
"""The priorities as people write them, and as `Job.priority` has them."""


@dataclass(frozen=True, slots=True)
class Filing:
    """What does not affect the episodes of a job."""

    name: str = ""
    notes: str = ""
    tags: tuple[str, ...] = ()
    priority: int = 0
    visibility: str = ""
    """Who may see the jobs; if empty, what the account of their owner says."""

    @classmethod
    def of(cls, submission: Submission) -> Filing:
        """What a submission says about it."""
        return cls(
            name=submission.name.strip(),
            notes=submission.notes.strip(),
            tags=submission.tags,
            priority=PRIORITIES[submission.priority],
            visibility=submission.visibility or "",
        )


def word_of(priority: int) -> str:
    """A priority as people write it."""
    return next(word for word, number in PRIORITIES.items() if number == priority)
