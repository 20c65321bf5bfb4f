"""A shell in a container, where a container engine answers and the machine gives us no namespaces of our own.

For each command a container is made, the tree is unpacked in it, the command is run and the tree is packed again; then
the container is removed. The engine (Docker or Podman) confines: no network, no rights, a read-only root from the
image, file systems in memory to write to, limits on memory and processes.
"""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from gem.errors import EnvironmentFailure
from gem.sandbox.collect import is_readable
from gem.sandbox.command import CommandResult, ShellLimits
from gem.sandbox.inside import tree as trees
from gem.sandbox.inside.settings import HOME
from gem.sandbox.inside.shell import FLOOD, KEPT_OF_SHELL, OPEN_FILES, SCRIPT, STATE
from gem.sandbox.inside.tree import TooBig, Tree

ENGINES = ("docker", "podman")
ENGINE, IMAGE = "GEM_CONTAINER_ENGINE", "GEM_TERMINAL_IMAGE"
DEFAULT_IMAGE = "python:3.11"
USER = 65534
"""Nobody, in the container."""
ENGINE_SECONDS = 60.0
"""For everything that is asked of the engine besides the command itself."""
LIVES_SECONDS = 600
"""A container ends by itself after this, should nobody be left to remove it."""
TAR_BLOCK = 512


CANARY = """
test "$(id -u)" = 0 && echo "is root"
(echo >/usr/bin/canary) 2>/dev/null && echo "writes to its programs"
test "$(cat /proc/net/dev | grep -c :)" -gt 1 && echo "has a network"
unshare -Ur true 2>/dev/null && echo "makes namespaces"
mount -t tmpfs none /tmp 2>/dev/null && echo "mounts"
test -S /var/run/docker.sock && echo "sees its engine"
grep -q "^CapEff:.*0000000000000000" /proc/self/status || echo "has capabilities"
grep -q "^NoNewPrivs:.*1" /proc/self/status || echo "may gain rights"
grep -q "^Seccomp:.*2" /proc/self/status || echo "has no filter of system calls"
limit=$(cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes 2>/dev/null | head -n 1)
test "${limit:-max}" != max -a "${#limit}" -le 12 || echo "has no limit on memory"
tasks=$(cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids/pids.max 2>/dev/null | head -n 1)
test "${tasks:-max}" != max || echo "has no limit on processes"
bash -c "head -c 100000000 /dev/zero >/tmp/full || exit 1" 2>/dev/null && echo "has no limit on files"
rm -f /tmp/full
echo kept >mine; cat mine
"""
"""What a container must not be able to do; it prints what it can."""


class Missing(Exception):
    """No engine can be used; the message says why and what to do."""


def image() -> str:
    """The image that commands run in; it needs bash, tar, and the programs that tasks use."""
    return os.environ.get(IMAGE, DEFAULT_IMAGE)


def find_engine() -> str:
    """The engine that answers and has the image.

    Raises:
        Missing: if there is none.
    """
    names = [os.environ[ENGINE]] if ENGINE in os.environ else list(ENGINES)
    reasons = []
    for name in names:
        found = shutil.which(name)
        if found is None:
            reasons.append(f"{name} is not installed")
            continue
        try:
            done = _ask([found, "image", "inspect", image()])
        except EnvironmentFailure as error:
            reasons.append(f"{name} does not answer ({error})")
            continue
        if done.returncode == 0:
            return found
        said = done.stderr.decode(errors="replace").strip().splitlines()
        reasons.append(f"{name}: {said[-1] if said else 'no answer'} (`{name} pull {image()}` gets the image)")
    raise Missing("; ".join(reasons))


