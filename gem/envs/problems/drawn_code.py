r"""Write a program for a task whose constants and tests were drawn for this seed.

Rules:
    One task, one program, which is run under eight tests; the first one is the example in the task. Easy tasks take one
    or two lines of Python, medium ones a loop or a condition, and hard ones several steps or a thought. The seed
    selects the task. There are as many as there are seeds, so nobody has a list of them.

Actions:
    Any text with the program in a Markdown code block; the last block counts. The language is Python 3 with its
    standard library. The program reads its standard input and prints its result.

    For example:

        ```python
        print(int(input()) * 7 + 12)
        ```

Rewards:
    1 if every test passes, otherwise 0. -0.1 without a code block. Output is compared line by line, ignoring spaces at
    the ends of lines.

Arguments:
    - `level`: `easy`, `medium` or `hard`.
    - `max_tests`, `test_seconds`: the largest number of tests, and how long each may take.

Source:
    22 templates of our own (`gem/datasets/drawn_programs`).
"""

from __future__ import annotations

import re

from gem.core import Info
from gem.datasets import drawn_programs
from gem.envs.problems.code import MAX_TESTS, TEST_SECONDS, CodeEnv
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice, randbelow, randint
from gem.validation.near import did_you_mean

NUMBER = re.compile(r"-?\d{1,5}")
RANDOM_PROGRAMS = (
    *("print(int(input()) * {} + {})", "print(int(input()) % {})", "print(int(input()) ** {} - {})"),
    *(f"a = int(input())\nb = int(input())\nprint({body} * {{}})" for body in ("(a + b)", "(a - b)", "(b - a)")),
    *(f"a = int(input())\nb = int(input())\nprint({body} * {{}})" for body in ("(a * b)", "max(a, b)", "min(a, b)")),
    *(f"s = input()\nprint({body} * {{}})" for body in ("s", "s[-1]", "s[0]")),
    *(f"print(input().count('{letter}') + {{}})" for letter in "aeiorstn"),
    *(
        f"x = list(map(int, input().split()))\nprint({body} - {{}})"
        for body in ("sum(x)", "max(x)", "min(x)", "len(x)")
    ),
    *(f"x = list(map(int, input().split()))\nprint(len([n for n in x if n {sign} {{}}]))" for sign in "<>"),
    *("print({})", "print(input())"),
)
"""What a random program may be; `{}` is a number, of the task or any."""


class DrawnCodeEnv(CodeEnv):
    """See the module's documentation, which is also the catalog page."""

    def __init__(
        self,
        level: str = "easy",
        max_tests: int = MAX_TESTS,
        test_seconds: float = TEST_SECONDS,
        seed: int | None = None,
    ) -> None:
        levels = drawn_programs.LEVELS
        if level not in levels:
            raise InvalidArgument(f"There is no level {level!r:.60}. {did_you_mean(str(level), levels)}")
        super().__init__(drawn_programs.drawn(level), max_tests=max_tests, test_seconds=test_seconds, seed=seed)
        self.level = level

    def _start(self) -> tuple[str, Info]:
        question, info = super()._start()
        del info["data"]["row"]  # it is the seed
        return question, info

    def _random_action(self, rng: SplitMix64) -> str:
        task = self.question.partition("\n")[0]
        numbers = NUMBER.findall(task)
        body = choice(rng, RANDOM_PROGRAMS)
        for _ in range(body.count("{}")):
            is_of_task = numbers and randbelow(rng, 2)
            body = body.replace("{}", choice(rng, numbers) if is_of_task else str(randint(rng, 0, 99)), 1)
        return f"```python\n{body}\n```"

    def _facts(self) -> list[tuple[str, str]]:
        return [("Level", self.level), ("From", self.dataset.source)]
