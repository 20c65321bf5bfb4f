"""Runs untrusted Python in a sandbox.

    import gem.sandbox

    result = gem.sandbox.run("print(6 * 7)")
    result.status, result.stdout            # "ok", "42\\n"

There is no way to run code unconfined: on a machine where no level of confinement works (see `level`),
`SandboxUnavailable` is raised. docs/sandbox.md describes the levels and what they do not protect from.

Host side: `pool` hands jobs to sandboxes (`backends`: `slot`, or `gvisor` over `one_shot`), `levels` finds the level
that works here, `job` is a job and collects its output, `shell` (or `containers`) runs commands of a terminal, and
`process_confinement` confines MCP servers, and with `policy_confinement` the processes that play uploaded policies. The
package `inside` runs in the sandboxes. Begin with `pool`.
"""

from __future__ import annotations

from gem.sandbox.limits import Level, Limits, Result, Status

__all__ = ["Level", "Limits", "Result", "Status", "level", "run"]


def run(code: str, *, stdin: str = "", limits: Limits | None = None) -> Result:
    """Run a program as `python main.py` would, confined, with `stdin` as its input.

    Packages installed beside the engine can be imported; numpy, sympy and pandas are imported beforehand. Runs do not
    affect each other: each starts with an empty working directory and the same random seed.

    This function may be called from many threads and processes at once; each process has as many sandboxes as cores.

    Raises:
        SandboxUnavailable: if this machine cannot confine code; the message says why and what to do.
    """
    from gem.sandbox.pool import shared  # noqa: PLC0415 (importing it takes time)

    return shared().run(code, stdin=stdin, limits=limits)


def level() -> Level:
    """How code is confined on this machine: the first level that works, tried once by each process.

    `full`: namespaces, Landlock and a system call filter. `landlock`: the last two. `runsc`: a container of gVisor.
    `disabled`: code is not run.
    """
    from gem.sandbox.levels import choice  # noqa: PLC0415 (as in `run`)

    return choice().level
