"""Commands in containers: what the engine is asked for, trees as archives and, where one answers, the real thing."""

import os
import subprocess
from pathlib import Path

import pytest

import gem
from gem.errors import EnvironmentFailure
from gem.sandbox import containers, shell
from gem.sandbox.command import CommandResult, ShellLimits
from gem.sandbox.inside.files.tree import TooBig, Tree
from gem.sandbox.inside.settings import HOME
from gem.sandbox.shell import file, folder

LIMITS = ShellLimits(seconds=6.0)
TREE: Tree = {
    "a.txt": file("hello\n"), "d": folder(0o700), "d/b": ["bytes", 0o640, "/w==", shell.EPOCH],
    "d/run.sh": file("echo run\n", 0o755), "l": ["link", 0o777, "/etc/shadow", shell.EPOCH],
}  # fmt: skip


def test_everything_that_confines_is_asked_for() -> None:
    asked = containers.run_arguments(ShellLimits(memory_bytes=1 << 28, processes=9, disk_bytes=1 << 20))
    for wanted in (
        "--network=none", "--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges", "--user=65534:65534",
        "--memory=268435456", "--memory-swap=268435456", "--pids-limit=9", "--rm", "--pull=never",
    ):  # fmt: skip
        assert wanted in asked
    assert not any(word in " ".join(asked) for word in ("--privileged", "--volume", "--mount", "--publish", "=host"))
    assert any(one.startswith(f"--tmpfs={HOME}:") and "size=1048576" in one for one in asked)


def test_a_tree_becomes_an_archive_and_back() -> None:
    packed = containers.pack(TREE, "declare -x A=b\n")
    tree, after = containers.unpack(packed, LIMITS)
    assert tree == dict(sorted(TREE.items()))
    assert after == ""


def test_an_archive_that_holds_too_much_or_is_none_is_refused() -> None:
    packed = containers.pack({"big": file("x" * 2000)}, "")
    with pytest.raises(TooBig, match="more than 1,000 bytes"):
        containers.unpack(packed, ShellLimits(tree_bytes=1000))
    with pytest.raises(TooBig, match="more than 2 files"):
        containers.unpack(containers.pack(TREE, ""), ShellLimits(tree_entries=2))
    with pytest.raises(EnvironmentFailure, match="cannot be read"):
        containers.unpack(b"no archive" * 100, LIMITS)


def test_an_engine_that_is_not_there_or_lacks_the_image_is_said(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GEM_CONTAINER_ENGINE", "gem-no-such-engine")
    with pytest.raises(containers.NoContainerEngine, match="gem-no-such-engine is not installed"):
        containers.find_engine()
    engine = tmp_path / "engine"
    engine.write_text("#!/bin/sh\necho 'No such image' >&2\nexit 1\n")
    engine.chmod(0o755)
    monkeypatch.setenv("GEM_CONTAINER_ENGINE", str(engine))
    monkeypatch.setenv("GEM_TERMINAL_IMAGE", "some:image")
    with pytest.raises(containers.NoContainerEngine, match=r"No such image.*pull some:image"):
        containers.find_engine()


def test_without_namespaces_and_engine_both_reasons_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEM_CONTAINER_ENGINE", "gem-no-such-engine")
    monkeypatch.setattr(shell, "_obstacle", None)
    monkeypatch.setattr(shell, "_probe", lambda: "There are no namespaces.")
    said = "There are no namespaces. Nor can a container: gem-no-such-engine is not installed."
    assert shell.obstacle() == said
    assert shell.confinement() == ""


# ------------------------------------------------------------------ with an engine


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> str:
    """An engine that holds, as the choice of this process."""
    monkeypatch.setattr(shell, "_obstacle", None)
    monkeypatch.setattr(shell, "_engine", "")
    monkeypatch.setattr(shell, "_probe", lambda: "There are no namespaces.")
    if shell.obstacle():
        pytest.skip(shell.obstacle())
    return shell._engine


def run(command: str, limits: ShellLimits = LIMITS, tree: Tree | None = None, state: str = "") -> CommandResult:
    return shell.execute(command, TREE if tree is None else tree, shell=state, limits=limits)


def test_a_command_works_on_its_tree_and_the_next_one_goes_on_from_there(engine: str) -> None:
    done = run("./d/run.sh && cd d && export FOO=bar && rm b && printf more >>../a.txt && exit 3")
    assert (done.status, done.exit_code, done.output) == ("ended", 3, "run\n")
    assert done.tree is not None
    assert done.tree["a.txt"][2] == "hello\nmore"
    assert "d/b" not in done.tree
    assert done.tree["l"] == TREE["l"]
    assert run("echo $FOO; pwd", tree=done.tree, state=done.shell).output == f"bar\n{HOME}/d\n"
    assert shell.confinement() == f"in containers of {os.path.basename(engine)}"


def test_a_container_sees_nothing_of_the_host_and_reaches_nothing(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GEM_SECRET", "hidden")
    secret = tmp_path / "secret"
    secret.write_text("hidden")
    tmp_path.chmod(0o755)
    done = run(
        f"cat {secret} l; cat /proc/*/environ | tr '\\0' '\\n'; env; ls /var/run/docker.sock;"
        "(exec 3<>/dev/tcp/127.0.0.1/22) && echo OPEN; mount -t tmpfs x /tmp && echo OPEN;"
        "echo >/usr/bin/x && echo OPEN;"
        "unshare -Ur true && echo OPEN; kill -9 1; echo alive"
    )
    assert "hidden" not in done.output
    assert "OPEN" not in done.output
    assert "alive" in done.output


@pytest.mark.parametrize(
    ("command", "ending"),
    [
        ("while :; do :; done", "timeout"),
        ("yes", "output"),
        ("x=$(head -c 900000000 /dev/zero | tr '\\0' x)", "memory"),
        ("for i in $(seq 1500); do : >f$i; done", "files"),
        ("head -c 9000000 /dev/zero >big", "files"),
    ],
)
def test_what_takes_too_much_is_ended(engine: str, command: str, ending: str) -> None:
    done = run(command, ShellLimits(seconds=20.0 if ending == "memory" else 6.0, memory_bytes=64 << 20))
    assert done.status in (ending, "timeout") if ending in ("memory", "output") else done.status == ending
    assert len(done.output) < 20_000


def test_a_fork_bomb_stays_in_its_cage_and_nothing_is_left(engine: str) -> None:
    run(":(){ :|:& };:; sleep 600 & disown")
    listed = subprocess.run(
        [engine, "ps", "--all", "--quiet", "--filter", "label=gemweb-terminal"], capture_output=True, check=True
    )
    assert listed.stdout == b""


def test_a_task_is_solved_in_containers(engine: str) -> None:
    env = gem.make("terminal:Shell-v0-easy", seed=3)
    env.reset(seed=3)
    observation, *_ = env.step("<bash>echo $((6 * 7))</bash>")
    assert "42" in observation
    env.close()
