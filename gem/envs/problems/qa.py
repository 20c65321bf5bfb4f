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
    - `extract_boxed`: whether only an answer in `\boxed{...}` counts, and not one between tags.

Source:
    GEM's dataset of this name, from the data folder or the Hugging Face hub (`gemweb data` shows what is available).
    If neither has it, a built-in sample is used instead, which we wrote and did not take from the dataset: 60 questions
    about the pages of our WikiGame, where the expert looks them up. The first info says which data are used
    (docs/datasets.md).
"""

from __future__ import annotations

import re

from gem.datasets.loading import Source
from gem.envs.problems.problem import CORRECT_ANSWER, Judgement, ProblemEnv, answer_text
from gem.grading.answers import aliases, best_f1, exact_match
from gem.grading.parsing import extract_last_boxed_answer, extract_last_tagged_answer
from gem.rng import SplitMix64, choice

WORD = re.compile(r"\w+")
BOX_PROMPT = "Think it through, and write your final answer, in a few words, in \\boxed{}."


class QaEnv(ProblemEnv):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"\A(?>.*?<answer>).*</answer>|\A(?>.*?\\boxed\{).+\}", re.DOTALL)
    prompt = "Think it through, and write your final answer, in a few words, between <answer> and </answer>."
    form = "between <answer> and </answer>"

    def __init__(
        self,
        dataset: Source,
        split: str = "",
        question_key: str = "",
        answer_key: str = "",
        extract_boxed: bool = False,
        seed: int | None = None,
    ) -> None:
        super().__init__(dataset, split, question_key, answer_key, seed)
        self.takes_only_boxes = extract_boxed
        if extract_boxed:
            self.prompt, self.form = BOX_PROMPT, "in \\boxed{}"  # type: ignore[misc]  # of the class, for most

    def _extract_answer(self, action: str) -> str | None:
        if self.takes_only_boxes:
            return extract_last_boxed_answer(action)
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

    def reference_action(self) -> str | None:
        """See `ProblemEnv.reference_action`."""
        answers = aliases(self.problem[self.answer_key]) if self.problem else []
        return f"<answer>{answers[0]}</answer>" if answers else None

    def _random_action(self, rng: SplitMix64) -> str:
        word = choice(rng, WORD.findall(self.question) or ["yes", "no"])
        return f"\\boxed{{{word}}}" if self.takes_only_boxes else f"<answer>{word}</answer>"
