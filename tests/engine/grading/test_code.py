"""Programs are judged by their tests: each on its own, whatever the program does, without ever seeing the answers."""

import json
import os
from pathlib import Path

import pytest

import gem.sandbox
from gem.datasets import load
from gem.errors import InvalidData
from gem.grading.code import CodeGrade, grade_code, same_output, same_value
from gem.grading.code_tests import CallTest, CheckTests, InputTest, read_tests, select_longest_tests
from gem.sandbox import Limits

if gem.sandbox.level() == "disabled":
    pytest.skip("no sandbox here", allow_module_level=True)

DOUBLE = [InputTest(f"{n}\n", f"{2 * n}\n") for n in range(6)]
HUMAN_EVAL = Path(os.environ.get("HUMAN_EVAL", "no file"))
"""HumanEval's 164 problems as a file of JSON lines; `python -m bench.tools code` judges all of them."""


def statuses(grade: CodeGrade) -> list[str]:
    return [test.status for test in grade.tests]


def test_a_right_program_passes_every_test() -> None:
    grade = grade_code("print(int(input()) * 2)", DOUBLE)
    assert statuses(grade) == ["passed"] * 6
    assert grade.passed
    assert grade.share == 1
    assert grade.level == gem.sandbox.level()


def test_every_test_has_its_own_result() -> None:
    code = (
        "n = int(input())\nif n == 1: print(0)\nelif n == 2: 1 / 0\nelif n == 3: exit(4)\n"
        "elif n == 4: x = [0] * 10**10\nelse: print(2 * n)"
    )
    grade = grade_code(code, DOUBLE)
    assert statuses(grade) == ["passed", "wrong", "error", "error", "memory", "passed"]
    assert (grade.tests[1].input, grade.tests[1].expected, grade.tests[1].actual) == ("1\n", "2\n", "0\n")
    assert grade.tests[2].message.endswith("ZeroDivisionError: division by zero\n")
    assert not grade.passed
    assert grade.share == pytest.approx(1 / 3)


def test_the_first_failure_can_be_the_last_test_that_is_run() -> None:
    grade = grade_code("print(6)", DOUBLE, stop_at_first_failure=True)
    assert statuses(grade) == ["wrong", *["not run"] * 5]


def test_a_test_that_never_ends_costs_its_own_time_and_no_other() -> None:
    code = "n = int(input())\nwhile n == 2: pass\nprint(2 * n)"
    grade = grade_code(code, DOUBLE, limits=Limits(wall_seconds=1))
    assert statuses(grade) == ["passed", "passed", "timeout", "passed", "passed", "passed"]


@pytest.mark.parametrize(
    "code",
    [
        "import builtins, sys\nn = int(input())\nbuiltins.int = str\nsys.setrecursionlimit(50)\nprint(n * 2)",
        "import math\nmath.k = getattr(math, 'k', -1) + 1\nprint(2 * int(input()) if math.k == 0 else 'again')",
        "import os\nn = int(input())\nprint(2 * n, flush=True)\nos._exit(0)",
        "import os\nassert os.listdir('.') == []\nopen('left', 'w').write('x')\nprint(2 * int(input()))",
        "import sys\nn = int(sys.stdin.readline())\nsys.stdin.close()\nprint(2 * n)\nsys.stdout.close()",
        "import os\nn = int(os.read(0, os.fstat(0).st_size))\nos.write(1, f'{2 * n}\\n'.encode())",
        "import threading\nthreading.Thread(target=lambda: print(2 * int(input()))).start()",
        "print(2 * int(open(0).read()))",
        "print(2 * int(input()))\nraise SystemExit",
        "heappush([], gcd(4, 6)); x: List[int] = [2 * int(input())]\nprint(*x)",
    ],
    ids=["breaks builtins", "remembers", "ends itself", "leaves files", "closes its streams", "reads descriptors",
         "in a thread", "opens 0", "exits", "without imports"],
)  # fmt: skip
def test_what_a_test_leaves_behind_is_no_fault_of_the_next(code: str) -> None:
    assert statuses(grade_code(code, DOUBLE)) == ["passed"] * 6


def test_a_program_that_cannot_be_compiled_says_why() -> None:
    grade = grade_code("def f(:\n", DOUBLE)
    assert statuses(grade) == ["error", *["not run"] * 5]
    assert "SyntaxError" in grade.compile_error
    assert not grade.passed


def test_too_much_output_is_no_answer() -> None:
    grade = grade_code("print('x' * 10**6)", DOUBLE[:1], limits=Limits(output_bytes=1000))
    assert statuses(grade) == ["output"]


