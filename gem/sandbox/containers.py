"""A shell in a container, for machines with a container engine on which this process cannot make namespaces itself.

For each command, a container is started, the tree is unpacked in it, the command is run and the tree is packed again;
then the container is removed. The engine (Docker or Podman) confines the command: no network, no privileges, a
read-only root from the image, file systems in memory to write to, limits on memory and processes.
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

from gem.errors import EnvironmentFailure
from gem.sandbox.command import CommandResult, CommandStatus, ShellLimits
from gem.sandbox.inside.files import tree as trees
from gem.sandbox.inside.files.tree import TooBig, Tree
from gem.sandbox.inside.settings import HOME
from gem.sandbox.inside.shell import FLOOD_FACTOR, MAX_OPEN_FILES, MAX_STATE_BYTES, SCRIPT, STATE_FOLDER
from gem.sandbox.job import is_readable

ENGINES = ("docker", "podman")
ENGINE_VARIABLE, IMAGE_VARIABLE = "GEM_CONTAINER_ENGINE", "GEM_TERMINAL_IMAGE"
"""Environment variables with the engine and the image to use."""
DEFAULT_IMAGE = "python:3.11"
USER = 65534
"""The user id of commands in the container, "nobody"."""
ENGINE_TIMEOUT_SECONDS = 60.0
"""How long each request to the engine may take, except the command itself."""
LIFETIME_SECONDS = 600
"""A container ends by itself after this time, in case this process is killed and cannot remove it."""
TAR_BLOCK_BYTES = 512


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
"""A command that attempts what a container must prevent; it prints what is possible."""


class NoContainerEngine(Exception):
    """No engine can be used; the message says why and what to do."""


def image() -> str:
    """The image in which commands run; it needs bash, tar, and the programs that tasks use."""
    return os.environ.get(IMAGE_VARIABLE, DEFAULT_IMAGE)


def find_engine() -> str:
    """The path of the first engine that answers and has the image.

    Raises:
        NoContainerEngine: if there is none.
    """
    names = [os.environ[ENGINE_VARIABLE]] if ENGINE_VARIABLE in os.environ else list(ENGINES)
    reasons = []
    for name in names:
        path = shutil.which(name)
        if path is None:
            reasons.append(f"{name} is not installed")
            continue
        try:
            inspection = _request([path, "image", "inspect", image()])
        except EnvironmentFailure as error:
            reasons.append(f"{name} does not answer ({error})")
            continue
        if inspection.returncode == 0:
            return path
        message = _last_line(inspection.stderr) or "no answer"
        reasons.append(f"{name}: {message} (`{name} pull {image()}` gets the image)")
    raise NoContainerEngine("; ".join(reasons))


def run_arguments(limits: ShellLimits) -> list[str]:
    """The arguments of the engine's `run` that confine a container."""
    disk = f"rw,nosuid,nodev,size={limits.disk_bytes},nr_inodes=4096,uid={USER},gid={USER}"
    return [
        "--detach", "--rm", "--pull=never", "--init=false", "--network=none", "--ipc=private", "--read-only",
        "--cap-drop=ALL", "--security-opt=no-new-privileges", f"--user={USER}:{USER}", "--hostname=terminal",
        f"--memory={limits.memory_bytes}", f"--memory-swap={limits.memory_bytes}",
        f"--pids-limit={limits.processes}", "--cpus=1", "--oom-score-adj=1000", "--log-driver=none",
        f"--ulimit=fsize={limits.disk_bytes}", f"--ulimit=nofile={MAX_OPEN_FILES}", "--ulimit=core=0",
        f"--ulimit=cpu={int(limits.seconds) + 1}",
        f"--tmpfs={HOME}:{disk},exec,mode=0755", f"--tmpfs=/tmp:{disk},exec,mode=0755",
        f"--tmpfs={STATE_FOLDER}:rw,nosuid,nodev,noexec,size=1m,uid={USER},gid={USER},mode=0755",
        f"--workdir={HOME}", "--label=gemweb-terminal",
    ]  # fmt: skip


