"""Places at which a test can kill a worker: the process that runs with FAIL_AT=<name> kills itself there."""

import os
import signal

_FAIL_AT = os.environ.get("FAIL_AT")


def failpoint(name: str) -> None:
    """Kill this process, without any clean-up, if the environment variable FAIL_AT names this place."""
    if name == _FAIL_AT:
        os.kill(os.getpid(), signal.SIGKILL)
