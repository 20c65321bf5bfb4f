r"""Read facts and rules in plain English, and say whether a statement follows from them.

Rules:
    A small world of facts ("Anne is kind.") and rules ("If someone is kind then they are smart."), and a statement.
    What cannot be derived is false. `d0` to `d5` in the id is the most steps of reasoning that a statement needs. The
    seed names the problem: seed s is row s of the data, counted on from the first row after the last one. As long as
    the data have the same hash, that is so for ever.

Actions:
    Any text with `\boxed{True}` or `\boxed{False}`; the last box counts.

Rewards:
    1 for a correct answer, otherwise 0, also without a box.

Arguments:
    - `dataset`: your own problems, as rows, a file (JSONL, CSV, Parquet, Arrow), `hub:owner/name` or `sample:name`.
    - `question_key`, `answer_key`: the columns, where they are not called question and answer.

Source:
    RuleTaker (Clark, Tafjord and Richardson 2020, arXiv 2002.05867) as GEM has it, from the data folder or the Hugging
    Face hub (`gemweb data` says what is there). Where neither has it, 70,000 problems of our own generator stand in:
    worlds of the same kind, in our own words. The first info names what is played (docs/datasets.md).
"""

from __future__ import annotations

import re

from gem.envs.problems.qa import QaEnv
from gem.grading.parsing import extract_last_boxed_answer
from gem.rng import SplitMix64, choice


class LogicEnv(QaEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\\boxed\{.+\}", re.DOTALL)
    prompt = "Does it follow? Think it through, and write \\boxed{True} or \\boxed{False}."
    form = "in \\boxed{}"

    def _answer(self, action: str) -> str | None:
        return extract_last_boxed_answer(action)

    def _random_action(self, rng: SplitMix64) -> str:
        return f"\\boxed{{{choice(rng, ('True', 'False'))}}}"
