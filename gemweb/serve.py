"""The web process: `python -m gemweb.serve`. uvicorn, with the options that the site needs wherever it runs."""

import argparse
import os
import sys

import uvicorn
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

APPLICATION = "gemweb.asgi:application"
GRACE_SECONDS = 10
"""How long answers that are under way may take after SIGTERM; sockets are closed at once, and pages open them again."""
STATEMENT_SECONDS = "30"
"""No page waits longer for one answer of the database, and no query that nobody waits for burdens it for hours."""


def main() -> int:
    """Serve BIND and PORT, or the listening socket that was handed over, until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m gemweb.serve", description=__doc__)
    parser.add_argument("--fd", type=int, help="serve this listening socket")
    parser.add_argument("--grace", type=int, default=GRACE_SECONDS, help="seconds for answers that are under way")
    given = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")
    os.environ.setdefault("STATEMENT_SECONDS", STATEMENT_SECONDS)
    try:
        proxies = settings.PROXY_ADDRESSES
    except ImproperlyConfigured as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1
    uvicorn.run(
        APPLICATION,
        fd=given.fd,
        host=settings.BIND,
        port=settings.PORT,
        loop="uvloop",
        http="httptools",
        ws="websockets-sansio",
        ws_per_message_deflate=False,  # one text goes to all sockets of a page; packing it for each would cost more
        ws_max_size=4096,  # pages send nothing
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=given.grace,
        forwarded_allow_ips=proxies,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
