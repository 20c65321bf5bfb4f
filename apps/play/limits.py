"""The rate limit on starting episodes.

Starting an episode costs a database row and a reset. The limit is meant for scripts without an account, not for people.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest

from apps.accounts import visitors
from apps.accounts.rate_limit import take
from apps.episodes.errors import TooFast


def check_start(request: HttpRequest) -> None:
    """Count a start by this person.

    Raises:
        TooFast: the limit `STARTS_PER_MINUTE` is reached; people with an account have four times as many.
    """
    per_minute = settings.STARTS_PER_MINUTE
    if request.user.is_authenticated:
        buckets = [(f"start:user:{request.user.pk}", 4 * per_minute)]
    else:
        # Visitors can discard their key, so the IP address counts too. A whole class may share one.
        network = visitors.network(request)
        buckets = [(f"start:visitor:{visitors.key(request)}", per_minute), (f"start:from:{network}", 4 * per_minute)]
    for bucket, size in buckets:
        wait = take(bucket, size, size / 60)
        if wait > 0:
            raise TooFast(
                f"You can start {size} episodes per minute and have reached that limit. Nothing was started. "
                f"Try again in {max(1, round(wait))} s.",
                wait,
            )