def execute(
    engine: str, command: str, tree: Tree, shell: str, limits: ShellLimits, variables: Mapping[str, str]
) -> CommandResult:
    """Run a command in a container (see `gem.sandbox.shell.execute`).

    Raises:
        EnvironmentFailure: if the engine fails; the command may be tried again.
    """
    start = _request([engine, "run", *run_arguments(limits), image(), "sleep", str(LIFETIME_SECONDS)])
    container = start.stdout.decode().strip()
    if start.returncode != 0 or not container:
        raise EnvironmentFailure(_last_line(start.stderr) or "the engine did not start a container")
    exec_command = [engine, "exec", "--interactive", *_env_arguments(variables), container]
    try:
        unpacking = _request([*exec_command, "tar", "-xpf", "-", "-C", "/"], pack(tree, shell.partition("\n")[2]))
        if unpacking.returncode != 0:
            raise EnvironmentFailure(_last_line(unpacking.stderr) or "the tree could not be unpacked")
        folder = shell.partition("\n")[0] or HOME
        bash = ["bash", "--noprofile", "--norc", "-c", SCRIPT, "bash", folder, command]
        status, code, output = _run_limited([*exec_command, *bash], limits)
        _request([*exec_command, "bash", "-c", "kill -9 -1"])  # ends what the command left running
        if status == "ended" and code != 0 and _has_run_out_of_memory(exec_command):
            status, code = "memory", None
        packing = ["tar", "-cf", "-", "-C", "/", f"{STATE_FOLDER[1:]}/after", HOME[1:]]
        tree_after, shell_after = unpack(_read_tar([*exec_command, *packing], limits), limits)
        return CommandResult(status, output, code, tree_after, shell_after)
    except TooBig as error:
        return CommandResult("files", output, code, None, "", str(error))
    finally:
        with contextlib.suppress(EnvironmentFailure):
            _request([engine, "rm", "--force", "--volumes", container])


# ------------------------------------------------------------------ trees as archives


