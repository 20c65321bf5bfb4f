"""One sandbox in gVisor (https://gvisor.dev): a kernel of its own in user space, a container for every run.

`runsc`, gVisor's runtime, is asked for a container without network, with a read-only root that holds the interpreter,
its packages and the system's libraries. Inside, the process limits itself as at the other levels. The container of the
next run is started while nobody waits for it.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from gem.errors import SandboxUnavailable
from gem.sandbox import layout
from gem.sandbox.collect import Job
from gem.sandbox.inside.settings import HOME
from gem.sandbox.limits import Limits, Result
from gem.sandbox.one_shot import OneShotProcess
from gem.sandbox.slot import HERE, with_parts

COMMAND = "import sys; sys.path.insert(0, sys.argv.pop()); from inside.alone import main; main()"
RUNSC = "GEM_RUNSC"
"""Names the program, where it is not on the PATH."""
WORK, CODE = HOME, "/opt/gem"
"""In the container: where the job may write, and where our part of it is."""
NOBODY = 65534
DEFAULT_FILES = Limits().files_bytes


def program() -> str | None:
    """Where `runsc` is; None if it is not installed."""
    return shutil.which(os.environ.get(RUNSC) or "runsc")


class GvisorSlot:
    """Starts containers and hands each one job; not for several threads at once. As `gem.sandbox.slot.Slot`.

    Args:
        preload: modules that a container imports before its job arrives.

    Raises:
        SandboxUnavailable: if there is no runsc, or no container comes up.
    """

    def __init__(self, preload: tuple[str, ...] = ()) -> None:
        self.preload = preload
        self.jobs = 0
        found = program()
        if found is None:
            raise SandboxUnavailable("runsc is not installed")
        self._runsc = found
        self._waiting: OneShotProcess | None = self._start()

    @property
    def pid(self) -> int:
        """Of the waiting container's first process."""
        if self._waiting is None:
            raise SandboxUnavailable("This sandbox has been closed.")
        return self._waiting.pid

    def has(self, modules: frozenset[str]) -> bool:
        """Whether all of `modules` are imported beforehand."""
        return modules <= set(self.preload)

    def import_also(self, modules: frozenset[str]) -> None:
        """Have the containers to come import more."""
        self.preload = (*self.preload, *sorted(modules))
        self._end(self._waiting)
        self._waiting = self._start()

    def execute(self, job: Job) -> Result:
        """Run one job to its end.

        Raises:
            SlotDied: if the container goes away in the middle of the job; it may be given to another.
            SandboxUnavailable: if the process could not be confined.
        """
        self.jobs += 1
        container, self._waiting = self._waiting, None
        if container is None or job.limits.files_bytes != DEFAULT_FILES:
            self._end(container)
            container = self._start(job.limits.files_bytes)
        try:
            return container.run(job)
        finally:
            self._end(container)
            self._waiting = self._start()

    def close(self) -> None:
        """End all containers; safe to call twice."""
        self._end(self._waiting)
        self._waiting = None

    def forget(self) -> None:
        """In a process forked from ours: let go without ending what is not ours to end."""
        if self._waiting is not None:
            self._waiting.forget()

    def _end(self, container: OneShotProcess | None) -> None:
        if container is not None:
            container.end()

    def _start(self, files: int = DEFAULT_FILES) -> OneShotProcess:
        """A container that comes up while we do something else."""
        bundle = tempfile.mkdtemp(prefix="gem-gvisor-")
        settings = {"modules": layout.modules(), "preload": with_parts(self.preload), "work": WORK}
        python = [os.path.realpath(sys.executable), "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND]
        make_bundle(bundle, [*python, json.dumps(settings), CODE], files)
        return OneShotProcess(command_line(self._runsc, bundle), "runsc", bundle)


def command_line(runsc: str, bundle: str) -> list[str]:
    """How gVisor's runtime is asked for a container: no network, no cgroups (the limits are the process's own)."""
    flags = ["-network=none", "-ignore-cgroups", f"-root={bundle}/state"]
    if os.geteuid() != 0:
        flags.append("-rootless")
    return [runsc, *flags, "run", f"-bundle={bundle}", os.path.basename(bundle)]


def make_bundle(bundle: str, argv: list[str], files: int) -> None:
    """A folder with a container's description (OCI runtime specification 1.0) and its root."""
    root = f"{bundle}/root"
    os.makedirs(root, 0o700)
    mounts = [_mount("tmpfs", WORK, f"size={files}", "mode=0777")]
    mounts += [_mount("tmpfs", path, "size=64k", "mode=0555", "ro") for path in ("/proc", "/sys", "/tmp")]  # noqa: S108
    for path in [*layout.readable(), os.path.realpath(sys.executable), HERE]:
        if os.path.islink(path):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.symlink(os.readlink(path), root + path)
        else:
            _make_place(root + (CODE if path == HERE else path), folder=os.path.isdir(path))
            mounts.append(_bind(path, CODE if path == HERE else path))
    for folder in (WORK, "/proc", "/sys", "/tmp"):  # noqa: S108
        _make_place(root + folder, folder=True)
    for folder, _, _ in os.walk(root, topdown=False):
        os.chmod(folder, 0o111)  # noqa: S103 (to pass through, not to list)
    user = NOBODY if os.geteuid() == 0 else 0  # the only user that there is without root: ourselves
    Path(bundle, "config.json").write_text(json.dumps(_description(argv, mounts, user)))


def _description(argv: list[str], mounts: list[dict[str, Any]], user: int) -> dict[str, Any]:
    nothing: dict[str, list[str]] = {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted")}
    variables = layout.VARIABLES | {"HOME": WORK, "TMPDIR": WORK}
    return {
        "ociVersion": "1.0.0",
        "process": {
            "terminal": False,
            "user": {"uid": user, "gid": user},
            "args": argv,
            "env": [f"{name}={value}" for name, value in variables.items()],
            "cwd": WORK,
            "capabilities": nothing,
            "noNewPrivileges": True,
        },
        "root": {"path": "root", "readonly": True},
        "hostname": "sandbox",
        "mounts": mounts,
        "linux": {"namespaces": [{"type": kind} for kind in ("pid", "network", "ipc", "uts", "mount")]},
    }


def _bind(source: str, destination: str) -> dict[str, Any]:
    return {"type": "bind", "source": source, "destination": destination, "options": ["ro", "rbind", "nosuid", "nodev"]}


def _mount(kind: str, destination: str, *options: str) -> dict[str, Any]:
    safe = ["nosuid", "nodev", "noexec", *options]
    return {"type": kind, "source": kind, "destination": destination, "options": safe}


def _make_place(path: str, *, folder: bool) -> None:
    """Something to mount on."""
    if folder:
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).touch()