def run_arguments(limits: ShellLimits) -> list[str]:
    """What `run` is told: everything that confines."""
    disk = f"rw,nosuid,nodev,size={limits.disk_bytes},nr_inodes=4096,uid={USER},gid={USER}"
    return [
        "--detach", "--rm", "--pull=never", "--init=false", "--network=none", "--ipc=private", "--read-only",
        "--cap-drop=ALL", "--security-opt=no-new-privileges", f"--user={USER}:{USER}", "--hostname=terminal",
        f"--memory={limits.memory_bytes}", f"--memory-swap={limits.memory_bytes}",
        f"--pids-limit={limits.processes}", "--cpus=1", "--oom-score-adj=1000", "--log-driver=none",
        f"--ulimit=fsize={limits.disk_bytes}", f"--ulimit=nofile={OPEN_FILES}", "--ulimit=core=0",
        f"--ulimit=cpu={int(limits.seconds) + 1}",
        f"--tmpfs={HOME}:{disk},exec,mode=0755", f"--tmpfs=/tmp:{disk},exec,mode=0755",
        f"--tmpfs={STATE}:rw,nosuid,nodev,noexec,size=1m,uid={USER},gid={USER},mode=0755", f"--workdir={HOME}",
        "--label=gemweb-terminal",
    ]  # fmt: skip


def execute(
    engine: str, command: str, tree: Tree, shell: str, limits: ShellLimits, variables: Mapping[str, str]
) -> CommandResult:
    """As `gem.sandbox.shell.execute`, in a container.

    Raises:
        EnvironmentFailure: if the engine fails; the command may be tried again.
    """
    started = _ask([engine, "run", *run_arguments(limits), image(), "sleep", str(LIVES_SECONDS)])
    name = started.stdout.decode().strip()
    if started.returncode != 0 or not name:
        raise EnvironmentFailure(_last_line(started.stderr) or "the engine did not start a container")
    inside = [engine, "exec", "--interactive", *_given(variables), name]
    try:
        unpacked = _ask([*inside, "tar", "-xpf", "-", "-C", "/"], pack(tree, shell.partition("\n")[2]))
        if unpacked.returncode != 0:
            raise EnvironmentFailure(_last_line(unpacked.stderr) or "the tree could not be unpacked")
        folder = shell.partition("\n")[0] or HOME
        bash = ["bash", "--noprofile", "--norc", "-c", SCRIPT, "bash", folder, command]
        status, code, output = _watched([*inside, *bash], limits)
        _ask([*inside, "bash", "-c", "kill -9 -1"])  # what the command left running
        if status == "ended" and code != 0 and _out_of_memory(inside):
            status, code = "memory", None
        packing = ["tar", "-cf", "-", "-C", "/", f"{STATE[1:]}/after", HOME[1:]]
        kept, after = unpack(_read_tar([*inside, *packing], limits), limits)
        return CommandResult(status, output, code, kept, after)
    except TooBig as error:
        return CommandResult("files", output, code, None, "", str(error))
    finally:
        with contextlib.suppress(EnvironmentFailure):
            _ask([engine, "rm", "--force", "--volumes", name])


# ------------------------------------------------------------------ trees as archives