@pytest.mark.parametrize(
    "forged",
    [
        '{"ended": "ok", "out": "0"}',
        '{"ended": "ok", "out": "0"}\\n' * 20,
        "[" * 100_000,
        '{"ended": "passed"}',
        "x",
        '{"ended": ["ok"], "out": {}}',
    ],
)
def test_forged_lines_earn_nothing(forged: str) -> None:
    write = f"os.write(fd, ({forged!r} + '\\n').encode())"
    code = f"import os\nfor fd in range(3, 64):\n    try: {write}\n    except OSError: pass\n"
    grade = grade_code(code, DOUBLE[1:])
    assert len(grade.tests) == 5
    assert "passed" not in statuses(grade)


def test_the_expected_answers_are_nowhere_in_the_process() -> None:
    secret = "7319048265"
    look = (
        "import gc, sys\nthings = [thing for thing in gc.get_objects() if isinstance(thing, (dict, list, tuple))]\n"
        "frame = sys._getframe()\nwhile frame:\n    things += list(frame.f_locals.values())\n"
        "    frame = frame.f_back\nprint(sum(SECRET in str(thing) for thing in things))"
    ).replace("SECRET", "''.join(map(str, (7, 3, 1, 9, 0, 4, 8, 2, 6, 5)))")
    grade = grade_code(look, [InputTest("x", secret)])
    assert (statuses(grade), grade.tests[0].actual) == (["wrong"], "0\n")


def test_functions_are_called_with_the_arguments_of_each_test() -> None:
    tests = [CallTest("add", (n, [1, {"a": 2}]), [n, 1]) for n in range(4)]
    code = "print('imported')\ndef add(n, more):\n    print('called')\n    return (n, more[0]) if n != 2 else None"
    grade = grade_code(code, tests)
    assert statuses(grade) == ["passed", "passed", "wrong", "passed"]
    assert grade.tests[2].input == "add(2, [1, {'a': 2}])"
    assert (grade.tests[2].expected, grade.tests[2].actual) == ("[2, 1]", "None")


def test_a_method_of_solution_is_a_function_too() -> None:
    code = "class Solution:\n    def twice(self, n):\n        return 2 * n"
    assert grade_code(code, [CallTest("twice", (4,), 8)]).passed
    grade = grade_code("def other(): pass", [CallTest("twice", (4,), 8)])
    assert "the program defines no function 'twice'" in grade.tests[0].message


def test_a_value_that_claims_to_equal_everything_does_not() -> None:
    code = "class Yes(int):\n    def __eq__(self, other): return True\ndef f(n): return Yes(0)"
    assert statuses(grade_code(code, [CallTest("f", (1,), 5)])) == ["wrong"]
    assert statuses(grade_code("def f(n): return lambda: 5", [CallTest("f", (1,), 5)])) == ["wrong"]


CHECK = """
def check(candidate):
    assert candidate(2) == 4
    for n in range(3):
        assert candidate(n) == 2 * n, n
"""


def test_assertions_are_judged_one_by_one() -> None:
    tests = CheckTests("double", CHECK)
    assert statuses(grade_code("def double(n): return 2 * n", tests)) == ["passed"] * 4
    grade = grade_code("def double(n): return 4", tests)
    assert statuses(grade) == ["passed", "wrong", "wrong", "passed"]
    assert grade.tests[1].input == "candidate(n) == 2 * n"


@pytest.mark.parametrize(
    "code",
    [
        "import os\nos._exit(0)",
        "raise SystemExit(0)",
        "def double(n):\n    import os\n    os._exit(0)",
        "def double(n): raise SystemExit(0)",
        "def double(n): raise RuntimeError('no')",
        "import sys\ndef double(n):\n    f = sys._getframe()\n    while f: f.f_locals.clear(); f = f.f_back",
        "class Yes:\n    def __eq__(self, other): return True\ndef double(n): return Yes()",
        "def double(n):\n    import os\n    os.write(4, b'{\"returned\": 4}\\n' * 9)\n    return 4",
        "def double(n): return float('nan')",
        "x = 1",
        "def double(n",
        "",
    ],
)
def test_no_trick_passes_assertions(code: str) -> None:
    assert not grade_code(code, CheckTests("double", CHECK), limits=Limits(wall_seconds=3)).passed


def test_assertions_see_exceptions_and_changed_arguments() -> None:
    code = "def sort(items):\n    if not items: raise ValueError('empty')\n    items.sort()"
    tests = (
        "def check(candidate):\n    x = [3, 1, 2]\n    candidate(x)\n    assert x == [1, 2, 3]\n"
        "    try: candidate([])\n    except ValueError: raised = True\n    else: raised = False\n    assert raised"
    )
    assert statuses(grade_code(code, CheckTests("sort", tests))) == ["passed", "passed"]


