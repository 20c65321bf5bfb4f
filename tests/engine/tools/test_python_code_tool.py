"""Python for agents, in the real sandbox."""

import pytest

import gem
from gem import sandbox
from gem.errors import InvalidArgument
from gem.tools import ToolEnvWrapper
from gem.tools.python_code_tool import PythonCodeTool

pytestmark = pytest.mark.skipif(sandbox.level() == "disabled", reason="code cannot be confined on this machine")


@pytest.mark.parametrize(
    ("action", "parsed"),
    [
        ("so <python>print(6*7)</python> and so", "so <python>print(6*7)</python>"),
        ("so ```python\nprint(6*7)\n``` and so", "so ```python\nprint(6*7)\n```"),
        ("```\npython\nprint(6*7)\n```", "```\npython\nprint(6*7)\n```"),
        ("<python>\nprint(6*7)\n</python><python>print(7)</python>", "<python>\nprint(6*7)\n</python>"),
        ("```python\nprint(6*7)\n``` <python>print(7)</python>", "```python\nprint(6*7)\n```"),
    ],
)
def test_the_first_complete_block_is_run_and_answered_as_gem_does(action: str, parsed: str) -> None:
    assert PythonCodeTool().execute_action(action) == (True, False, "Code execution result: 42\n\n", parsed)


@pytest.mark.parametrize(
    "action", ["\\boxed{5}", "<python>print(1)", "```\nprint(1)\n```", "``` python\nprint(1)\n```"]
)
def test_anything_else_is_not_for_it(action: str) -> None:
    assert PythonCodeTool().execute_action(action) == (False, True, "", action)


def test_all_blocks_of_an_action_can_be_one_program() -> None:
    action = "<python>x = 40</python> then <python>print(x + 2)</python> end"
    valid, error, told, parsed = PythonCodeTool(all_blocks=True).execute_action(action)
    assert (valid, error, told) == (True, False, "Code execution result: 42\n\n")
    assert parsed == "<python>x = 40</python> then <python>print(x + 2)</python>"


def test_indentation_survives() -> None:
    told = PythonCodeTool().execute_action("<python>\nfor i in range(2):\n    print(i)\n</python>")[2]
    assert told == "Code execution result: 0\n1\n\n"


def test_an_error_comes_back_with_what_was_printed_before() -> None:
    valid, error, told, _ = PythonCodeTool().execute_action("<python>print('so far')\n1/0</python>")
    assert (valid, error) == (True, True)
    assert told.startswith("Code execution result: so far\n\nTraceback")
    assert told.endswith("ZeroDivisionError: division by zero\n")


def test_of_an_error_only_the_last_line_can_be_kept() -> None:
    told = PythonCodeTool(keep_error_last_line=True).execute_action("<python>print('so far')\n1/0</python>")[2]
    assert told == "Code execution result: so far\n\nZeroDivisionError: division by zero\n"


def test_code_that_forgot_its_imports_is_run_again_with_the_usual_ones() -> None:
    told = PythonCodeTool().execute_action("<python>print(isqrt(17), Counter('aab')['a'])</python>")[2]
    assert told == "Code execution result: 4 2\n\n"
    told = PythonCodeTool().execute_action("<python>\nprint(isqrt(17))\n1/0</python>")[2]
    assert told.startswith('Code execution result: 4\n\nTraceback (most recent call last):\n  File "main.py", line 2,')


def test_a_program_that_takes_too_long_is_ended_and_the_agent_told() -> None:
    valid, error, told, _ = PythonCodeTool(timeout=0.5).execute_action("<python>print('on')\nwhile True: pass</python>")
    assert (valid, error) == (True, True)
    assert "timed out after 0.5 seconds" in told


def test_half_of_a_surrogate_pair_breaks_nothing() -> None:
    for half in ("\ud83d", "\udc80"):  # the second is also what Python reads from a byte that is not UTF-8
        valid, _, told, _ = PythonCodeTool().execute_action(f"<python>print(len('{half}') > 0)</python>")
        assert valid
        assert "True" in told or "SyntaxError" in told


def test_the_outside_is_out_of_reach() -> None:
    code = "import socket\nsocket.create_connection(('127.0.0.1', 9))"
    valid, error, told, _ = PythonCodeTool().execute_action(f"<python>{code}</python>")
    assert (valid, error) == (True, True)
    assert "Error" in told


def test_an_endless_output_is_cut_twice() -> None:
    env = ToolEnvWrapper(gem.make("game:GuessTheNumber-v0-easy"), ["python"], max_output=500)
    env.reset(seed=1)
    observation, *_, info = env.step("<python>while True: print('x' * 1000)</python>")
    assert len(observation) < 700
    assert "more characters" in info["tool_calls"][0]["output"]
    assert info["tool_calls"][0]["error"] is True


def test_the_record_says_how_the_code_was_confined() -> None:
    env = ToolEnvWrapper(gem.make("game:GuessTheNumber-v0-easy"), ["python"])
    env.reset(seed=1)
    [call] = env.step("<python>print(1)</python>")[4]["tool_calls"]
    assert call["details"] == {"sandbox": sandbox.level(), "status": "ok"}
    assert call["arguments"] == {"code": "print(1)"}


def test_gems_arguments_are_taken_and_impossible_ones_refused() -> None:
    assert PythonCodeTool(timeout=5, sandbox_type="none", keep_error_last_line=True).settings() == {
        "keep_error_last_line": True
    }
    with pytest.raises(InvalidArgument, match="timeout"):
        PythonCodeTool(timeout=0)
