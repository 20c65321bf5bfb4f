"""Exit code 0 when the web process of this machine can show pages: the health check of the image."""

import os
import sys
import urllib.request

TIMEOUT_SECONDS = 4


def main() -> int:
    """Ask as a proxy would, and not after workers: starting the web process again would bring none back."""
    address = f"http://127.0.0.1:{os.environ.get('PORT') or 8000}/health/ready"
    request = urllib.request.Request(address, headers={"X-Forwarded-Proto": "https"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:  # noqa: S310
            return 0 if answer.status == 200 else 1
    except OSError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
