r"""Answer a question in a few words; they have to be those of a known answer.

Rules:
    One question, one answer. The seed selects the question: seed s is row s of the data, and after the last row the
    count begins again. A seed always selects the same question, as long as the data have the same hash.

Actions:
    Any text with the answer between `<answer>` and `</answer>`; the last one counts. Without these tags, an answer in
    `\boxed{...}` counts.

    For example `<answer>Paris</answer>`.

Rewards:
    1 if the answer equals a known answer, ignoring case, punctuation and articles (exact match); 0 for any other
    answer, and for none. `info["f1"]` is the F1 score over the words.

Arguments:
    - `dataset`: your own questions, as rows, a file (JSONL, CSV, Parquet, Arrow), `hub:owner/name` or `sample:name`.
    - `question_key`, `answer_key`: the columns, if they are not called question and answer.

Source:
    GEM's dataset of this name, from the data folder or the Hugging Face hub (`gemweb data` shows what is available).
    If neither has it, a built-in sample is used instead, which we wrote and did not take from the dataset: 60 questions
    about the pages of our WikiGame, where the expert looks them up. The first info says which data are used
    (docs/datasets.md).
"""

from __future__ import annotations

import re

from gem.envs.problems.problem import CORRECT_ANSWER, Judgement, ProblemEnv, answer_text
from gem.grading.answers import aliases, best_f1, exact_match
from gem.grading.parsing import extract_last_boxed_answer, extract_last_tagged_answer
from gem.rng import SplitMix64, choice

WORD = re.compile(r"\w+")


class QaEnv(ProblemEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\A(?>.*?<answer>).*</answer>|\A(?>.*?\\boxed\{).+\}", re.DOTALL)
    prompt = "Think it through, and write your final answer, in a few words, between <answer> and </answer>."
    form = "between <answer> and </answer>"

    def _extract_answer(self, action: str) -> str | None:
        tagged_answer = extract_last_tagged_answer(action)
        return extract_last_boxed_answer(action) if tagged_answer is None else tagged_answer

    def _judge(self, action: str) -> Judgement:
        answer, references = self._extract_answer(action), aliases(self.problem[self.answer_key])
        correct_text = f"{CORRECT_ANSWER}{answer_text(references)}"
        if answer is None:
            return Judgement(0.0, f"There is no answer {self.form}. {correct_text}", "format", {"f1": 0.0})
        extra_info = {"f1": round(best_f1(answer, references), 6)}
        if exact_match(answer, references):
            return Judgement(1.0, "That is correct.", extra_info=extra_info)
        return Judgement(0.0, f"That is not correct. {correct_text}", extra_info=extra_info)

    def _random_action(self, rng: SplitMix64) -> str:
        return f"<answer>{choice(rng, WORD.findall(self.question) or ['yes', 'no'])}</answer>"
