r"""Write a program that passes the tests of one problem; it runs in a sandbox.

Rules:
    One problem, one program. The program is run under at most twelve tests (those with the longest inputs), each for
    at most ten seconds. The seed selects the problem: seed s is row s of the data, and after the last row the count
    begins again.

Actions:
    Any text with the program in a Markdown code block; the last block counts. The language is Python 3 with the
    standard library and the packages that are installed with it; common imports may be omitted. The program reads its
    standard input and prints its result, or defines the function that the problem names.

    For example:

        ```python
        print(sum(map(int, input().split())))
        ```

Rewards:
    1 if every test passes, otherwise 0. -0.1 without a code block. Output is compared line by line, ignoring spaces at
    the ends of lines; floats that functions return are compared to six digits.

Arguments:
    - `dataset`: your own problems, as rows, a file, `hub:owner/name` or `sample:name`. Tests are `inputs` and `outputs`
      (with `fn_name` for functions), a list of `input` and `output`, or HumanEval's `test` and `entry_point`.
    - `max_tests`, `test_seconds`: the largest number of tests, and how long each may take.

Source:
    GEM's dataset of this name, from the data folder or the Hugging Face hub (`gemweb data` shows what is available).
    If neither has it, a built-in sample is used instead: 60 problems, which we wrote and did not take from the dataset.
    The first info says which data are used (docs/datasets.md); `info["sandbox"]` says how the program was confined
    (docs/sandbox.md).
"""

from __future__ import annotations

import ast
from typing import Any

from gem.core import Info, State, reading_state
from gem.datasets import load
from gem.datasets.loading import Source
from gem.envs.problems import hints
from gem.envs.problems.problem import Judgement, ProblemEnv, find_column
from gem.errors import InvalidArgument
from gem.grading.code import TestResult, grade_code
from gem.grading.code_tests import (
    TESTS,
    CallTest,
    CheckTests,
    InputTest,
    examples_of_calls,
    read_tests,
    select_longest_tests,
    shown_tests,
)  # fmt: skip
from gem.grading.parsing import extract_last_code_block
from gem.rng import SplitMix64, choice, randint
from gem.sandbox.limits import Limits
from gem.views import CodeTest, CodeView, View

MAX_TESTS = 12
TEST_SECONDS = 10.0
STATUS_WORDS = {
    "passed": "passed", "wrong": "wrong answer", "error": "error", "timeout": "out of time", "memory": "out of memory",
    "output": "too much output", "killed": "killed", "not run": "not run",
}  # fmt: skip
"""Status of a test to words for people."""


