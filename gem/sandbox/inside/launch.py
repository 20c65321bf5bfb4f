"""The first process of a sandbox: it leaves the host and becomes the zygote.

At the level `full` it has namespaces of its own (mounts, processes, network, IPC, host name) and a root that holds only
the interpreter, its packages and the system's libraries, all read-only. At the level `landlock` it changes its user
where that is possible.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sys

from . import zygote
from .confinement import kernel, namespaces
from .settings import Settings

DEVICES = ("null", "zero", "random", "urandom")
NEW_ROOT = "/tmp"  # noqa: S108 (a mount point that exists everywhere; its content is hidden, not changed)


def main() -> None:
    """Started by the host with the settings as the only argument."""
    settings = Settings.from_json(sys.argv[1])
    control = socket.socket(fileno=settings.control)
    sys.path[:] = settings.module_paths
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # when the host's memory is full, the kernel ends sandboxes first
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    if settings.level == "full":
        # The parent closes the control socket, because otherwise the host would not see the zygote's end.
        namespaces.enter_new_namespaces("sandbox", (settings.control,))
        _enter_new_root(settings)
    _drop_privileges(settings)
    if settings.level == "full":
        kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)  # after the change of user, which would reset it
    # Without namespaces the parent is the host, whose death is seen by the closed socket. The signal would come too
    # early there: already when the host's thread ends that started this process.
    os.chdir(settings.work_folder)
    zygote.serve(control, settings, proc)


def _enter_new_root(settings: Settings) -> None:
    """Enter a root with read-only copies of the mounts that the code may see; the old root is unmounted."""
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    copies = [(path, kernel.copy_mount(path)) for path in settings.readable if not os.path.islink(path)]
    links = [(path, os.readlink(path)) for path in settings.readable if os.path.islink(path)]
    devices = [(f"/dev/{name}", kernel.copy_mount(f"/dev/{name}", devices=True)) for name in DEVICES]
    is_folder = {path: os.path.isdir(path) for path, _ in copies}
    kernel.mount("tmpfs", NEW_ROOT, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=0755")
    os.umask(0o022)
    for path, target in links:
        _make_parents(path)
        os.symlink(target, NEW_ROOT + path)
    for path, copy in (*copies, *devices):
        _make_mount_point(path, is_folder=is_folder.get(path, False))
        kernel.attach_mount(copy, NEW_ROOT + path)
    _make_mount_point(settings.work_folder, is_folder=True)
    kernel.pivot_to(NEW_ROOT)
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    kernel.set_mount_attributes(root, kernel.ATTR_RDONLY, recursive=False)  # the devices below it stay writable
    os.close(root)


def _make_parents(path: str) -> None:
    os.makedirs(os.path.dirname(NEW_ROOT + path), exist_ok=True)


def _make_mount_point(path: str, *, is_folder: bool) -> None:
    """Make an empty folder, or an empty file."""
    if is_folder:
        os.makedirs(NEW_ROOT + path, exist_ok=True)
        return
    _make_parents(path)
    os.close(os.open(NEW_ROOT + path, os.O_CREAT | os.O_CLOEXEC, 0o644))


def _drop_privileges(settings: Settings) -> None:
    """Change the user, drop all capabilities, and make it impossible to gain any."""
    capabilities = (kernel.CAP_DAC_READ_SEARCH,) if settings.can_read_all else ()
    if settings.user is not None:
        kernel.drop_bounding_set(*capabilities)
        os.setgroups([])
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
        os.setresgid(settings.user, settings.user, settings.user)
        os.setresuid(settings.user, settings.user, settings.user)
    kernel.keep_capabilities(*capabilities)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    # At the level `full`, this process has to be able to map the users of its children.
    kernel.prctl(kernel.PR_SET_DUMPABLE, int(settings.level == "full"))
