"""Confines processes that communicate through their standard streams: MCP servers, and what plays uploaded policies.

    start = command("mcp-server-time", [], {}, Confinement())
    subprocess.Popen(start.argv, env=start.env, stdin=PIPE, stdout=PIPE)

Such a server runs for long, may start other programs and may need a network, so it cannot run in `gem.sandbox.run`. It
gets namespaces of its own with a root that holds its interpreter, its packages and the system's libraries, a directory
in memory to write to, limits, and a filter that refuses some system calls. Its only way to a network is a proxy that
connects to the permitted hosts.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gem.errors import InvalidArgument, SandboxUnavailable
from gem.sandbox import host_view
from gem.sandbox.inside import proxy
from gem.sandbox.inside.server import SETTINGS_VARIABLE

PACKAGE_FOLDER = str(Path(__file__).parent)
"""The folder that holds the package `inside`."""
COMMAND = "import sys; sys.path.insert(0, sys.argv.pop()); from inside.server import main; main()"
HOME = "/home/server"
CERTIFICATES = ("/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates")
SHARED_PREFIXES = ("/", "/usr", "/usr/local")
"""Installation prefixes that several programs share; below any other prefix, `lib` belongs to one interpreter."""
INTERPRETERS = ("python", "node", "bun", "deno", "bash", "sh")
START_TIMEOUT_SECONDS = 60.0
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a server may use.

    Raises:
        InvalidArgument: for a path that is not absolute, a host without a port, an amount that is not positive.
    """

    network: tuple[str, ...] = ()
    """Hosts that it may reach through the proxy in `HTTPS_PROXY`, as `name:port`, each part of which may be `*`. Names
    may resolve to public addresses only; a private address has to be listed literally."""
    read: tuple[str, ...] = ()
    """Files and directories of the host that it may read, besides its interpreter and its packages."""
    write: tuple[str, ...] = ()
    """Directories of the host that it may write to."""
    memory_mb: int = 1024
    """Memory of all its processes together, and data segment of each, in MiB."""
    processes: int = 64
    """Number of processes and threads."""
    cpu_seconds: int = 3600
    """CPU time of each process, after which it is ended; the next call starts the server again."""
    files_mb: int = 64
    """Size of the files in its own directory, which is in memory, in MiB."""

    def __post_init__(self) -> None:
        for path in (*self.read, *self.write):
            if not path.startswith("/"):
                raise InvalidArgument(f"A path that a server may use begins with /, unlike {path!r}.")
        for host in self.network:
            name, _, port = host.rpartition(":")
            if not name or not (port == "*" or (port.isdecimal() and 0 < int(port) < 65536)):
                raise InvalidArgument(f"{host!r} is no host with a port: write api.example.org:443 or *:443.")
        for name in ("memory_mb", "processes", "cpu_seconds", "files_mb"):
            if not getattr(self, name) > 0:
                raise InvalidArgument(f"{name} must be more than 0, not {getattr(self, name)!r}.")

    def in_words(self) -> str:
        """A description for people who run the site."""
        parts = ["confined", f"network: {', '.join(self.network)}" if self.network else "no network"]
        parts += [f"reads {', '.join(self.read)}"] if self.read else []
        parts += [f"writes {', '.join(self.write)}"] if self.write else []
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class StartCommand:
    """The command that starts a confined server."""

    argv: list[str]
    env: dict[str, str]
    """Environment variables; the server's own are among them, so they must not be logged."""


def command(
    program: str, args: Sequence[str], env: Mapping[str, str], confinement: Confinement, cwd: str | None = None
) -> StartCommand:
    """The command that starts a program with its arguments and environment variables, confined.

    Raises:
        SandboxUnavailable: if this machine cannot confine it.
        InvalidArgument: if there is no such program, or a path that it may use is not there.
    """
    reason = obstacle()
    if reason:
        raise SandboxUnavailable(reason)
    return _command(program, args, env, confinement, cwd)


