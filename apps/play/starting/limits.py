"""The rate limits on starting episodes, on undoing turns and on hints.

Starting an episode costs a database row and a reset, undoing a turn copies all turns before it, and a hint may cost a
search of half a second. The limits are meant for scripts, not for people.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.conf import settings
from django.http import HttpRequest

from apps.accounts import visitors
from apps.accounts.rate_limit import take
from apps.episodes.errors import TooFast

HINTS_PER_MINUTE = 30
"""For people without an account; people with one have four times as many."""
UNDOS_PER_START = 3
"""People may undo as many turns as they may start episodes, times this."""


TOO_MANY_STARTS = "You can start {size} episodes per minute and have reached that limit. Nothing was started."


def check_start(request: HttpRequest) -> None:
    """Count a start by this person.

    Raises:
        TooFast: the limit `STARTS_PER_MINUTE` is reached; people with an account have four times as many.
    """
    _count("start", request, settings.STARTS_PER_MINUTE, TOO_MANY_STARTS)


def check_start_from(network: str) -> None:
    """Count a start by somebody at this address who has no account and sends no request of Django's.

    Raises:
        TooFast: the visitors there have reached their limit, which is four times `STARTS_PER_MINUTE`.
    """
    _take([_of_network("start", network, settings.STARTS_PER_MINUTE)], TOO_MANY_STARTS)


def check_undo(request: HttpRequest) -> None:
    """Count a turn that this person undoes.

    Raises:
        TooFast: the limit, `UNDOS_PER_START` times that of `check_start`, is reached.
    """
    sentence = "You can undo {size} turns per minute and have reached that limit. Nothing was undone."
    _count("undo", request, UNDOS_PER_START * settings.STARTS_PER_MINUTE, sentence)


def check_hint(request: HttpRequest) -> None:
    """Count a hint that this person asks for.

    Raises:
        TooFast: the limit `HINTS_PER_MINUTE` is reached; people with an account have four times as many.
    """
    _count("hint", request, HINTS_PER_MINUTE, "You can ask for {size} hints per minute and have reached that limit.")


def _count(kind: str, request: HttpRequest, per_minute: int, sentence: str) -> None:
    """Take a token for this person; without one, raise `TooFast` with the sentence, into which `{size}` is filled."""
    if request.user.is_authenticated:
        _take([(f"{kind}:user:{request.user.pk}", 4 * per_minute)], sentence)
        return
    # Visitors can discard their key, so the IP address counts too. A whole class may share one.
    of_visitor = (f"{kind}:visitor:{visitors.key(request)}", per_minute)
    _take([of_visitor, _of_network(kind, visitors.network(request), per_minute)], sentence)


def _of_network(kind: str, network: str, per_minute: int) -> tuple[str, int]:
    """The bucket of all visitors at an address, and its size."""
    return f"{kind}:from:{network}", 4 * per_minute


def _take(buckets: Sequence[tuple[str, int]], sentence: str) -> None:
    for bucket, size in buckets:
        wait = take(bucket, size, size / 60)
        if wait > 0:
            raise TooFast(f"{sentence.format(size=size)} Try again in {max(1, round(wait))} s.", wait)
