"""The measurements that a person has asked for, when their account is deleted. They show nobody's name."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData
from apps.admission.models import name_of
from apps.leases import patient_transaction
from apps.lens.models import Truth


def _stop(user: User) -> None:
    """Stop what still runs; what was measured stays with its episode."""
    with patient_transaction():
        Truth.objects.waiting().filter(person=name_of(user.pk)).release(state=Truth.State.STOPPED)


def _erase(user: User) -> Iterator[None]:
    with patient_transaction():
        count = Truth.objects.filter(person=name_of(user.pk)).update(person="")
    if count:
        yield


PART = PersonalData(stop=_stop, erase=_erase)
