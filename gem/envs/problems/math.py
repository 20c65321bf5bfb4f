r"""Solve one problem of mathematics; the answer counts in whatever form it is written.

Rules:
    One problem, one answer. The seed names the problem: seed s is row s of the data, counted on from the first row
    after the last one. As long as the data have the same hash, that is so for ever.

Actions:
    Any text with the answer in `\boxed{...}`; the last box counts.

    For example `\boxed{\frac{1}{2}}`.

Rewards:
    1 for a correct answer, otherwise 0, also without a box. LaTeX and plain writing, fractions and decimal numbers
    (to six places), lists, tuples, intervals and sets, units and percent signs are understood; where a reference
    allows several answers, one of them is enough. `0.5` is `\frac{1}{2}`.

Arguments:
    - `dataset`: your own problems, as rows, a file (JSONL, CSV, Parquet, Arrow), `hub:owner/name` or `sample:name`.
    - `question_key`, `answer_key`: the columns, where they are not called problem and answer.

Source:
    GEM's dataset of this name, from the data folder or the Hugging Face hub (`gemweb data` says what is there). Where
    neither has it, a built-in sample stands in, made by us and not taken from the dataset: 60 problems of the same
    kind. The first info names what is played (docs/datasets.md).
"""

from __future__ import annotations

import re

from gem.envs.problems.problem import CORRECT, Judged, ProblemEnv, answer_text
from gem.grading.math import grade
from gem.grading.parsing import extract_last_boxed_answer
from gem.rng import SplitMix64, choice, randbelow

NUMBER = re.compile(r"\d{1,6}")


class MathEnv(ProblemEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed\{.+\}", re.DOTALL)
    prompt = "Think it through, and write your final answer in \\boxed{}."

    def _judge(self, action: str) -> Judged:
        answer = extract_last_boxed_answer(action)
        reference = self.problem[self.answer_key]
        if answer is None:
            return Judged(0.0, f"There is no answer in \\boxed{{}}. {CORRECT}{answer_text(reference)}", "format")
        found = grade(answer, reference)
        if found.correct:
            return Judged(1.0, "That is correct.")
        more = {"grading": "given up"} if found.by == "given up" else {}
        return Judged(0.0, f"That is not correct. {CORRECT}{answer_text(reference)}", more=more)

    def _random_action(self, rng: SplitMix64) -> str:
        numbers = NUMBER.findall(self.question)
        known = bool(numbers) and randbelow(rng, 2)
        return f"\\boxed{{{choice(rng, numbers) if known else randbelow(rng, 100)}}}"
