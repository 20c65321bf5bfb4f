"""The probes that a person has asked for, when their account is deleted. They show nobody's name."""

from __future__ import annotations

from collections.abc import Iterator

from apps.accounts.models import User
from apps.accounts.personal_data import PersonalData
from apps.admission.models import name_of
from apps.learnability.models import Probe
from apps.leases import patient_transaction


def _erase(user: User) -> Iterator[None]:
    with patient_transaction():
        count = Probe.objects.filter(person=name_of(user.pk)).update(person="")
    if count:
        yield


PART = PersonalData(erase=_erase)
