"""Untrusted Python, run without trusting it.

    import gem.sandbox

    result = gem.sandbox.run("print(6 * 7)")
    result.status, result.stdout            # "ok", "42\\n"

There is no way to run code unconfined: a machine that can confine it in none of the ways tried (see `level`) gets
`SandboxUnavailable`. docs/sandbox.md says what the levels are and what they do not protect from.
"""

from __future__ import annotations

from gem.sandbox.limits import Level, Limits, Result, Status

__all__ = ["Level", "Limits", "Result", "Status", "level", "run"]


def run(code: str, *, stdin: str = "", limits: Limits | None = None) -> Result:
    """Run a program as `python main.py` would, confined, with `stdin` as its input.

    Packages installed beside the engine can be imported; numpy, sympy and pandas are imported beforehand. Every run
    starts anew: an empty working directory, the same random numbers, nothing left of the runs before.

    It may be called from many threads and processes at once; each process holds as many sandboxes as it has cores.

    Raises:
        SandboxUnavailable: if this machine cannot confine code; the message says why and what to do.
    """
    from gem.sandbox.pool import shared  # noqa: PLC0415 (starts nothing, but takes time to import)

    return shared().run(code, stdin=stdin, limits=limits)


def level() -> Level:
    """How code is confined on this machine: the strongest way that works, tried once by each process.

    `full`: namespaces, Landlock and a filter of system calls. `landlock`: the last two. `disabled`: code is not run.
    """
    from gem.sandbox.levels import choice  # noqa: PLC0415 (see run)

    return choice().level
