"""Test messages to the server of an endpoint agent, from its form and through the API. Nothing is saved."""

from __future__ import annotations

import asyncio

from django.conf import settings
from django.db import connection
from pydantic import SecretStr

from apps.accounts.limits import MINUTE, TooOften
from apps.accounts.models import User
from apps.accounts.rate_limit import take
from apps.agents import players
from apps.agents.models import Endpoint
from apps.agents.seal import unseal
from gem.agents.endpoint import EndpointSpec, Trial, try_out
from gem.net.http import origin

TRIAL_SECONDS = 30.0


def check_trial(user: User) -> None:
    """Count a test message of this person.

    Raises:
        TooOften: above `ENDPOINT_TRIALS_PER_MINUTE`.
    """
    size = settings.ENDPOINT_TRIALS_PER_MINUTE
    wait = take(f"trial:user:{user.pk}", size, size / MINUTE)
    if wait > 0:
        sentence = f"You have sent {size} test messages within a minute. Try again in {max(1, round(wait))} s."
        raise TooOften(sentence, wait)


def key_for(spec: EndpointSpec, entered: SecretStr, stored: Endpoint | None) -> SecretStr | None:
    """The key that was entered; otherwise the stored one, if it was stored for the same server.

    Raises:
        CannotUnseal: the stored one cannot be read any more.
    """
    if entered.get_secret_value() or stored is None:
        return entered
    return unseal(stored.sealed_key) if origin(str(stored.spec["url"])) == origin(spec.url) else None


def try_once(spec: EndpointSpec, key: SecretStr | None) -> Trial:
    """Send one message, and wait for the answer."""
    if not connection.in_atomic_block:
        connection.close()  # do not hold a connection of the pool while a slow server answers
    spec = players.within_limits(spec)
    # In an event loop of this thread, so that a large response does not block the loop of the web process.
    return asyncio.run(try_out(spec, key, guard=players.guard(), seconds=TRIAL_SECONDS))
