"""The health check of the image: exit code 0 if the web process of this machine can show pages."""

import os
import sys
import urllib.request

TIMEOUT_SECONDS = 4


def main() -> int:
    """Check `/health/ready`. It does not check workers, because restarting the web process would not help them."""
    address = f"http://127.0.0.1:{os.environ.get('PORT') or 8000}/health/ready"
    request = urllib.request.Request(address, headers={"X-Forwarded-Proto": "https"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as response:  # noqa: S310
            return 0 if response.status == 200 else 1
    except OSError:
        return 1


if __name__ == "__main__":
    sys.exit(main())
