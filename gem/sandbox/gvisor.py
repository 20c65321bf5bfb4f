"""A sandbox in gVisor (https://gvisor.dev), a kernel in user space, with a container for every run.

`runsc`, gVisor's runtime, makes a container without network, with a read-only root that holds the interpreter, its
packages and the system's libraries. The process in it sets the same limits for itself as at the other levels. The
container for the next run is started in advance.
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
from gem.sandbox import host_view
from gem.sandbox.inside.settings import HOME
from gem.sandbox.job import SandboxJob
from gem.sandbox.limits import Limits, Result
from gem.sandbox.one_shot import OneShotProcess
from gem.sandbox.slot import PACKAGE_FOLDER, with_submodules

COMMAND = "import sys; sys.path.insert(0, sys.argv.pop()); from inside.one_shot import main; main()"
RUNSC_VARIABLE = "GEM_RUNSC"
"""Environment variable with the path of `runsc`, if it is not on the PATH."""
WORK_FOLDER = HOME
"""The folder in the container to which a job may write."""
CODE_FOLDER = "/opt/gem"
"""The folder in the container that holds the package `inside`."""
NOBODY = 65534
DEFAULT_FILES_BYTES = Limits().files_bytes


def runsc_path() -> str | None:
    """The path of `runsc`; None if it is not installed."""
    return shutil.which(os.environ.get(RUNSC_VARIABLE) or "runsc")


class GvisorSlot:
    """Starts containers and hands each one job; not thread-safe. See `gem.sandbox.backends.Sandbox`.

    Args:
        preload: modules that a container imports before its job arrives.

    Raises:
        SandboxUnavailable: if there is no runsc, or no container starts.
    """

    def __init__(self, preload: tuple[str, ...] = ()) -> None:
        self.preload = preload
        self.jobs = 0
        path = runsc_path()
        if path is None:
            raise SandboxUnavailable("runsc is not installed")
        self._runsc = path
        self._next_container: OneShotProcess | None = self._start()

    @property
    def pid(self) -> int:
        """The id of the first process of the container for the next job."""
        if self._next_container is None:
            raise SandboxUnavailable("This sandbox has been closed.")
        return self._next_container.pid

    def has(self, modules: frozenset[str]) -> bool:
        """See `Sandbox.has`."""
        return modules <= set(self.preload)

    def import_also(self, modules: frozenset[str]) -> None:
        """See `Sandbox.import_also`; the container for the next job is started again."""
        self.preload = (*self.preload, *sorted(modules))
        self._end(self._next_container)
        self._next_container = self._start()

    def execute(self, job: SandboxJob) -> Result:
        """See `Sandbox.execute`."""
        self.jobs += 1
        container, self._next_container = self._next_container, None
        if container is None or job.limits.files_bytes != DEFAULT_FILES_BYTES:
            self._end(container)
            container = self._start(job.limits.files_bytes)
        try:
            return container.run(job)
        finally:
            self._end(container)
            self._next_container = self._start()

    def close(self) -> None:
        """See `Sandbox.close`."""
        self._end(self._next_container)
        self._next_container = None

    def abandon_after_fork(self) -> None:
        """See `Sandbox.abandon_after_fork`."""
        if self._next_container is not None:
            self._next_container.abandon_after_fork()

    def _end(self, container: OneShotProcess | None) -> None:
        if container is not None:
            container.end()

    def _start(self, files_bytes: int = DEFAULT_FILES_BYTES) -> OneShotProcess:
        """Start a container without waiting until it is ready."""
        bundle = tempfile.mkdtemp(prefix="gem-gvisor-")
        settings = {
            "module_paths": host_view.module_paths(),
            "preload": with_submodules(self.preload),
            "work_folder": WORK_FOLDER,
        }
        python = [os.path.realpath(sys.executable), "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND]
        make_bundle(bundle, [*python, json.dumps(settings), CODE_FOLDER], files_bytes)
        return OneShotProcess(command_line(self._runsc, bundle), "runsc", bundle)


def command_line(runsc: str, bundle: str) -> list[str]:
    """The command that starts a container without network and without cgroups (the process limits itself)."""
    flags = ["-network=none", "-ignore-cgroups", f"-root={bundle}/state"]
    if os.geteuid() != 0:
        flags.append("-rootless")
    return [runsc, *flags, "run", f"-bundle={bundle}", os.path.basename(bundle)]


def make_bundle(bundle: str, argv: list[str], files_bytes: int) -> None:
    """Write a container's description (OCI runtime specification 1.0) and its root into a folder."""
    root = f"{bundle}/root"
    os.makedirs(root, 0o700)
    mounts = [_mount("tmpfs", WORK_FOLDER, f"size={files_bytes}", "mode=0777")]
    mounts += [_mount("tmpfs", path, "size=64k", "mode=0555", "ro") for path in ("/proc", "/sys", "/tmp")]  # noqa: S108
    for path in [*host_view.readable_paths(), os.path.realpath(sys.executable), PACKAGE_FOLDER]:
        if os.path.islink(path):
            os.makedirs(os.path.dirname(root + path), exist_ok=True)
            os.symlink(os.readlink(path), root + path)
        else:
            destination = CODE_FOLDER if path == PACKAGE_FOLDER else path
            _make_mount_point(root + destination, is_folder=os.path.isdir(path))
            mounts.append(_bind(path, destination))
    for folder in (WORK_FOLDER, "/proc", "/sys", "/tmp"):  # noqa: S108
        _make_mount_point(root + folder, is_folder=True)
    for folder, _, _ in os.walk(root, topdown=False):
        os.chmod(folder, 0o111)  # noqa: S103 (folders can be passed through, but not listed)
    user = NOBODY if os.geteuid() == 0 else 0  # without root, the container has no user but ours
    Path(bundle, "config.json").write_text(json.dumps(_description(argv, mounts, user)))


def _description(argv: list[str], mounts: list[dict[str, Any]], user: int) -> dict[str, Any]:
    capabilities: dict[str, list[str]] = {kind: [] for kind in ("bounding", "effective", "inheritable", "permitted")}
    variables = host_view.VARIABLES | {"HOME": WORK_FOLDER, "TMPDIR": WORK_FOLDER}
    return {
        "ociVersion": "1.0.0",
        "process": {
            "terminal": False,
            "user": {"uid": user, "gid": user},
            "args": argv,
            "env": [f"{name}={value}" for name, value in variables.items()],
            "cwd": WORK_FOLDER,
            "capabilities": capabilities,
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
    all_options = ["nosuid", "nodev", "noexec", *options]
    return {"type": kind, "source": kind, "destination": destination, "options": all_options}


def _make_mount_point(path: str, *, is_folder: bool) -> None:
    """Make an empty folder, or an empty file."""
    if is_folder:
        os.makedirs(path, exist_ok=True)
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    Path(path).touch()