def _command(
    program: str, args: Sequence[str], env: Mapping[str, str], confinement: Confinement, cwd: str | None
) -> StartCommand:
    program_path = shutil.which(program)
    if program_path is None:
        raise InvalidArgument(f"There is no program {program!r} here.")
    program_path = os.path.abspath(program_path)
    visible = _VisiblePaths()
    visible.add_program(program_path)
    for path in (*host_view.LIBRARIES, *(CERTIFICATES if confinement.network else ())):
        if os.path.lexists(path):
            visible.add(path)
    for path in (*_script(program_path, args), *confinement.read, *([cwd] if cwd else [])):
        if not os.path.exists(path):
            raise InvalidArgument(f"{path}, which the server {program!r} may use, is not there.")
        visible.add(path)
    user = _choose_user(confinement.write)
    user_id = os.geteuid() if user is None else user
    settings = {
        "argv": [program_path, *args],
        "env": {**_variables(confinement, os.path.dirname(program_path)), **env},
        "cwd": cwd or HOME,
        "home": HOME,
        "readable": visible.paths(),
        "links": visible.links(),
        "writable": [os.path.realpath(path) for path in confinement.write],
        "files": _system_files(user_id),
        "user": user_id,
        "proxy_user": host_view.random_user(),
        "network": list(confinement.network),
        "engine_folder": str(Path(PACKAGE_FOLDER).parent.parent),
        "memory_bytes": confinement.memory_mb * MEBIBYTE,
        "files_bytes": confinement.files_mb * MEBIBYTE,
        "processes": confinement.processes,
        "cpu_seconds": confinement.cpu_seconds,
    }
    argv = [sys.executable, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND, PACKAGE_FOLDER]
    return StartCommand(argv, {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", SETTINGS_VARIABLE: json.dumps(settings)})


def _variables(confinement: Confinement, folder: str) -> dict[str, str]:
    """The environment variables that every server gets, with the proxy's address.

    Args:
        folder: the program's folder, which comes first in PATH.
    """
    variables = {
        "HOME": HOME,
        "TMPDIR": HOME,
        "USER": "server",
        "PATH": ":".join(dict.fromkeys([folder, "/usr/local/bin", "/usr/bin", "/bin"])),
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    if confinement.network:
        url = f"http://127.0.0.1:{proxy.PORT}"
        variables |= dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), url)
        variables["NODE_USE_ENV_PROXY"] = "1"
    return variables


def _system_files(user: int) -> dict[str, str]:
    """Small files that programs expect: content by path."""
    return {
        "/etc/passwd": f"root:x:0:0:root:/root:/bin/false\nserver:x:{user}:{user}:server:{HOME}:/bin/false\n",
        "/etc/group": f"root:x:0:\nserver:x:{user}:\n",
        "/etc/hosts": "127.0.0.1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


def _choose_user(writable: Sequence[str]) -> int | None:
    """The user of the server: an unused one, or the owner of the directories that it may write to; None keeps ours.

    Raises:
        InvalidArgument: if there is no such directory, or the directories do not have one owner who is not root.
    """
    for path in writable:
        if not os.path.isdir(path):
            raise InvalidArgument(f"{path}, which a server may write to, is no directory.")
    user = host_view.random_user()
    if user is None or not writable:
        return user
    owners = {os.stat(path).st_uid for path in writable}
    if len(owners) > 1 or 0 in owners:
        raise InvalidArgument(
            f"A server runs as the owner of the directories that it may write to; {', '.join(writable)} must belong "
            "to one user who is not root."
        )
    return owners.pop()


# ------------------------------------------------------------------ the files of a program


def _script(program: str, args: Sequence[str]) -> list[str]:
    """The script that an interpreter executes: the first argument, if that is a file."""
    first = args[0] if args else ""
    is_interpreter = os.path.basename(os.path.realpath(program)).startswith(INTERPRETERS)
    return [os.path.abspath(first)] if is_interpreter and os.path.isfile(first) else []


class _VisiblePaths:
    """The files of the host that a server can see; symbolic links on the way to a file are visible as links."""

    def __init__(self) -> None:
        self._real_paths: dict[str, None] = {}
        self._links: dict[str, str] = {}

    def add(self, path: str) -> str:
        """Make a path visible, and return its real path."""
        links, real_path = _resolve(os.path.abspath(path))
        self._links |= links
        self._real_paths[real_path] = None
        return real_path

    def add_program(self, path: str) -> None:
        """Make a program visible, with its interpreter and its packages."""
        environment = _virtual_environment(path)
        if environment is not None:
            self.add(environment)
            self._links |= _resolve(_interpreter_folder(environment))[0]
        real_path = self.add(path)
        if real_path != path and _virtual_environment(real_path) not in (None, environment):
            self.add_program(real_path)  # a link into a virtual environment, as pipx makes them
        project, separator, _ = real_path.rpartition("/node_modules/")
        if separator:
            self.add(f"{project.partition('/node_modules/')[0]}/node_modules")
        prefix = os.path.dirname(os.path.dirname(real_path))
        if prefix not in SHARED_PREFIXES and glob.glob(f"{glob.escape(prefix)}/lib/python3*"):
            self.add(f"{prefix}/lib")
        for interpreter in _shebang_programs(real_path):
            self.add_program(interpreter)

    def paths(self) -> list[str]:
        """Files and directories, none of which is inside another."""
        return [path for path in self._real_paths if not self._is_visible(os.path.dirname(path))]

    def links(self) -> list[tuple[str, str]]:
        """Links, with their targets, that are not inside one of the paths."""
        return [(path, target) for path, target in self._links.items() if not self._is_visible(path)]

    def _is_visible(self, path: str) -> bool:
        while path not in self._real_paths and path != "/":
            path = os.path.dirname(path)
        return path in self._real_paths


def _resolve(path: str) -> tuple[dict[str, str], str]:
    """The symbolic links on the way to a path (target by path), and its real path.

    Raises:
        InvalidArgument: if the links form a circle.
    """
    links: dict[str, str] = {}
    real_path, parts = "/", path.split("/")
    while parts:
        step = os.path.normpath(os.path.join(real_path, parts.pop(0)))
        if os.path.islink(step):
            if len(links) > 40:
                raise InvalidArgument(f"{path} leads round in circles.")
            links[step] = os.readlink(step)
            parts = links[step].split("/") + parts
            real_path = "/" if links[step].startswith("/") else real_path
        else:
            real_path = step
    return links, real_path


def _virtual_environment(path: str) -> str | None:
    """The folder of the virtual environment that a program is in."""
    folder = os.path.dirname(os.path.dirname(path))
    return folder if os.path.isfile(f"{folder}/pyvenv.cfg") else None


def _interpreter_folder(folder: str) -> str:
    """The folder of the interpreter from which a virtual environment was made."""
    for line in Path(folder, "pyvenv.cfg").read_text().splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home":
            return value.strip()
    return "/"


def _shebang_programs(path: str) -> list[str]:
    """The interpreter that a script's first line names, and `env` if the line starts it through that."""
    with open(path, "rb") as file:
        first_line = file.readline(512)
    if not first_line.startswith(b"#!"):
        return []
    words = os.fsdecode(first_line[2:]).split()
    names = [word for word in words[1:] if not word.startswith("-")][:1] if words[0].endswith("/env") else []
    programs = [words[0], *(shutil.which(name) or "" for name in names)]
    return [program for program in programs if program and os.path.exists(program)]


# ------------------------------------------------------------------ the check of this machine


CANARY = """
import ctypes, os, socket, sys

def attempt(name, act):
    try:
        act()
    except OSError:
        return
    print(name)

attempt("read a file of the host", lambda: open(sys.argv[1]))
attempt("read the passwords of the host", lambda: open("/etc/shadow"))
attempt("list the directories of the host", lambda: os.listdir("/var"))
attempt("write beside its interpreter", lambda: open(os.path.dirname(os.__file__) + "/canary", "w"))
attempt("reach the host's network", lambda: socket.create_connection(("127.0.0.1", int(sys.argv[2])), 2))
attempt("list the processes of the host", lambda: os.stat("/proc/" + sys.argv[3]))
if ctypes.CDLL(None).unshare(0x10000000) == 0:
    print("make namespaces")
if "GEM_CANARY" in os.environ:
    print("read our environment")
if os.getuid() == 0:
    print("be root")
open("mine", "w").write("its own file")
print("done")
"""

_lock = threading.Lock()
_obstacle: str | None = None


def obstacle() -> str:
    """Why no server can be confined here, with what to do about it; empty if servers can be confined.

    The check is made once by each process.
    """
    global _obstacle  # noqa: PLW0603 (computed once)
    with _lock:
        if _obstacle is None:
            _obstacle = _probe()
        return _obstacle


def _probe() -> str:
    """Confine a program that tries to escape; why servers cannot be confined, or an empty string."""
    if sys.platform != "linux":
        return f"Servers are confined on Linux only; this is {sys.platform}."
    try:
        with (
            tempfile.NamedTemporaryFile(prefix="gem-canary-") as secret,
            socket.create_server(("127.0.0.1", 0)) as listener,
        ):
            os.chmod(secret.name, 0o644)  # readable for every user, so that only the confinement can prevent reading it
            arguments = [secret.name, str(listener.getsockname()[1]), str(os.getpid())]
            start = _command(sys.executable, ["-I", "-c", CANARY, *arguments], {}, Confinement(), None)
            result = subprocess.run(  # noqa: S603 (our own interpreter and program)
                start.argv, env=start.env | {"GEM_CANARY": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=START_TIMEOUT_SECONDS, cwd="/", check=False,
            )  # fmt: skip
    except (InvalidArgument, LookupError, OSError, subprocess.SubprocessError) as error:
        return f"This machine cannot confine servers ({error}). docs/sandbox.md says what helps."
    if result.stdout != "done\n":
        escapes = ", ".join(result.stdout.splitlines()) or result.stderr.strip().splitlines()[-1:] or "it ended"
        return f"This machine cannot confine servers ({escapes}). docs/sandbox.md says what helps."
    return ""
