"""Whether an environment can be probed here, and the request to do it."""

from __future__ import annotations

from django.db import IntegrityError, transaction

from apps.accounts.rate_limit import take
from apps.admission.counting import one_at_a_time
from apps.episodes.errors import NotFound, Refusal, TooFast
from apps.learnability.models import RULES, Probe
from apps.queue import enqueue
from gem import registry
from gem.errors import UnknownEnvironment
from gem.registry import EnvSpec

TASK = "learnability.probe"
PER_HOUR = 30
"""Probes that one person, or all visitors at one address, may ask for in an hour."""
MOST_OPEN = 2
"""Probes of one person that wait or are under way."""
SEVERAL_SEATS = "Several players act in it. Probe one of its variants against a fixed opponent."


class Crowded(Refusal):
    """The person has as many probes under way as one may have."""

    status = 429
    title = "Too many probes"


def spec_of(env_id: str) -> EnvSpec:
    """The environment.

    Raises:
        NotFound: it is not registered here.
    """
    try:
        return registry.spec(env_id)
    except UnknownEnvironment as error:
        raise NotFound(str(error)) from error


def why_not(spec: EnvSpec) -> str:
    """Why an environment cannot be probed here, as a sentence; empty if it can."""
    if spec.seats > 1:
        return SEVERAL_SEATS
    if spec.missing_packages() or spec.unavailable_reason():
        return f"{spec.id} cannot be played on this site now, so it cannot be probed either."
    return ""


def probe_of(spec: EnvSpec) -> Probe | None:
    """The probe of the installed version by the rules of today; None if nobody has asked for it."""
    return Probe.objects.filter(env_id=spec.id, env_version=spec.version, rules=RULES).first()


def ask(spec: EnvSpec, *, person: str, address: str) -> Probe:
    """Have a worker probe an environment. If somebody has asked for it, return that probe; a failed one begins again.

    Args:
        person: in whose queue it waits (`apps.admission.models.name_of`).
        address: the hashed IP address of a person without an account.

    Raises:
        NotFound: it cannot be probed here (`why_not`).
        TooFast, Crowded: this person has asked for much already.
    """
    if reason := why_not(spec):
        raise NotFound(reason)
    found = probe_of(spec)
    if found is not None and found.state != Probe.State.FAILED:
        return found
    whose = {"person": person, "address": address}
    try:
        with transaction.atomic():
            _check_room(person, address)
            if found is None:
                found = Probe.objects.create(env_id=spec.id, env_version=spec.version, **whose)
            else:
                Probe.objects.filter(pk=found.pk, state=Probe.State.FAILED).update(
                    state=Probe.State.WAITING, sentence="", attempt=0, ended=None, **whose
                )
            enqueue(TASK, found.pk)
    except IntegrityError:  # somebody else has asked for the same at this moment
        pass
    return Probe.objects.get(env_id=spec.id, env_version=spec.version, rules=RULES)


def _check_room(person: str, address: str) -> None:
    """Check that there is room for another probe, in the transaction that stores it."""
    one_at_a_time("probes", address or person)
    waiting = Probe.objects.waiting()
    mine = waiting.filter(address=address) if address else waiting.filter(person=person)
    if mine.count() >= MOST_OPEN:
        raise Crowded(f"{MOST_OPEN} of your probes are not done yet. Wait for one of them.")
    if wait := take(f"probe:{address or person}", PER_HOUR, PER_HOUR / 3600):
        raise TooFast(f"You can ask for {PER_HOUR} probes in an hour. Try again in {max(1, round(wait))} s.", wait)


def wake_workers() -> int:
    """Send the messages about probes that wait and that no worker has. Returns their number."""
    keys = list(Probe.objects.waiting().free().values_list("pk", flat=True))
    for key in keys:
        enqueue(TASK, key)
    return len(keys)
