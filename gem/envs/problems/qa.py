r"""Answer a question in a few words; they have to be those of a known answer.

Rules:
    One question, one answer. The seed names the question: seed s is row s of the data, counted on from the first row
    after the last one. As long as the data have the same hash, that is so for ever.

Actions:
    Any text with the answer between `<answer>` and `</answer>`; the last one counts. An answer in `\boxed{...}` counts
    where there is none of these.

    For example `<answer>Paris</answer>`.

Rewards:
    1 if the answer is a known one, up to case, punctuation and articles (exact match), otherwise 0, also without an
    answer. `info["f1"]` says how many of the words agree.

Arguments:
    - `dataset`: your own questions, as rows, a file (JSONL, CSV, Parquet, Arrow), `hub:owner/name` or `sample:name`.
    - `question_key`, `answer_key`: the columns, where they are not called question and answer.

Source:
    GEM's dataset of this name, from the data folder or the Hugging Face hub (`gemweb data` says what is there). Where
    neither has it, a built-in sample stands in, made by us and not taken from the dataset: 60 questions about the
    pages of our WikiGame, which the expert looks up there. The first info names what is played (docs/datasets.md).
"""

from __future__ import annotations

import re

from gem.envs.problems.problem import CORRECT, Judged, ProblemEnv, answer_text
from gem.grading.answers import aliases, best_f1, exact_match
from gem.grading.parsing import extract_last_boxed_answer, extract_last_tagged_answer
from gem.rng import SplitMix64, choice

WORD = re.compile(r"\w+")


class QaEnv(ProblemEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"<answer>.*</answer>|\\boxed\{.+\}", re.DOTALL)
    prompt = "Think it through, and write your final answer, in a few words, between <answer> and </answer>."
    form = "between <answer> and </answer>"

    def _answer(self, action: str) -> str | None:
        tagged = extract_last_tagged_answer(action)
        return extract_last_boxed_answer(action) if tagged is None else tagged

    def _judge(self, action: str) -> Judged:
        answer, references = self._answer(action), aliases(self.problem[self.answer_key])
        right = f"{CORRECT}{answer_text(references)}"
        if answer is None:
            return Judged(0.0, f"There is no answer {self.form}. {right}", "format", {"f1": 0.0})
        more = {"f1": round(best_f1(answer, references), 6)}
        if exact_match(answer, references):
            return Judged(1.0, "That is correct.", more=more)
        return Judged(0.0, f"That is not correct. {right}", more=more)

    def _random_action(self, rng: SplitMix64) -> str:
        return f"<answer>{choice(rng, WORD.findall(self.question) or ['yes', 'no'])}</answer>"
