"""Confining servers that talk through their standard streams, such as those of MCP.

    start = command("mcp-server-time", [], {}, Confinement())
    subprocess.Popen(start.argv, env=start.env, stdin=PIPE, stdout=PIPE)

A server is somebody else's program that lives for long, starts programs and may need a network, so it cannot run in
`gem.sandbox.run`. It gets namespaces of its own with a root that holds its interpreter, its packages and the system's
libraries, a directory in memory to write to, limits, and a list of refused system calls. The network ends at a proxy
that knows which hosts it may reach.
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
from gem.sandbox import layout
from gem.sandbox.inside import proxy
from gem.sandbox.inside.server import SETTINGS

HERE = str(Path(__file__).parent)
COMMAND = "import sys; sys.path.insert(0, sys.argv.pop()); from inside.server import main; main()"
HOME = "/home/server"
CERTIFICATES = ("/etc/ssl", "/etc/pki", "/etc/ca-certificates", "/usr/share/ca-certificates")
SHARED = ("/", "/usr", "/usr/local")
"""Prefixes that hold more than one program; of others, the libraries are an interpreter's own."""
INTERPRETERS = ("python", "node", "bun", "deno", "bash", "sh")
START_SECONDS = 60.0
MEBIBYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a server may use.

    Raises:
        InvalidArgument: for a path that is not absolute, a host without a port, an amount that is not positive.
    """

    network: tuple[str, ...] = ()
    """Hosts that it may reach over the proxy in `HTTPS_PROXY`: `name:port`, with `*` in either for any. Names lead to
    public addresses only; a private address has to be there literally."""
    read: tuple[str, ...] = ()
    """Files and directories of the host that it may read, besides its interpreter and its packages."""
    write: tuple[str, ...] = ()
    """Directories of the host that it may write to."""
    memory_mb: int = 1024
    """MiB, of all its processes together and of the data of each."""
    processes: int = 64
    """Threads count as well."""
    cpu_seconds: int = 3600
    """Processor time of each process; then it is ended, and started again when it is next asked."""
    files_mb: int = 64
    """MiB that it may keep in its own directory, which is in memory."""

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
        """For people who run the site."""
        said = ["confined", f"network: {', '.join(self.network)}" if self.network else "no network"]
        said += [f"reads {', '.join(self.read)}"] if self.read else []
        said += [f"writes {', '.join(self.write)}"] if self.write else []
        return ", ".join(said)


@dataclass(frozen=True, slots=True)
class Start:
    """How a confined server is started."""

    argv: list[str]
    env: dict[str, str]
    """It holds the server's own variables, so it belongs into no log."""