class CodeEnv(ProblemEnv):
    """See the module's documentation, which is also the catalog page."""

    return_bounds = (-0.1, 1.0)

    def __init__(
        self,
        dataset: Source,
        split: str = "",
        question_key: str = "",
        test_key: str = "",
        max_tests: int = MAX_TESTS,
        test_seconds: float = TEST_SECONDS,
        seed: int | None = None,
    ) -> None:
        if max_tests < 1:
            raise InvalidArgument(f"max_tests must be at least 1, not {max_tests}.")
        self.limits = Limits(wall_seconds=test_seconds)
        data = load(dataset, split=split)
        super().__init__(data, "", question_key, find_column(test_key, TESTS, data.columns, "test_key"), seed)
        self.max_tests = max_tests
        self.code = ""
        """The program of the current episode; empty before there is one."""
        self.results: list[CodeTest] = []
        """The results of its tests."""
        self._recorded_info: Info = {}
        """The info of the next turn from a record, if the episode is being replayed."""

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """See `Env.feed_tape`. The results of the tests are taken from the record, and the program is not run again."""
        self._recorded_info = {} if repeat else recorded

    @property
    def entry(self) -> str:
        """The name of the function that the problem asks for; empty if it asks for a program."""
        if not self.problem:
            return ""
        tests = self._tests()
        if isinstance(tests, CheckTests):
            return tests.entry
        return tests[0].entry if isinstance(tests[0], CallTest) else ""

    @property
    def prompt(self) -> str:  # type: ignore[override]
        """What an agent reads after the problem: what to write, and in which format."""
        task = f"Write a Python function `{self.entry}`" if self.entry else "Write a Python 3 program"
        return f"{task} in a Markdown code block: begin it with ```python and end it with ```. The last block counts."

    def _tests(self) -> Any:
        return select_longest_tests(read_tests(self.problem, self.answer_key), self.max_tests)

    def _start(self) -> tuple[str, Info]:
        self.code, self.results = "", []
        return super()._start()

    def _judge(self, action: str) -> Judgement:
        code = extract_last_code_block(action)
        if code is None:
            return Judgement(-0.1, "There is no code block: begin it with ```python and end it with ```.", "format")
        self.code = code
        recorded_info, self._recorded_info = self._recorded_info, {}
        results, level = (
            (_read_recorded_tests(recorded_info), recorded_info.get("sandbox")) if recorded_info else self._run(code)
        )
        self.results = results
        counts = {"passed": sum(test["status"] == "passed" for test in results), "of": len(results)}
        extra_info = {"tests": counts, "test_results": results, "sandbox": level}
        return Judgement(float(counts["passed"] == counts["of"] > 0), _describe_results(results), extra_info=extra_info)

    def _run(self, code: str) -> tuple[list[CodeTest], str]:
        """Run the program under the tests; return the results and the level of confinement."""
        grade = grade_code(self._complete_program(code), self._tests(), limits=self.limits)
        return [_code_test(test) for test in grade.tests], grade.level

    def _complete_program(self, code: str) -> str:
        """The program to run: the agent's code, after the beginning that the problem gives, if any (HumanEval)."""
        tests = self._tests()
        if not isinstance(tests, CheckTests):
            return code
        return f"{tests.before}\n{code}" if _defines(code, tests.entry) else tests.before + code

    def public_tests(self) -> list[InputTest | CallTest]:
        """The tests that the problem shows as examples, with their results; empty if it shows none."""
        if not self.problem:
            return []
        tests = read_tests(self.problem, self.answer_key)
        shown = [] if isinstance(tests, CheckTests) else shown_tests(self.question, tests)
        return shown or examples_of_calls(self.question, self.entry)

    def try_out(self, code: str) -> list[CodeTest]:
        """The results of a program on the public tests. The episode does not change.

        Raises:
            SandboxUnavailable: this machine cannot confine programs.
        """
        tests = self.public_tests()[: self.max_tests]
        grade = grade_code(self._complete_program(code), tests, limits=self.limits)  # type: ignore[arg-type]
        return [_code_test(test) for test in grade.tests] if tests else []

    def reference_action(self) -> str | None:
        """See `ProblemEnv.reference_action`: the solution, where the data have a column with one."""
        solution = self.problem.get("solution")
        return f"```python\n{solution.strip()}\n```" if isinstance(solution, str) and solution.strip() else None

    def next_step(self, number: int, typed: str = "") -> str | None:
        """See `ProblemEnv.next_step`: the next line of a known solution that the program so far does not have."""
        solution = self.problem.get("solution")
        return hints.next_line(solution, typed) if isinstance(solution, str) and solution.strip() else None

    def _random_action(self, rng: SplitMix64) -> str:
        number = randint(rng, 0, 99)
        if self.entry:
            body = choice(rng, (f"return {number}", "return arguments[0] if arguments else None"))
            return f"```python\ndef {self.entry}(*arguments):\n    {body}\n```"
        return f"```python\n{choice(rng, (f'print({number})', 'print(input())'))}\n```"

    def get_state(self) -> State:
        """See `Env.get_state`."""
        return {**super().get_state(), "code": self.code, "results": self.results}

    def set_state(self, state: State) -> None:
        """See `Env.set_state`."""
        super().set_state(state)
        with reading_state(self):
            self.code, self.results = state["code"], state["results"]

    def view(self, seat: int = 0) -> View:
        """See `Env.view`. The view is the problem, the program and its tests."""
        view = CodeView(
            kind="code", name=self._name(), text=self.question, code=self.code, tests=self.results, facts=self._facts()
        )
        if self.outcome:
            view["verdict"] = self.outcome
        return view


def _defines(code: str, name: str) -> bool:
    """Whether a program defines a function of this name."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return any(isinstance(node, ast.FunctionDef) and node.name == name for node in ast.walk(tree))


def _describe_results(results: list[CodeTest]) -> str:
    """The outcome in words: how many tests passed, and how the first other test failed."""
    failed = [test for test in results if test["status"] != "passed"]
    if not failed:
        return f"All {len(results)} tests passed." if len(results) != 1 else "The test passed."
    last_line = failed[0]["said"].strip().splitlines()[-1:]
    first_failure = ": ".join([failed[0]["label"], *last_line])
    return f"{len(results) - len(failed)} of {len(results)} tests passed. {first_failure.rstrip('.')}."


def _read_recorded_tests(recorded: Info) -> list[CodeTest]:
    """The results of the tests from a record. Anybody may have written the record, so invalid entries are skipped."""
    entries = recorded.get("test_results")
    valid_entries = [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    tests = ({name: str(entry.get(name, "")) for name in CodeTest.__annotations__} for entry in valid_entries)
    return [CodeTest(**test) for test in tests if test["status"] in ("passed", "failed", "left")]  # type: ignore[typeddict-item]


def _code_test(test: TestResult) -> CodeTest:
    return CodeTest(
        label=f"Test {test.number}: {STATUS_WORDS[test.status]}",
        status="passed" if test.passed else "left" if test.status == "not run" else "failed",
        words=STATUS_WORDS[test.status],
        given=test.input,
        wanted=test.expected,
        got=test.actual,
        said=test.message,
    )
