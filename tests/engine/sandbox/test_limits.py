"""Every limit of a run is honoured, and the result says which one it met."""

import subprocess
import sys
from pathlib import Path

import pytest

from gem.errors import InvalidArgument
from gem.sandbox import Limits, Result
from gem.sandbox.pool import Pool

MEBIBYTE = 1 << 20


def test_a_program_prints_reads_and_ends(pool: Pool) -> None:
    result = pool.run("import sys\nprint(input()[::-1])\nprint('oops', file=sys.stderr)", stdin="añb\n")
    assert (result.status, result.stdout, result.stderr, result.exit_code) == ("ok", "bña\n", "oops\n", 0)
    assert result.level == pool.level
    assert result.ok


def test_an_exception_is_an_error_with_the_traceback_that_python_prints(pool: Pool, tmp_path: Path) -> None:
    code = "def half(x):\n    return 1 / x\n\nhalf(0)"
    result = pool.run(code)
    assert (result.status, result.exit_code) == ("error", 1)
    (tmp_path / "main.py").write_text(code)
    python = subprocess.run([sys.executable, "main.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "ZeroDivisionError: division by zero" in python.stderr
    assert result.stderr == python.stderr.replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("raise SystemExit", "ok", 0),
        ("import sys\nsys.exit(3)", "error", 3),
        ("raise SystemExit('no')", "error", 1),
        ("x = (", "error", 1),
        ("import os\nos._exit(5)", "error", 5),
        ("import atexit\natexit.register(print, 'last')", "ok", 0),
        ("import ctypes\nctypes.string_at(0)", "killed", -11),
        ("assert __name__ == '__main__'", "ok", 0),
    ],
)
def test_a_program_ends_as_it_would_without_a_sandbox(pool: Pool, code: str, status: str, exit_code: int) -> None:
    result = pool.run(code)
    assert (result.status, result.exit_code) == (status, exit_code)


def test_a_thread_that_is_not_a_daemon_is_waited_for(pool: Pool) -> None:
    start = "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()\n"
    assert pool.run(start + "print('early')").stdout == "early\nlate\n"


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "import time\ntime.sleep(60)",
        "import signal\nfor n in set(range(1, 32)) - {9, 19}: signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
        "import threading, time\nfor _ in range(4): threading.Thread(target=lambda: time.sleep(60)).start()",
        "x = 10 ** 10 ** 8",
    ],
    ids=["loop", "sleep", "ignored signals", "threads", "one instruction"],
)
def test_wall_time_ends_a_run(pool: Pool, code: str) -> None:
    result = pool.run(code, limits=Limits(wall_seconds=0.4))
    assert (result.status, result.exit_code) == ("timeout", None)
    assert result.wall_seconds >= 0.4
    assert pool.run("print(1)").ok


def test_processor_time_ends_a_run(pool: Pool) -> None:
    result = pool.run("while True: pass", limits=Limits(wall_seconds=60, cpu_seconds=1))
    assert result.status == "timeout"
    assert result.cpu_seconds < 4
    assert result.cpu_seconds >= 1 or result.level == "runsc"  # gVisor's processes are not all counted


def test_what_was_printed_before_the_end_is_kept(pool: Pool) -> None:
    result = pool.run("print('before', flush=True)\nwhile True: pass", limits=Limits(wall_seconds=0.5))
    assert (result.status, result.stdout) == ("timeout", "before\n")


@pytest.mark.parametrize(
    "code",
    ["x = bytearray(3 << 30)", "x = []\nwhile True: x.append(bytes(1 << 20))", "import mmap\nmmap.mmap(-1, 3 << 30)"],
    ids=["at once", "little by little", "mapped"],
)
def test_memory_is_limited(pool: Pool, code: str) -> None:
    result = pool.run(code, limits=Limits(memory_bytes=128 * MEBIBYTE))
    assert result.status in ("memory", "error")
    assert result.memory_bytes < 256 * MEBIBYTE


def test_memory_up_to_the_limit_can_be_used(pool: Pool) -> None:
    assert pool.run("print(len(bytearray(200 << 20)))", limits=Limits(memory_bytes=256 * MEBIBYTE)).ok