def command(
    program: str, args: Sequence[str], env: Mapping[str, str], confinement: Confinement, cwd: str | None = None
) -> Start:
    """How to start a program with its arguments and variables, confined.

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
) -> Start:
    found = shutil.which(program)
    if found is None:
        raise InvalidArgument(f"There is no program {program!r} here.")
    seen = _Seen()
    seen.add_program(os.path.abspath(found))
    for path in (*layout.LIBRARIES, *(CERTIFICATES if confinement.network else ())):
        if os.path.lexists(path):
            seen.add(path)
    for path in (*_script(found, args), *confinement.read, *([cwd] if cwd else [])):
        if not os.path.exists(path):
            raise InvalidArgument(f"{path}, which the server {program!r} may use, is not there.")
        seen.add(path)
    user = _user(confinement.write)
    settings = {
        "argv": [os.path.abspath(found), *args],
        "env": {**_variables(confinement, os.path.dirname(os.path.abspath(found))), **env},
        "cwd": cwd or HOME,
        "home": HOME,
        "readable": seen.places(),
        "links": seen.more_links(),
        "writable": [os.path.realpath(path) for path in confinement.write],
        "files": _files(user if user is not None else os.geteuid()),
        "user": user if user is not None else os.geteuid(),
        "carrier": layout.user(),
        "network": list(confinement.network),
        "engine": str(Path(HERE).parent.parent),
        "memory_bytes": confinement.memory_mb * MEBIBYTE,
        "files_bytes": confinement.files_mb * MEBIBYTE,
        "processes": confinement.processes,
        "cpu_seconds": confinement.cpu_seconds,
    }
    argv = [sys.executable, "-S", "-s", "-P", "-B", "-X", "utf8", "-c", COMMAND, HERE]
    return Start(argv, {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", SETTINGS: json.dumps(settings)})


def _variables(confinement: Confinement, folder: str) -> dict[str, str]:
    """What every process needs, and where the proxy is."""
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
        where = f"http://127.0.0.1:{proxy.PORT}"
        variables |= dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"), where)
        variables["NODE_USE_ENV_PROXY"] = "1"
    return variables


def _files(user: int) -> dict[str, str]:
    """Small files that programs look for."""
    return {
        "/etc/passwd": f"root:x:0:0:root:/root:/bin/false\nserver:x:{user}:{user}:server:{HOME}:/bin/false\n",
        "/etc/group": f"root:x:0:\nserver:x:{user}:\n",
        "/etc/hosts": "127.0.0.1 localhost\n",
        "/etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    }


def _user(writable: Sequence[str]) -> int | None:
    """Whom the server becomes: nobody, or the owner of the directories that it may write to; None: it stays ours.

    Raises:
        InvalidArgument: if there is no such directory, or no single owner without rights.
    """
    for path in writable:
        if not os.path.isdir(path):
            raise InvalidArgument(f"{path}, which a server may write to, is no directory.")
    user = layout.user()
    if user is None or not writable:
        return user
    owners = {os.stat(path).st_uid for path in writable}
    if len(owners) > 1 or 0 in owners:
        raise InvalidArgument(
            f"A server runs as the owner of the directories that it may write to; {', '.join(writable)} must belong "
            "to one user who is not root."
        )
    return owners.pop()


# ------------------------------------------------------------------ what belongs to a program


def _script(program: str, args: Sequence[str]) -> list[str]:
    """The script that an interpreter is given: the first argument, where that is a file."""
    first = args[0] if args else ""
    interpreter = os.path.basename(os.path.realpath(program)).startswith(
        ("python", "node", "bash", "sh", "deno", "bun")
    )
    return [os.path.abspath(first)] if interpreter and os.path.isfile(first) else []


class _Seen:
    """What a server sees of the host; links on the way to something are seen as links."""

    def __init__(self) -> None:
        self._real: dict[str, None] = {}
        self._links: dict[str, str] = {}

    def add(self, path: str) -> str:
        """Let it see what is at a path; where that really is."""
        links, real = _followed(os.path.abspath(path))
        self._links |= links
        self._real[real] = None
        return real

    def add_program(self, path: str) -> None:
        """Let it see a program, its interpreter and its packages."""
        folder = _environment_of(path)
        if folder is not None:
            self.add(folder)
            self._links |= _followed(_home_of(folder))[0]
        real = self.add(path)
        if real != path and _environment_of(real) not in (None, folder):
            self.add_program(real)  # a link into a virtual environment, as pipx makes them
        root, found, _ = real.rpartition("/node_modules/")
        if found:
            self.add(f"{root.partition('/node_modules/')[0]}/node_modules")
        prefix = os.path.dirname(os.path.dirname(real))
        if prefix not in SHARED and glob.glob(f"{glob.escape(prefix)}/lib/python3*"):
            self.add(f"{prefix}/lib")
        for interpreter in _named_in(real):
            self.add_program(interpreter)

    def places(self) -> list[str]:
        """Files and directories, none of which lies in another."""
        return [path for path in self._real if not self._within(os.path.dirname(path))]

    def more_links(self) -> list[tuple[str, str]]:
        """Links that do not lie in one of the places."""
        return [(path, target) for path, target in self._links.items() if not self._within(path)]

    def _within(self, path: str) -> bool:
        while path not in self._real and path != "/":
            path = os.path.dirname(path)
        return path in self._real


def _followed(path: str) -> tuple[dict[str, str], str]:
    """The links on the way to a path, and where it leads.

    Raises:
        InvalidArgument: if that has no end.
    """
    links: dict[str, str] = {}
    done, parts = "/", path.split("/")
    while parts:
        here = os.path.normpath(os.path.join(done, parts.pop(0)))
        if os.path.islink(here):
            if len(links) > 40:
                raise InvalidArgument(f"{path} leads round in circles.")
            links[here] = os.readlink(here)
            parts = links[here].split("/") + parts
            done = "/" if links[here].startswith("/") else done
        else:
            done = here
    return links, done


def _environment_of(path: str) -> str | None:
    """The virtual environment that a program is in."""
    folder = os.path.dirname(os.path.dirname(path))
    return folder if os.path.isfile(f"{folder}/pyvenv.cfg") else None


def _home_of(folder: str) -> str:
    """Where the interpreter of a virtual environment is."""
    for line in Path(folder, "pyvenv.cfg").read_text().splitlines():
        name, _, value = line.partition("=")
        if name.strip() == "home":
            return value.strip()
    return "/"


def _named_in(path: str) -> list[str]:
    """The interpreter that a script's first line names, and `env` where that looks for it."""
    with open(path, "rb") as file:
        first = file.readline(512)
    if not first.startswith(b"#!"):
        return []
    words = os.fsdecode(first[2:]).split()
    names = [word for word in words[1:] if not word.startswith("-")][:1] if words[0].endswith("/env") else []
    wanted = [words[0], *(shutil.which(name) or "" for name in names)]
    return [one for one in wanted if one and os.path.exists(one)]


# ------------------------------------------------------------------ whether it holds


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
    """Why no server can be confined here, with what to do; empty if it can. Tried once by each process."""
    global _obstacle  # noqa: PLW0603 (a once-only answer)
    with _lock:
        if _obstacle is None:
            _obstacle = _probe()
        return _obstacle


def _probe() -> str:
    """Confine a program that tries to get out."""
    if sys.platform != "linux":
        return f"Servers are confined on Linux only; this is {sys.platform}."
    try:
        with (
            tempfile.NamedTemporaryFile(prefix="gem-canary-") as secret,
            socket.create_server(("127.0.0.1", 0)) as listening,
        ):
            os.chmod(secret.name, 0o644)  # so that not being able to read it proves something
            known = [secret.name, str(listening.getsockname()[1]), str(os.getpid())]
            start = _command(sys.executable, ["-I", "-c", CANARY, *known], {}, Confinement(), None)
            done = subprocess.run(  # noqa: S603 (our own interpreter and program)
                start.argv, env=start.env | {"GEM_CANARY": "1"}, stdin=subprocess.DEVNULL, capture_output=True,
                text=True, timeout=START_SECONDS, cwd="/", check=False,
            )  # fmt: skip
    except (InvalidArgument, LookupError, OSError, subprocess.SubprocessError) as error:
        return f"This machine cannot confine servers ({error}). docs/sandbox.md says what helps."
    if done.stdout != "done\n":
        found = ", ".join(done.stdout.splitlines()) or done.stderr.strip().splitlines()[-1:] or "it ended"
        return f"This machine cannot confine servers ({found}). docs/sandbox.md says what helps."
    return ""