def pack(tree: Tree, variables: str) -> bytes:
    """A tree, and the variables of the previous command, as a tar archive to be unpacked at the root."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for path, (kind, mode, content, mtime) in tree.items():
            entry = tarfile.TarInfo(f"{HOME[1:]}/{path}")
            entry.mode, entry.mtime = mode, mtime
            data = trees.bytes_of(kind, content)
            if kind == "folder":
                entry.type = tarfile.DIRTYPE
            elif kind == "link":
                entry.type, entry.linkname = tarfile.SYMTYPE, content
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        for name, text in (("before", variables), ("after", "")):
            entry = tarfile.TarInfo(f"{STATE_FOLDER[1:]}/{name}")
            entry.mode, entry.size = 0o644, len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return file.getvalue()


def unpack(packed: bytes, limits: ShellLimits) -> tuple[Tree, str]:
    """The tree in an archive, and the state that the shell saved at its end. Nothing is written to our disk.

    Raises:
        TooBig: if the tree exceeds the limits.
        EnvironmentFailure: if this is no archive.
    """
    tree: Tree = {}
    shell, remaining = "", limits.tree_bytes
    try:
        with tarfile.open(fileobj=io.BytesIO(packed), mode="r:") as archive:
            for member in archive:
                data = _content(archive, member)
                if member.name == f"{STATE_FOLDER[1:]}/after":
                    shell = data.decode("utf-8", "replace") if len(data) <= MAX_STATE_BYTES else ""
                    continue
                top, _, path = member.name.partition(f"{HOME[1:]}/")
                entry = trees.make_entry(_kind(member), member.mode, data, member.linkname, int(member.mtime))
                if top or not path or entry is None:
                    continue
                remaining -= len(data) or len(member.linkname if member.issym() else "")
                if remaining < 0:
                    raise TooBig(f"more than {limits.tree_bytes:,} bytes")
                tree[path.encode("utf-8", "replace").decode()] = entry
                if len(tree) > limits.tree_entries:
                    raise TooBig(f"more than {limits.tree_entries:,} files and folders")
    except tarfile.TarError as error:
        raise EnvironmentFailure(f"what the container left cannot be read: {error}") from error
    return {path: tree[path] for path in sorted(tree)}, shell


def _kind(entry: tarfile.TarInfo) -> str:
    """The kind of an entry in a tree; empty if a tree cannot hold it."""
    if entry.isdir():
        return "folder"
    if entry.issym():
        return "link"
    return "file" if entry.isreg() or entry.islnk() else ""


def _content(archive: tarfile.TarFile, entry: tarfile.TarInfo) -> bytes:
    """The content of a file; for a hard link, that of the file it refers to."""
    if not (entry.isreg() or entry.islnk()):
        return b""
    try:
        file = archive.extractfile(entry)
    except KeyError:  # the file it refers to is not in the archive
        return b""
    return file.read() if file is not None else b""


# ------------------------------------------------------------------ requests to the engine


def _env_arguments(variables: Mapping[str, str]) -> list[str]:
    return [f"--env={name}={value}" for name, value in variables.items()]


def _request(command: Sequence[str], stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run a command of the engine to its end.

    Raises:
        EnvironmentFailure: if it cannot be run, or takes too long.
    """
    try:
        return subprocess.run(  # noqa: S603 (the engine)
            command, input=stdin, capture_output=True, timeout=ENGINE_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentFailure(f"the container engine: {error}") from error


def _run_limited(command: Sequence[str], limits: ShellLimits) -> tuple[CommandStatus, int | None, str]:
    """How the command ended, its exit code, and the beginning and the end of its output."""
    head, tail, total = bytearray(), bytearray(), 0
    deadline = time.monotonic() + limits.seconds
    status: CommandStatus = "ended"
    process = subprocess.Popen(  # noqa: S603 (the engine)
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    assert process.stdout is not None
    with process, process.stdout as stream:
        while True:
            seconds = deadline - time.monotonic()
            if seconds <= 0 or total > FLOOD_FACTOR * limits.output_bytes:
                status = "timeout" if seconds <= 0 else "output"
                process.kill()
                break
            if not is_readable(stream.fileno(), seconds):
                continue
            data = os.read(stream.fileno(), 1 << 16)
            if not data:
                break
            total += len(data)
            room = limits.output_bytes // 2 - len(head)
            head += data[:room]
            tail += data[max(room, 0) :]
            del tail[: -limits.output_bytes // 2]
    omitted = total - len(head) - len(tail)
    texts = [part.decode("utf-8", "replace") for part in (head, tail)]
    output = f"{texts[0]}\n[{omitted:,} bytes left out]\n{texts[1]}" if omitted else "".join(texts)
    return status, process.returncode if status == "ended" else None, output


def _read_tar(command: Sequence[str], limits: ShellLimits) -> bytes:
    """The archive that a command writes.

    Raises:
        TooBig: if it is larger than any tree within the limits.
    """
    max_bytes = limits.tree_bytes + 8 * TAR_BLOCK_BYTES * limits.tree_entries + (1 << 16)
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(  # noqa: S603 (the engine)
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors
        )
        assert process.stdout is not None
        with process:
            archive = process.stdout.read(max_bytes + 1)
            process.kill()
    if len(archive) > max_bytes:
        raise TooBig(f"more than {limits.tree_bytes:,} bytes")
    return archive


def _has_run_out_of_memory(exec_command: Sequence[str]) -> bool:
    """Whether the kernel killed a process of the container because its memory was full (cgroups of either version)."""
    paths = ["/sys/fs/cgroup/memory.events", "/sys/fs/cgroup/memory/memory.oom_control"]
    words = _request([*exec_command, "cat", *paths]).stdout.split()
    return b"oom_kill" in words and words[words.index(b"oom_kill") + 1 :][:1] != [b"0"]


def _last_line(output: bytes) -> str:
    lines = output.decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
