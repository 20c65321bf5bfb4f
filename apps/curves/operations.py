"""What owners do with their trainings elsewhere, besides sending entries: say that they ended, and delete them."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import connection, transaction

from apps.curves.models import OutsideTraining
from apps.curves.names import KNOWN
from apps.curves.recording import TOPIC, CurvesRefused
from apps.episodes.text import storable
from apps.live import publish, recheck_access
from apps.visibility import Visibility

MAX_REASON = 2_000
DELETED_AT_A_TIME = 20_000
ENDS = (OutsideTraining.State.FINISHED, OutsideTraining.State.CRASHED)


@transaction.atomic
def end(training: OutsideTraining, state: str, reason: str = "") -> None:
    """Note that a training has finished or crashed, as its program says. Entries that come later open it again.

    Raises:
        CurvesRefused: if `state` is neither.
    """
    if state not in ENDS:
        raise CurvesRefused("A training elsewhere ends as finished or as crashed. Nothing was changed.")
    row = OutsideTraining.objects.select_for_update(no_key=True).get(pk=training.pk)
    row.state, row.reason, row.seq = state, storable(reason)[:MAX_REASON], row.seq + 1
    row.save(update_fields=["state", "reason", "seq"])
    publish(f"{TOPIC}:{row.pk}", row.seq)


def set_visibility(training: OutsideTraining, visibility: Visibility) -> None:
    """Choose who may see a training."""
    OutsideTraining.objects.filter(pk=training.pk).update(visibility=visibility)
    recheck_access(f"{TOPIC}:{training.pk}")


def set_roles(training: OutsideTraining, roles: Mapping[str, str]) -> None:
    """Choose which metrics are compared with which of our trainings'.

    Raises:
        CurvesRefused: if there is no such metric.
    """
    chosen = {ours: theirs for ours, theirs in roles.items() if theirs}
    if any(ours not in KNOWN for ours in chosen):
        raise CurvesRefused("Trainings of this site have no such metric. Nothing was changed.")
    missing = [theirs for theirs in chosen.values() if theirs not in training.latest]
    if missing:
        raise CurvesRefused(f"This training has no metric “{missing[0][:80]}”. Nothing was changed.")
    OutsideTraining.objects.filter(pk=training.pk).update(roles=chosen)


def delete(training: OutsideTraining) -> None:
    """Delete a training with all that it has sent, its many entries in several transactions."""
    with connection.cursor() as cursor:
        while True:
            cursor.execute(
                "DELETE FROM curves_entry WHERE training_id = %s AND number IN "
                "(SELECT number FROM curves_entry WHERE training_id = %s LIMIT %s)",
                [training.pk, training.pk, DELETED_AT_A_TIME],
            )
            if cursor.rowcount < DELETED_AT_A_TIME:
                break
    OutsideTraining.objects.filter(pk=training.pk).delete()
    recheck_access(f"{TOPIC}:{training.pk}")
