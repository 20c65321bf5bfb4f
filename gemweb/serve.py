"""The web process: `python -m gemweb.serve`. It runs uvicorn with the options of the site."""

import argparse
import os
import resource
import sys

import uvicorn
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from gemweb.protocols import BoundedHeaders, QuietWebSocket

APPLICATION = "gemweb.asgi:application"
GRACE_SECONDS = 10
"""Seconds for open responses after SIGTERM. Sockets are closed at once, and pages reconnect them."""
STATEMENT_SECONDS = "30"
"""The timeout of a database statement in this process."""


MAX_OPEN_FILES = 65_536
"""Every open page, stream and socket is an open file."""


def raise_open_files() -> None:
    """Let this process open as many files as the system allows; usually it begins with 1,024, for old programs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def main() -> int:
    """Serve BIND and PORT, or the given listening socket, until SIGTERM."""
    parser = argparse.ArgumentParser(prog="python -m gemweb.serve", description=__doc__)
    parser.add_argument("--fd", type=int, help="file descriptor of a listening socket to serve")
    parser.add_argument("--grace", type=int, default=GRACE_SECONDS, help="seconds for open responses after SIGTERM")
    arguments = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")
    os.environ.setdefault("STATEMENT_SECONDS", STATEMENT_SECONDS)
    try:
        proxies = settings.PROXY_ADDRESSES
    except ImproperlyConfigured as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1
    raise_open_files()
    uvicorn.run(
        APPLICATION,
        fd=arguments.fd,
        host=settings.BIND,
        port=settings.PORT,
        loop="uvloop",
        http=BoundedHeaders,
        ws=QuietWebSocket,
        ws_per_message_deflate=False,  # the same text goes to many sockets; compressing it for each costs more
        ws_max_size=4096,  # pages send nothing
        access_log=False,
        log_level="warning",
        timeout_graceful_shutdown=arguments.grace,
        forwarded_allow_ips=proxies,
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
