"""GEM's functions that run a program, in our sandbox. In GEM they are `gem.utils.sandbox`."""

from __future__ import annotations

from gem import sandbox
from gem.sandbox.limits import Limits

DEFAULT_TIMEOUT = 10
"""Seconds that a program may run."""
ERROR_MSG_PREFIX = "Failed to execute program: "
"""What stands before the reason why a program was stopped."""


def run_python(
    code: str,
    sandbox_type: str = "none",  # noqa: ARG001 (GEM's argument; the safest sandbox of the machine is always taken)
    stdin: str | None = None,
    timeout: float = DEFAULT_TIMEOUT,
) -> tuple[bool, str, str]:
    """Run a program; return whether it ended without an error, its output and its errors.

    Raises:
        SandboxUnavailable: if this machine cannot confine programs.
    """
    result = sandbox.run(code, stdin=stdin or "", limits=Limits(wall_seconds=timeout))
    reason = "" if result.status in ("ok", "error") else f"{ERROR_MSG_PREFIX}{result.status}\n"
    return result.ok, result.stdout, reason + result.stderr


def check_forbidden_imports(code: str) -> bool:  # noqa: ARG001 (GEM's argument)
    """Whether a program must not run because of what it imports; never, because the sandbox confines all programs."""
    return False
