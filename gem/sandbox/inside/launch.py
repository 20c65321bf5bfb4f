"""The first process of a sandbox: it leaves the host behind and becomes the zygote.

`full`: namespaces of its own (mounts, processes, network, IPC, host name), a root that holds nothing but the
interpreter, its packages and the system's libraries, all read-only. `landlock`: another user where possible.
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
BASE = "/tmp"  # noqa: S108 (a mount point that exists everywhere; what is in it is hidden, not touched)


def main() -> None:
    """Called by the host with the settings as the only argument."""
    settings = Settings.of(sys.argv[1])
    control = socket.socket(fileno=settings.control)
    sys.path[:] = settings.modules
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")  # if memory runs out on the host, this is what has to go
    proc = os.open("/proc", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    if settings.level == "full":
        namespaces.become_alone("sandbox", (settings.control,))  # else the host would not see the zygote's end
        _leave_the_host(settings)
    _become_nobody(settings)
    if settings.level == "full":
        kernel.prctl(kernel.PR_SET_PDEATHSIG, 9)  # after the change of user, which would undo it
    # Without namespaces the parent is the host, and its death is seen by the closed line: the signal would also come
    # when the thread ends that started us.
    os.chdir(settings.work)
    zygote.serve(control, settings, proc)


def _leave_the_host(settings: Settings) -> None:
    """A new root with read-only copies of the mounts that the code may see, and no way back to the old one."""
    kernel.mount("none", "/", "", kernel.MS_REC | kernel.MS_PRIVATE)
    copies = [(path, kernel.detached_copy(path)) for path in settings.readable if not os.path.islink(path)]
    links = [(path, os.readlink(path)) for path in settings.readable if os.path.islink(path)]
    devices = [(f"/dev/{name}", kernel.detached_copy(f"/dev/{name}", devices=True)) for name in DEVICES]
    folders = {path: os.path.isdir(path) for path, _ in copies}
    kernel.mount("tmpfs", BASE, "tmpfs", kernel.MS_NOSUID | kernel.MS_NODEV, "size=1m,mode=0755")
    os.umask(0o022)
    for path, link in links:
        _make_parents(path)
        os.symlink(link, BASE + path)
    for path, tree in (*copies, *devices):
        _make_place(path, folder=folders.get(path, False))
        kernel.attach(tree, BASE + path)
    _make_place(settings.work, folder=True)
    kernel.pivot_to(BASE)
    root = os.open("/", os.O_PATH | os.O_CLOEXEC)
    kernel.set_attributes(root, kernel.ATTR_RDONLY, below=False)  # the devices below it stay writable
    os.close(root)


def _make_parents(path: str) -> None:
    os.makedirs(os.path.dirname(BASE + path), exist_ok=True)


def _make_place(path: str, *, folder: bool) -> None:
    """Something to mount on: a directory or an empty file."""
    if folder:
        os.makedirs(BASE + path, exist_ok=True)
        return
    _make_parents(path)
    os.close(os.open(BASE + path, os.O_CREAT | os.O_CLOEXEC, 0o644))


def _become_nobody(settings: Settings) -> None:
    """Another user, no capabilities, no way to gain any."""
    kept = (kernel.CAP_DAC_READ_SEARCH,) if settings.reach else ()
    if settings.user is not None:
        kernel.drop_bounding_set(*kept)
        os.setgroups([])
        kernel.prctl(kernel.PR_SET_KEEPCAPS, 1)
        os.setresgid(settings.user, settings.user, settings.user)
        os.setresuid(settings.user, settings.user, settings.user)
    kernel.keep_capabilities(*kept)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.prctl(kernel.PR_SET_DUMPABLE, int(settings.level == "full"))  # else it could not map its children's user
