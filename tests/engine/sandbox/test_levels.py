"""The strongest level that holds is used, and where none holds nothing is run."""

import os
import struct
import subprocess
import sys

import pytest

from gem.errors import SandboxUnavailable
from gem.sandbox import gvisor, levels, pool
from gem.sandbox.inside.confinement import seccomp
from gem.sandbox.inside.confinement.syscalls import AUDIT_ARCH, numbers

WITHOUT = """
import ctypes, sys
from gem.sandbox.inside.confinement import kernel, seccomp
kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
seccomp.install(bytes.fromhex(sys.argv[1]))
from gem.sandbox import levels
import gem.sandbox
print(gem.sandbox.level())
for probe in levels.choice().probes:
    print(probe.level, probe.message)
try:
    print(gem.sandbox.run("print(6 * 7)").stdout)
except gem.errors.SandboxUnavailable as error:
    print("SandboxUnavailable", error)
"""


def without(call: str, first_argument: int | None = None, runsc: str = "gem-no-such-program") -> str:
    """The output of a process that chooses a level, on a kernel that refuses a system call (ENOSYS).

    With `first_argument`, the call is refused only with this argument.
    """
    program = struct.pack("HBBI", 0x20, 0, 0, 0)
    if first_argument is None:
        program += struct.pack("HBBI", 0x15, 0, 1, numbers()[call])
    else:
        program += struct.pack("HBBI", 0x15, 0, 3, numbers()[call]) + struct.pack("HBBI", 0x20, 0, 0, 16)
        program += struct.pack("HBBI", 0x15, 0, 1, first_argument)
    program += struct.pack("HBBI", 0x06, 0, 0, 0x00050026) + struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)
    command = [sys.executable, "-c", WITHOUT, program.hex()]
    env = {**os.environ, gvisor.RUNSC_VARIABLE: runsc}
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True, env=env).stdout


def works(level: levels.Level) -> None:
    """Skip a test that needs a level which is not here."""
    probe = levels.probe(level)
    if not probe.ok:
        pytest.skip(f"no level {level} here: {probe.message}")


def test_without_namespaces_it_is_landlock() -> None:
    works("landlock")
    output = without("unshare")
    assert output.startswith("landlock\n")
    assert output.endswith("42\n\n")


def test_without_landlock_nothing_is_run() -> None:
    output = without("landlock_create_ruleset")
    assert output.startswith("disabled\n")
    assert "SandboxUnavailable This machine cannot confine untrusted code" in output
    assert "42" not in output


def test_without_landlock_it_is_gvisor_where_that_is_installed() -> None:
    works("runsc")
    output = without("landlock_create_ruleset", runsc=gvisor.runsc_path() or "")
    assert output.startswith("runsc\n")
    assert output.endswith("42\n\n")


def test_without_a_filter_of_system_calls_nothing_is_run() -> None:
    output = without("prctl", seccomp.PR_SET_SECCOMP)
    assert output.startswith("disabled\n")
    assert "42" not in output


def test_a_minimum_leaves_weaker_levels_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEM_SANDBOX_MIN", "full")
    monkeypatch.setattr(levels, "probe", lambda level: levels.Probe(level, False, "no"))
    choice = levels.choose()
    assert choice.level == "disabled"
    assert [probe.message for probe in choice.probes] == ["no", "weaker than GEM_SANDBOX_MIN=full allows", "no"]


def test_an_unknown_minimum_disables_code_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEM_SANDBOX_MIN", "strong")
    choice = levels.choose()
    assert choice.level == "disabled"
    assert "GEM_SANDBOX_MIN is 'strong'; it must be one of landlock, full, runsc." in choice.message


def test_levels_are_tried_in_the_order_that_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "probe", lambda level: levels.Probe(level, level == "landlock", "tried"))
    monkeypatch.setenv("GEM_SANDBOX", "runsc,landlock")
    choice = levels.choose()
    assert [probe.level for probe in choice.probes] == ["runsc", "landlock"]
    assert choice.level == "landlock"
    monkeypatch.setenv("GEM_SANDBOX", "runsc,wasm")
    assert "GEM_SANDBOX names 'wasm'; the levels are full, landlock, runsc." in levels.choose().message


def test_on_other_systems_it_says_that_linux_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    choice = levels.choose()
    assert (choice.level, choice.message) == ("disabled", "Untrusted code is run on Linux only; this is darwin.")


def test_a_disabled_machine_raises_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(levels, "_choice", levels.LevelChoice("disabled", (), "because"))
    pool.close_shared()
    with pytest.raises(SandboxUnavailable, match="because"):
        pool.shared()


def test_a_level_that_does_not_hold_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    works("landlock")
    monkeypatch.setattr(levels, "CANARY", "print('read a file of the host')\nprint('done')")
    assert levels.probe("landlock").message == "it does not hold: read a file of the host, done"
    assert levels.choose().level == "disabled"


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("alone", [True, False])
def test_the_filter_is_assembled_for_both_architectures(machine: str, alone: bool) -> None:
    program = seccomp.build(is_isolated=alone, machine=machine)
    number = numbers(machine)
    assert decide(program, machine, number["read"]) == seccomp.ALLOW
    assert decide(program, machine, number["ptrace"]) == seccomp.KILL_PROCESS
    assert decide(program, machine, number["kill"]) == (seccomp.ALLOW if alone else seccomp.ERRNO | 1)
    assert decide(program, machine, number["clone"], 0x3D0F00) == seccomp.ALLOW
    assert decide(program, machine, number["clone"], 17) == seccomp.ERRNO | 1
    assert decide(program, machine, number["clone"], 0x10000 | 0x10000000) == seccomp.ERRNO | 1
    assert decide(program, machine, number["clone3"]) == seccomp.ERRNO | 38
    assert decide(program, machine, number["socketpair"], 1) == seccomp.ALLOW
    assert decide(program, machine, number["socketpair"], 2) == seccomp.ERRNO | 1
    assert decide(program, machine, number["prlimit64"], 0) == seccomp.ALLOW
    assert decide(program, machine, number["prlimit64"], 1 << 32) == seccomp.ERRNO | 1
    assert decide(program, machine, 9999) == seccomp.ERRNO | 1
    other = "aarch64" if machine == "x86_64" else "x86_64"
    assert decide(program, other, number["read"]) == seccomp.KILL_PROCESS


def decide(program: bytes, machine: str, number: int, *arguments: int) -> int:
    """What the kernel would do with a call: the filter, executed."""
    data = struct.pack("IIQ6Q", number, AUDIT_ARCH[machine], 0, *(*arguments, 0, 0, 0, 0, 0, 0)[:6])
    loaded, at = 0, 0
    while True:
        code, if_true, if_false, value = struct.unpack_from("HBBI", program, at * 8)
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            (loaded,) = struct.unpack_from("I", data, value)
        elif code == 0x54:
            loaded &= value
        else:
            holds = loaded == value if code == 0x15 else loaded >= value
            at += if_true if holds else if_false
