r"""Write a program that passes the tests of one problem; it runs in a sandbox.

Rules:
    One problem, one program. The program is run with each test, at most twelve of them (those with the longest
    inputs), each for at most ten seconds. The seed names the problem: seed s is row s of the data, counted on from the
    first row after the last one.

Actions:
    Any text with the program in a Markdown code block; the last block counts. Python 3, with the standard library
    and what is installed beside it; common imports may be left out. The program reads its standard input and prints,
    or defines the function that the problem names.

    For example:

        ```python
        print(sum(map(int, input().split())))
        ```

Rewards:
    1 if every test passes, otherwise 0. -0.1 without a code block. Printed text is compared line by line without the
    spaces at the ends; numbers with a fraction that functions return, to six digits.

Arguments:
    - `dataset`: your own problems, as rows, a file, `hub:owner/name` or `sample:name`. Tests are `inputs` and `outputs`
      (perhaps with `fn_name`), a list of `input` and `output`, or HumanEval's `test` and `entry_point`.
    - `max_tests`, `test_seconds`: how many tests at most, and how long each may take.

Source:
    GEM's dataset of this name, from the data folder or the Hugging Face hub (`gemweb data` says what is there). Where
    neither has it, a built-in sample stands in, made by us and not taken from the dataset: 60 problems. The first
    info names what is played (docs/datasets.md); `info["sandbox"]` says how the program was confined (docs/sandbox.md).
"""

from __future__ import annotations

import ast
from typing import Any

from gem.core import Info, State, reading_state
from gem.datasets import load
from gem.datasets.loading import Source
from gem.envs.problems.problem import Judged, ProblemEnv, column
from gem.errors import InvalidArgument
from gem.grading.code import TestResult, grade_code
from gem.grading.code_tests import TESTS, CallTest, CheckTests, longest, read_tests
from gem.grading.parsing import extract_last_code_block
from gem.rng import SplitMix64, choice, randint
from gem.sandbox.limits import Limits
from gem.views import CodeTest, CodeView, View

MAX_TESTS = 12
TEST_SECONDS = 10.0
WORDS = {
    "passed": "passed", "wrong": "wrong answer", "error": "error", "timeout": "out of time", "memory": "out of memory",
    "output": "too much output", "killed": "killed", "not run": "not run",
}  # fmt: skip
"""What is said of a test."""


class CodeEnv(ProblemEnv):
    """See the module's documentation, which is also the catalog page."""

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
        super().__init__(data, "", question_key, column(test_key, TESTS, data.columns, "test_key"), seed)
        self.max_tests = max_tests
        self.code = ""
        """The program of the present episode; empty before."""
        self.results: list[CodeTest] = []
        """How its tests went."""
        self._recorded: Info = {}

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """As `Env.feed_tape`: what became of the tests is taken from the record, and the program is not run again."""
        self._recorded = {} if repeat else recorded

    @property
    def entry(self) -> str:
        """The function that the problem asks for; empty where a program reads its input."""
        if not self.problem:
            return ""
        tests = self._tests()
        if isinstance(tests, CheckTests):
            return tests.entry
        return tests[0].entry if isinstance(tests[0], CallTest) else ""

    @property
    def prompt(self) -> str:  # type: ignore[override]
        """What an agent reads after the problem: what to write, and how."""
        what = f"Write a Python function `{self.entry}`" if self.entry else "Write a Python 3 program"
        return f"{what} in a Markdown code block: begin it with ```python and end it with ```. The last block counts."

    def _tests(self) -> Any:
        return longest(read_tests(self.problem, self.answer_key), self.max_tests)

    def _start(self) -> tuple[str, Info]:
        self.code, self.results = "", []
        return super()._start()

    def _judge(self, action: str) -> Judged:
        code = extract_last_code_block(action)
        if code is None:
            return Judged(-0.1, "There is no code block: begin it with ```python and end it with ```.", "format")
        self.code = code
        recorded, self._recorded = self._recorded, {}
        results, level = (_read(recorded), recorded.get("sandbox")) if recorded else self._run(code)
        self.results = results
        counts = {"passed": sum(test["status"] == "passed" for test in results), "of": len(results)}
        more = {"tests": counts, "test_results": results, "sandbox": level}
        return Judged(float(counts["passed"] == counts["of"] > 0), _said(results), more=more)

    def _run(self, code: str) -> tuple[list[CodeTest], str]:
        """Run the program under the tests: how each went, and how it was confined."""
        grade = grade_code(self._whole(code), self._tests(), limits=self.limits)
        return [_shown(test) for test in grade.tests], grade.level

    def _whole(self, code: str) -> str:
        """The program; where the problem begins it (HumanEval), its beginning and what was written."""
        tests = self._tests()
        if not isinstance(tests, CheckTests):
            return code
        return f"{tests.before}\n{code}" if _defines(code, tests.entry) else tests.before + code

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
        """As `Env.view`: the problem, the program and its tests."""
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


def _said(results: list[CodeTest]) -> str:
    """The outcome in words: how many tests passed, and what became of the first that did not."""
    failed = [test for test in results if test["status"] != "passed"]
    if not failed:
        return f"All {len(results)} tests passed." if len(results) != 1 else "The test passed."
    last_line = failed[0]["said"].strip().splitlines()[-1:]
    why = ": ".join([failed[0]["label"], *last_line])
    return f"{len(results) - len(failed)} of {len(results)} tests passed. {why.rstrip('.')}."


def _read(recorded: Info) -> list[CodeTest]:
    """The tests as a record has them; anybody may have written it, so what is no test is left out."""
    found = recorded.get("test_results")
    tests = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    texts = ({name: str(one.get(name, "")) for name in CodeTest.__annotations__} for one in tests)
    return [CodeTest(**text) for text in texts if text["status"] in ("passed", "failed", "left")]  # type: ignore[typeddict-item]


def _shown(test: TestResult) -> CodeTest:
    return CodeTest(
        label=f"Test {test.number}: {WORDS[test.status]}",
        status="passed" if test.passed else "left" if test.status == "not run" else "failed",
        words=WORDS[test.status],
        given=test.given,
        wanted=test.wanted,
        got=test.got,
        said=test.said,
    )
