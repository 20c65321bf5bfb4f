"""Attempts to get out of the sandbox of a shell, to stay in it, and to use it up."""

import os
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from gem.sandbox.command import CommandResult, ShellLimits
from gem.sandbox.inside.confinement.syscalls import numbers
from gem.sandbox.shell import execute, file

LIMITS = ShellLimits(seconds=5.0)


def run(command: str, limits: ShellLimits = LIMITS) -> CommandResult:
    return execute(command, {"mine.txt": file("mine\n")}, limits=limits)


def test_files_of_the_host_cannot_be_read() -> None:
    with tempfile.NamedTemporaryFile("w", suffix=".secret") as secret:
        secret.write("the host's own")
        secret.flush()
        home, source = Path.home(), Path(__file__).resolve()
        for path in (secret.name, str(source), "/etc/shadow", "/proc/1/cwd/etc/shadow", f"{home}/.ssh", "/var/log"):
            done = run(f"cat '{path}' || ls '{path}' || ls '{path}/../..'")
            assert "the host's own" not in done.output
            assert done.exit_code != 0 or not path.endswith(("shadow", ".secret", ".py"))
        assert "secret" not in run(f"ls {os.path.dirname(secret.name)}").output


def test_the_environment_and_processes_of_the_host_cannot_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgres://secret")
    done = run("env; cat /proc/*/environ | tr '\\0' '\\n'; cat /proc/*/cmdline | tr '\\0' ' '; ps aux")
    assert "secret" not in done.output
    assert "pytest" not in done.output
    assert "gem/sandbox" not in done.output


def test_the_programs_of_the_host_cannot_be_changed() -> None:
    done = run("touch /usr/bin/x /bin/ls; echo x >/etc/passwd; mount -o remount,rw /; rm -rf /usr/lib; ls /usr/lib")
    assert done.output.count("Read-only file system") >= 2
    assert Path("/usr/lib").exists()
    assert not Path("/usr/bin/x").exists()


def test_there_is_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        attempts = f"""
            (exec 3<>/dev/tcp/127.0.0.1/{port}) && echo reached
            python3 - <<'END'
import socket
for family in (socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK, socket.AF_PACKET, 40):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_RAW):
        try:
            socket.socket(family, kind)
            print("opened", family, kind)
        except OSError as error:
            pass
print("tried")
END"""
        done = run(attempts)
    assert "reached" not in done.output
    assert "opened" not in done.output
    assert "tried" in done.output


def test_abstract_sockets_of_the_host_cannot_be_reached() -> None:
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("\0gem-terminal-test")
        server.listen()
        code = "import socket; socket.socket(socket.AF_UNIX).connect(chr(0) + 'gem-terminal-test')"
        assert "ConnectionRefusedError" in run(f'python3 -c "{code}"').output


def test_a_fork_bomb_stays_in_its_cage() -> None:
    done = run(":(){ :|:& };:; sleep 1; echo still here")
    assert done.status in ("ended", "timeout", "memory")
    assert run("echo fine").output == "fine\n"


def test_memory_is_limited_for_one_process_and_for_all_together() -> None:
    assert "MemoryError" in run("python3 -c 'bytearray(10**9)'").output
    hog = "python3 -c 'import time; x = bytearray(2 * 10**8); time.sleep(9)' &"
    assert run(f"for i in 1 2 3 4 5 6; do {hog} done; wait").status in ("memory", "timeout")


def test_disks_are_limited_and_what_is_left_is_not_kept() -> None:
    done = run("head -c 200000000 /dev/zero >/home/agent/a; head -c 200000000 /dev/zero >/tmp/b; ls -s /tmp")
    assert "No space left on device" in done.output or "File size limit" in done.output
    assert (done.status, done.tree) == ("files", None)
    assert "more than 1,048,576 bytes" in done.excess
    many = run("for i in $(seq 1500); do : >f$i; done; echo made")
    assert (many.status, many.excess) == ("files", "more than 1,000 files and folders")


def test_endless_output_is_ended() -> None:
    done = run("yes")
    assert done.status in ("output", "timeout")
    assert len(done.output) < 20_000


@pytest.mark.parametrize(
    "command",
    [
        "sleep 600 & disown; echo left",
        "setsid sleep 600 & echo left",
        "nohup sleep 600 >/dev/null 2>&1 & echo left",
        'python3 -c \'import os; os.fork() or os.setsid() or os.execlp(*["sleep"] * 2, "600")\'; echo left',
        "trap '' TERM INT HUP; (trap '' TERM; sleep 600) & echo left",
    ],
)
def test_nothing_runs_on_after_the_command(command: str) -> None:
    before = sleepers()
    assert run(command).output == "left\n"
    time.sleep(0.2)
    assert sleepers() <= before