def test_assertions_may_use_what_the_problem_gives() -> None:
    before = "def helper(n):\n    return n + 1\n\ndef f(n):\n    '''Adds one.'''\n"
    tests = CheckTests("f", "def check(candidate):\n    assert candidate(1) == helper(1)\n", before)
    assert grade_code(before + "    return n + 1", tests).passed


def test_a_dialogue_that_never_ends_is_out_of_time() -> None:
    grade = grade_code(
        "def double(n):\n    while True: pass", CheckTests("double", CHECK), limits=Limits(wall_seconds=1)
    )
    assert statuses(grade) == ["timeout"]


@pytest.mark.parametrize(
    ("row", "tests"),
    [
        ({"tests": {"inputs": ["1", ["2", "3"]], "outputs": ["4", 5]}}, [InputTest("1", "4"), InputTest("2\n3", "5")]),
        ({"tests": json.dumps({"inputs": ["1"], "outputs": ["2"]})}, [InputTest("1", "2")]),
        ({"tests": [{"input": "1", "output": "2", "type": "stdin_stdout"}]}, [InputTest("1", "2")]),
        ({"verification_info": json.dumps({"test_cases": [{"input": "1", "output": "2"}]})}, [InputTest("1", "2")]),
        ({"input_output": {"fn_name": "f", "inputs": [[1, [2]]], "outputs": [3]}}, [CallTest("f", (1, [2]), 3)]),
        ({"tests": [{"fn_name": "f", "input": "[1]\n\"a\"", "output": "true"}]}, [CallTest("f", ([1], "a"), True)]),
        ({"prompt": "p", "test": "assert f()", "entry_point": "f"}, CheckTests("f", "assert f()", "p")),
    ],
)  # fmt: skip
def test_the_formats_of_datasets_are_read(row: dict[str, object], tests: object) -> None:
    assert read_tests(row) == tests


@pytest.mark.parametrize("row", [{"tests": "none"}, {"problem": "x"}, {"tests": {"inputs": [], "outputs": []}}])
def test_a_row_without_tests_is_refused(row: dict[str, object]) -> None:
    with pytest.raises(InvalidData):
        read_tests(row)


def test_the_longest_inputs_are_kept() -> None:
    tests = [InputTest("x" * n, "") for n in (3, 9, 1, 5)]
    assert [len(test.input) for test in select_longest_tests(tests, 2)] == [9, 5]  # type: ignore[union-attr]
    assert select_longest_tests(tests, 4) == tests


@pytest.mark.parametrize(
    ("got", "wanted", "same"),
    [("1 2 \n3\n\n", "1 2\n3", True), ("1  2", "1 2", False), ("", "", True), ("1\n\n2", "1\n2", False)],
)
def test_output_is_compared_line_by_line(got: str, wanted: str, same: bool) -> None:
    assert same_output(got, wanted) is same


@pytest.mark.parametrize(
    ("got", "wanted", "same"),
    [((1, 2), [1, 2], True), (0.1 + 0.2, 0.3, True), (1, True, False), ({1: 2}, {"1": 2}, True), (5, [5], True),
     (2.0, 2, True), ("2", 2, False), ([1, [2.0000001]], [1, [2]], True), (None, [], False), ({1, 2}, {2, 1}, True)],
)  # fmt: skip
def test_values_are_compared_as_plain_data(got: object, wanted: object, same: bool) -> None:
    assert same_value(got, wanted) is same


def test_every_solution_of_the_sample_passes_and_a_broken_one_fails() -> None:
    for row in load("sample:code"):
        tests = read_tests(row)
        assert grade_code(row["solution"], tests).passed, row["problem"]
        broken = (
            "print(input(), 'no')" if isinstance(tests[0], InputTest) else row["solution"] + "\ndel " + tests[0].entry
        )  # type: ignore[index]
        assert not grade_code(broken, tests, stop_at_first_failure=True).passed, row["problem"]


def test_human_eval_is_judged_right() -> None:
    if not HUMAN_EVAL.is_file():
        pytest.skip("HUMAN_EVAL names no file")
    for row in map(json.loads, HUMAN_EVAL.read_text().splitlines()):
        tests = read_tests(row)
        assert grade_code(row["prompt"] + row["canonical_solution"], tests).passed, row["task_id"]
        assert not grade_code(row["prompt"] + "    return None\n", tests).passed, row["task_id"]
