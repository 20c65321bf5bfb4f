r"""Solve one problem of mathematics; the answer counts in whatever form it is written.

Rules:
    One problem, one answer. The seed selects the problem: seed s is row s of the data, and after the last row the
    count begins again. A seed always selects the same problem, as long as the data have the same hash.

Actions:
    Any text with the answer in `\boxed{...}`; the last box counts.

    For example `\boxed{\frac{1}{2}}`.

Rewards:
    1 for a correct answer; 0 for any other answer, and for none. LaTeX and plain notation, fractions and decimal
    numbers (to six places), lists, tuples, intervals and sets, units and percent signs are understood: `0.5` equals
    `\frac{1}{2}`. If a reference allows several answers, one of them is enough.

Arguments:
    - `dataset`: your own problems, as rows, a file (JSONL, CSV, Parquet, Arrow), `hub:owner/name` or `sample:name`.
    - `question_key`, `answer_key`: the columns, if they are not called problem and answer.
    - `use_format_error_reward`: whether an answer without a box earns -0.1.

Source:
    GEM's dataset of this name, from the data folder or the Hugging Face hub (`gemweb data` shows what is available).
    If neither has it, a built-in sample is used instead: 60 problems of the same kind, which we wrote and did not take
    from the dataset. The first info says which data are used (docs/datasets.md).
"""

from __future__ import annotations

import re

from gem.core import Info
from gem.datasets.loading import Source
from gem.envs.game import FORMAT_PENALTY
from gem.envs.problems.problem import CORRECT_ANSWER, Judgement, ProblemEnv, answer_text
from gem.grading.math import grade
from gem.grading.parsing import extract_last_boxed_answer
from gem.rng import SplitMix64, choice, randbelow

NUMBER = re.compile(r"\d{1,6}")


class MathEnv(ProblemEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\A(?>.*?\\boxed\{).+\}", re.DOTALL)
    prompt = "Think it through, and write your final answer in \\boxed{}."

    _recorded_info: Info | None = None
    """The info of the next turn from a record, if the episode is being replayed."""

    def __init__(
        self,
        dataset: Source,
        split: str = "",
        question_key: str = "",
        answer_key: str = "",
        use_format_error_reward: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(dataset, split, question_key, answer_key, seed)
        self.reward_without_answer = FORMAT_PENALTY if use_format_error_reward else 0.0
        self.return_bounds = (self.reward_without_answer, 1.0)  # type: ignore[misc]  # of the class, for most

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """See `Env.feed_tape`. The grade is taken from the record, because grading may take long."""
        self._recorded_info = None if repeat else recorded

    def _judge(self, action: str) -> Judgement:
        recorded_info, self._recorded_info = self._recorded_info or {}, None
        answer = extract_last_boxed_answer(action)
        reference = self.problem[self.answer_key]
        if answer is None:
            message = f"There is no answer in \\boxed{{}}. {CORRECT_ANSWER}{answer_text(reference)}"
            return Judgement(self.reward_without_answer, message, "format")
        if isinstance(recorded_info.get("success"), bool):
            is_correct, is_given_up = recorded_info["success"], recorded_info.get("grading") == "given up"
        else:
            grade_of_answer = grade(answer, reference)
            is_correct, is_given_up = grade_of_answer.correct, grade_of_answer.by == "given up"
        if is_correct:
            return Judgement(1.0, "That is correct.")
        extra_info = {"grading": "given up"} if is_given_up else {}
        return Judgement(0.0, f"That is not correct. {CORRECT_ANSWER}{answer_text(reference)}", extra_info=extra_info)

    def _random_action(self, rng: SplitMix64) -> str:
        numbers = NUMBER.findall(self.question)
        use_question = bool(numbers) and randbelow(rng, 2)
        return f"\\boxed{{{choice(rng, numbers) if use_question else randbelow(rng, 100)}}}"