def test_output_is_cut_and_the_run_ends(pool: Pool) -> None:
    result = pool.run("while True: print('x' * 1000)", limits=Limits(output_bytes=5000))
    assert result.status == "output"
    assert len(result.stdout) == 5000


def test_both_streams_are_limited(pool: Pool) -> None:
    result = pool.run("import sys\nwhile True: sys.stderr.write('y' * 1000)", limits=Limits(output_bytes=5000))
    assert result.status == "output"
    assert len(result.stderr) == 5000


@pytest.mark.parametrize(
    "code",
    [
        "with open('big', 'wb') as file:\n    while True: file.write(bytes(1 << 20))",
        "import time\nfor n in range(10**6):\n    open(f'f{n}', 'wb').write(bytes(1 << 18))\n    time.sleep(0.001)",
    ],
    ids=["one file", "many files"],
)
def test_files_are_limited(pool: Pool, code: str) -> None:
    result = pool.run(code, limits=Limits(files_bytes=4 * MEBIBYTE))
    assert result.status in ("output", "error")
    assert pool.run("import os\nprint(os.listdir('.'))").stdout == "[]\n"


def test_a_run_may_write_and_read_files_of_its_own(pool: Pool) -> None:
    own = (
        "import os, tempfile\nos.makedirs('a/b')\nopen('a/b/c', 'w').write('kept')\nos.rename('a/b/c', 'a/d')\n"
        "print(open('a/d').read(), os.listdir('a'))\n"
        "with tempfile.TemporaryDirectory() as folder: open(folder + '/x', 'w').write('y')\n"
    )
    result = pool.run(own)
    assert result.stdout in ("kept ['b', 'd']\n", "kept ['d', 'b']\n"), result.stderr


def test_a_larger_working_directory_can_be_asked_for(pool: Pool) -> None:
    write = "print(open('big', 'wb').write(bytes(40 << 20)))"
    assert not pool.run(write).ok
    assert pool.run(write, limits=Limits(files_bytes=64 * MEBIBYTE)).stdout == f"{40 << 20}\n"


def test_random_numbers_and_the_order_of_sets_are_the_same_in_every_run(pool: Pool) -> None:
    draw = "import random\nprint(random.random(), set('abcdefgh'))"
    assert pool.run(draw).stdout == pool.run(draw).stdout
    assert "0." in pool.run(draw).stdout


@pytest.mark.parametrize(
    ("code", "printed"),
    [
        ("import numpy as np\nprint(np.linalg.inv(np.eye(2)).sum())", "2.0\n"),
        ("import sympy\nx = sympy.Symbol('x')\nprint(sympy.integrate(2 * x, x))", "x**2\n"),
        ("import pandas as pd\nprint(pd.DataFrame({'a': [1, 2]}).a.sum())", "3\n"),
        ("import asyncio\nprint(asyncio.run(asyncio.sleep(0, 'slept')))", "slept\n"),
        ("import sqlite3\nprint(sqlite3.connect(':memory:').execute('SELECT 6 * 7').fetchone())", "(42,)\n"),
    ],
    ids=["numpy", "sympy", "pandas", "asyncio", "standard library"],
)  # fmt: skip
def test_packages_can_be_imported(pool: Pool, code: str, printed: str) -> None:
    result = pool.run(code)
    if "No module named" in result.stderr:
        pytest.skip(result.stderr.splitlines()[-1])
    assert result.stdout == printed, result.stderr


@pytest.mark.parametrize("wrong", [{"wall_seconds": 0}, {"memory_bytes": -1}, {"cpu_seconds": 0.0}, {"threads": 0}])
def test_a_limit_must_be_positive(wrong: dict[str, int]) -> None:
    with pytest.raises(InvalidArgument, match="must be more than 0"):
        Limits(**wrong)


def test_undecodable_output_is_replaced(pool: Pool) -> None:
    result: Result = pool.run("import sys\nsys.stdout.buffer.write(b'a\\xffb')")
    assert result.stdout == "a\ufffdb"