def sleepers() -> int:
    """Processes of the machine that sleep as only these tests do."""
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    return sum(line.strip() == "sleep 600" for line in listed.splitlines())


def test_a_command_that_ignores_signals_is_ended_all_the_same() -> None:
    done = run("trap '' TERM INT HUP ALRM; while :; do :; done", ShellLimits(seconds=1.0))
    assert (done.status, done.exit_code) == ("timeout", None)


def test_process_1_cannot_be_killed_or_looked_into() -> None:
    done = run("kill -9 1; kill -9 -1; cat /proc/1/environ /proc/1/maps; ls -l /proc/1/fd; echo alive")
    assert done.output.endswith("alive\n")
    assert "gem" not in done.output.replace("bash: line", "")


def test_no_rights_can_be_gained() -> None:
    done = run("id -u; unshare -Ur id -u; mount -t tmpfs x /tmp; chroot / id; mknod x b 1 1; sudo -n id; su -c id")
    assert done.output.splitlines()[0] != "0"
    assert "uid=0" not in done.output
    assert "\n0\n" not in f"\n{done.output}"


@pytest.mark.parametrize(
    "call",
    ["ptrace(0, 0, 0, 0)", "unshare(0x10000000)", "mount(b'x', b'/tmp', b'tmpfs', 0, 0)", "syscall(321, 0, 0, 0)",
     "syscall(425, 8, 0)", "syscall(250, 0, 0)", "setns(0, 0)"],
)  # fmt: skip
def test_calls_that_reach_into_the_kernel_are_refused(call: str) -> None:
    code = f"import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.{call}, ctypes.get_errno())"
    assert run(f'python3 -c "{code}"').output == "-1 1\n"


def test_a_namespace_cannot_be_made_by_clone_either() -> None:
    code = (
        "import ctypes; l = ctypes.CDLL(None, use_errno=True);"
        "print(l.syscall(56, 0x10000000 | 17, 0, 0, 0, 0), ctypes.get_errno());"
        "print(l.syscall(435, 0, 0), ctypes.get_errno())"
    )
    if os.uname().machine != "x86_64":
        pytest.skip("the numbers are those of x86_64")
    assert run(f'python3 -c "{code}"').output == "-1 1\n-1 38\n"


def test_links_and_pipes_in_the_tree_lead_nowhere() -> None:
    done = run("ln -s /etc/shadow s; ln -s / root; mkfifo pipe; ln -s loop loop; mkdir -m 0 shut; echo ok")
    assert done.tree is not None
    assert done.tree["s"][:3] == ["link", 0o777, "/etc/shadow"]
    assert "pipe" not in done.tree
    again = execute("cat s root/etc/shadow; ls -d shut", done.tree)
    assert "No such file" in again.output
    assert again.output.endswith("shut\n")


def test_a_tree_too_deep_to_be_read_is_not_kept() -> None:
    done = run("n=$(printf 'x%.0s' $(seq 250)); for i in $(seq 20); do mkdir $n; cd -P $n; done; echo deep")
    assert (done.status, done.tree) == ("files", None)
    assert "cannot be read" in done.excess


@pytest.mark.parametrize("call", ["memfd_create", "shmget", "msgget", "semget"])
def test_memory_that_belongs_to_no_process_cannot_be_had(call: str) -> None:
    code = f"import ctypes; l = ctypes.CDLL(None, use_errno=True); print(l.syscall({numbers()[call]}, 0, 9, 0o1600))"
    assert run(f'python3 -c "{code}"').output == "-1\n"


def test_what_the_shell_remembers_cannot_be_used_to_get_out() -> None:
    done = run("export X='$(touch /home/agent/owned)'; mkdir $'new\\nline'; cd $'new\\nline'")
    assert done.tree is not None
    again = execute('echo "$X"; ls /home/agent', done.tree, shell=done.shell)
    assert "$(touch /home/agent/owned)" in again.output
    huge = run("export X=$(head -c 100000 /dev/zero | tr '\\0' x)")
    assert huge.shell == ""


def test_names_of_files_may_be_anything() -> None:
    done = run("touch -- $'\\377' $'a\\nb' ' ' '-rf' 'ä'; ls | wc -l")
    assert done.tree is not None
    assert {"a\nb", " ", "-rf", "ä"} <= set(done.tree)
    assert execute("ls | wc -l", done.tree).exit_code == 0
