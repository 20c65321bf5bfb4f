r"""Read facts and rules in plain English, and say whether a statement follows from them.

Rules:
    A small world of facts ("Anne is kind.") and rules ("If someone is kind then they are smart."), and a statement.
    What cannot be derived is false. `d0` to `d5` in the id is the largest number of reasoning steps that a statement
    needs. The seed selects the problem: seed s is row s of the data, and after the last row the count begins again. A
    seed always selects the same problem, as long as the data have the same hash.

Actions:
    Any text with `\boxed{True}` or `\boxed{False}`; the last box counts.

Rewards:
    1 for a correct answer; 0 for any other answer, and for none.

Arguments:
    - `dataset`: your own problems, as rows, a file (JSONL, CSV, Parquet, Arrow), `hub:owner/name` or `sample:name`.
    - `question_key`, `answer_key`: the columns, if they are not called question and answer.

Source:
    RuleTaker (Clark, Tafjord and Richardson 2020, arXiv 2002.05867) in GEM's version, from the data folder or the
    Hugging Face hub (`gemweb data` shows what is available). If neither has it, 70,000 problems of our own generator
    are used instead: worlds of the same kind, in our own words. The first info says which data are used
    (docs/datasets.md).
"""

from __future__ import annotations

import re

from gem.envs.problems.qa import QaEnv
from gem.grading.answers import aliases
from gem.grading.parsing import extract_last_boxed_answer
from gem.rng import SplitMix64, choice


class LogicEnv(QaEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\A(?>.*?\\boxed\{).+\}", re.DOTALL)
    prompt = "Does it follow? Think it through, and write \\boxed{True} or \\boxed{False}."
    form = "in \\boxed{}"

    def _extract_answer(self, action: str) -> str | None:
        return extract_last_boxed_answer(action)

    def reference_action(self) -> str | None:
        """See `ProblemEnv.reference_action`."""
        answers = aliases(self.problem[self.answer_key]) if self.problem else []
        return f"\\boxed{{{answers[0]}}}" if answers else None

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, ('True', 'False'))}}}"