def pack(tree: Tree, variables: str) -> bytes:
    """A tree, and the variables of the command before, as a tar archive to be unpacked at the root."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, (kind, mode, content, when) in tree.items():
            entry = tarfile.TarInfo(f"{HOME[1:]}/{path}")
            entry.mode, entry.mtime = mode, when
            data = trees.bytes_of(kind, content)
            if kind == "folder":
                entry.type = tarfile.DIRTYPE
            elif kind == "link":
                entry.type, entry.linkname = tarfile.SYMTYPE, content
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, text in (("before", variables), ("after", "")):
            entry = tarfile.TarInfo(f"{STATE[1:]}/{name}")
            entry.mode, entry.size = 0o644, len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return made.getvalue()


def unpack(packed: bytes, limits: ShellLimits) -> tuple[Tree, str]:
    """The tree in an archive and what the shell wrote down at its end. Nothing of it touches our disk.

    Raises:
        TooBig: if it holds more than may be kept.
        EnvironmentFailure: if it is no archive.
    """
    found: Tree = {}
    after, left = "", limits.kept_bytes
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
            for entry in archive:
                data = _content(archive, entry)
                if entry.name == f"{STATE[1:]}/after":
                    after = data.decode("utf-8", "replace") if len(data) <= KEPT_OF_SHELL else ""
                    continue
                top, _, path = entry.name.partition(f"{HOME[1:]}/")
                made = trees.entry_of(_kind(entry), entry.mode, data, entry.linkname, int(entry.mtime))
                if top or not path or made is None:
                    continue
                left -= len(data) or len(entry.linkname if entry.issym() else "")
                if left < 0:
                    raise TooBig(f"more than {limits.kept_bytes:,} bytes")
                found[path.encode("utf-8", "replace").decode()] = made
                if len(found) > limits.kept_entries:
                    raise TooBig(f"more than {limits.kept_entries:,} files and folders")
    except tarfile.TarError as error:
        raise EnvironmentFailure(f"what the container left cannot be read: {error}") from error
    return {path: found[path] for path in sorted(found)}, after


def _kind(entry: tarfile.TarInfo) -> str:
    if entry.isdir():
        return "folder"
    if entry.issym():
        return "link"
    return "file" if entry.isreg() or entry.islnk() else ""


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    """What a file holds; of a hard link what the file holds that it is another name of."""
    if not (entry.isreg() or entry.islnk()):
        return b""
    try:
        file = archive.extractfile(entry)
    except KeyError:  # the other name is not in the archive
        return b""
    return file.read() if file is not None else b""


# ------------------------------------------------------------------ asking the engine


def _given(variables: Mapping[str, str]) -> list[str]:
    return [f"--env={name}={value}" for name, value in variables.items()]


def _ask(command: Sequence[str], given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(command, input=given, capture_output=True, timeout=ENGINE_SECONDS, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFailure(f"the container engine: {error}") from error


def _watched(command: Sequence[str], limits: ShellLimits) -> tuple[Any, int | None, str]:
    """How the command ended, its exit code, and the beginning and the end of its output."""
    head, tail, total = bytearray(), bytearray(), 0
    until, status = time.monotonic() + limits.seconds, "ended"
    process = subprocess.Popen(  # noqa: S603 (the engine)
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    with process, process.stdout as stream:
        while True:
            left = until - time.monotonic()
            if left <= 0 or total > FLOOD * limits.output_bytes:
                status = "timeout" if left <= 0 else "output"
                process.kill()
                break
            if not is_readable(stream.fileno(), left):
                continue
            data = os.read(stream.fileno(), 1 << 16)
            if not data:
                break
            total += len(data)
            room = limits.output_bytes // 2 - len(head)
            head += data[:room]
            tail += data[max(room, 0) :]
            del tail[: -limits.output_bytes // 2]
    left_out = total - len(head) - len(tail)
    texts = [part.decode("utf-8", "replace") for part in (head, tail)]
    output = f"{texts[0]}\n[{left_out:,} bytes left out]\n{texts[1]}" if left_out else "".join(texts)
    return status, process.returncode if status == "ended" else None, output


def _read_tar(command: Sequence[str], limits: ShellLimits) -> bytes:
    """The archive, or its beginning where it is longer than anything that may be kept."""
    most = limits.kept_bytes + 8 * TAR_BLOCK * limits.kept_entries + (1 << 16)
    with tempfile.TemporaryFile() as complaints:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=complaints)  # noqa: S603
        assert process.stdout is not None
        with process:
            found = process.stdout.read(most + 1)
            process.kill()
    if len(found) > most:
        raise TooBig(f"more than {limits.kept_bytes:,} bytes")
    return found


def _out_of_memory(inside: Sequence[str]) -> bool:
    """Whether the kernel ended a process of the container for want of memory (control groups of either version)."""
    places = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"]
    said = _ask([*inside, "cat", *places]).stdout.split()
    return b"oom_kill" in said and said[said.index(b"oom_kill") + 1 :][:1] != [b"0"]


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
