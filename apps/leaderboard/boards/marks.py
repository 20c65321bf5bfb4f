"""What maintainers say of rows: flag one, withdraw it, restore it. Everything is in the log of decisions.

The log is the table `moderation.Decision`, which the database lets nobody change.
"""

from __future__ import annotations

from django.db import transaction

from apps.accounts.models import User
from apps.leaderboard.boards.waking import wake
from apps.leaderboard.models import Score
from apps.moderation.models import Decision

KIND = "row"
"""The kind of content in the log."""
VERBS = {
    "flag": (Decision.Verb.FLAG, Score.Mark.FLAGGED),
    "withdraw": (Decision.Verb.WITHDRAW, Score.Mark.WITHDRAWN),
    "restore": (Decision.Verb.RESTORE, ""),
}
"""What a maintainer can do with a row, and the mark that it has then."""
MAX_REASON = 1000


class NoReason(Exception):
    """A row is only marked with a reason."""


@transaction.atomic
def mark(score: Score, verb: str, reason: str, by: User) -> None:
    """Flag a row, withdraw it, or take either back. Its ranking is computed anew.

    Args:
        score: the overall score of the row.
        verb: one of `VERBS`.
        reason: what everybody reads beside the row and in the log.

    Raises:
        NoReason: there is none.
    """
    text = reason.strip()[:MAX_REASON]
    if not text:
        raise NoReason
    decided, value = VERBS[verb]
    Score.objects.filter(job=score.job_id, env_id="").update(mark=value, mark_reason=text if value else "")
    Decision.objects.create(verb=decided, kind=KIND, key=str(score.pk), reason=text, by=by.get_username())
    wake()
