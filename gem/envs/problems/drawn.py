r"""Solve a word problem whose names and numbers were drawn for this seed.

Rules:
    One problem, one answer. Easy problems take one or two steps, medium ones about three, and hard ones four or more,
    or a thought that has to be found first. The seed selects the problem. There are as many as there are seeds, so
    nobody has a list of them.

Actions:
    Any text with the answer in `\boxed{...}`; the last box counts. The answer is a whole number, a decimal number or a
    fraction, without its unit.

    For example `\boxed{\frac{3}{7}}`.

Rewards:
    1 for the exact number, however it is written: `0.5` equals `\frac{1}{2}`, and `1,250` equals `1250`. 0 for any
    other answer, and for none.

Arguments:
    - `level`: `easy`, `medium` or `hard`.

Source:
    27 templates of our own (`gem/datasets/word_problems`), in the manner of the word problems of schools.
"""

from __future__ import annotations

import re

from gem.core import Info
from gem.datasets import word_problems
from gem.envs.problems.problem import CORRECT_ANSWER, Judgement, ProblemEnv
from gem.errors import InvalidArgument
from gem.grading.numbers import read_number
from gem.grading.parsing import extract_last_boxed_answer
from gem.rng import SplitMix64, choice, randbelow
from gem.validation.near import did_you_mean

NUMBER = re.compile(r"\d{1,6}")


class DrawnEnv(ProblemEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\A(?>.*?\\boxed\{).+\}", re.DOTALL)
    prompt = "Think it through, and write the number, without its unit, in \\boxed{}."

    def __init__(self, level: str = "easy", seed: int | None = None) -> None:
        if level not in word_problems.LEVELS:
            raise InvalidArgument(f"There is no level {level!r:.60}. {did_you_mean(str(level), word_problems.LEVELS)}")
        super().__init__(word_problems.drawn(level), seed=seed)
        self.level = level

    def _start(self) -> tuple[str, Info]:
        question, info = super()._start()
        del info["data"]["row"]  # it is the seed
        return question, info

    def _judge(self, action: str) -> Judgement:
        answer, reference = extract_last_boxed_answer(action), str(self.problem[self.answer_key])
        if answer is None:
            return Judgement(0.0, f"There is no answer in \\boxed{{}}. {CORRECT_ANSWER}{reference}", "format")
        if read_number(answer) == read_number(reference):
            return Judgement(1.0, "That is correct.")
        return Judgement(0.0, f"That is not correct. {CORRECT_ANSWER}{reference}")

    def _random_action(self, rng: SplitMix64) -> str:
        numbers = NUMBER.findall(self.question)
        use_question = bool(numbers) and randbelow(rng, 2)
        return f"\\boxed{{{choice(rng, numbers) if use_question else randbelow(rng, 100)}}}"

    def _facts(self) -> list[tuple[str, str]]:
        return [("Level", self.level), ("From", self.dataset.source)]
