"""Places at which a test can end or freeze a worker.

The process that runs with FAIL_AT=<name> kills itself there, and with FREEZE_AT=<name> it stops, as a process does that
a debugger, a hypervisor or a full swap holds.
"""

import os
import signal

_SIGNALS = {os.environ.get("FAIL_AT"): signal.SIGKILL, os.environ.get("FREEZE_AT"): signal.SIGSTOP}


def failpoint(name: str) -> None:
    """Kill or stop this process, without any clean-up, if the environment names this place."""
    if name in _SIGNALS:
        os.kill(os.getpid(), _SIGNALS[name])
