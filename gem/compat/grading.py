r"""GEM's functions for answers to problems: finding the box, and whether what is in it is correct.

They grade as our environments do (`gem.grading`). In GEM they are `gem.utils.math_grader` and `gem.utils.parsing`.
"""

from __future__ import annotations

import re

from gem.grading.latex import tidy
from gem.grading.math import Reference, is_correct
from gem.grading.parsing import BOX, extract_last_boxed_answer, extract_last_tagged_answer

_OPENING = re.compile(r"\\(?:boxed|fbox)\s*\{")
Verdict = tuple[dict[str, bool], float]
"""`{"formatted": whether there is an answer}`, and the reward."""


def last_boxed_only_string(string: str) -> str | None:
    r"""The last `\boxed{...}` or `\fbox{...}` with its braces; None if there is none or they are not balanced."""
    openings = list(_OPENING.finditer(string))
    boxed = [opening for opening in openings if opening.group().startswith(BOX)]
    if not openings:
        return None
    opening = (boxed or openings)[-1]
    depth = 0
    for index in range(opening.end() - 1, len(string)):
        depth += {"{": 1, "}": -1}.get(string[index], 0)
        if depth == 0:
            return string[opening.start() : index + 1]
    return None


def remove_boxed(s: str | None) -> str | None:
    r"""The content of a text that is one `\boxed{...}`; None for any other."""
    prefix = f"{BOX}{{"
    return s[len(prefix) : -1] if s is not None and s.startswith(prefix) and s.endswith("}") else None


def extract_answer(passage: str) -> str | None:
    r"""The content of the last box; None if there is none."""
    return extract_last_boxed_answer(passage)


def grade(model_answer: str, gt_answer: Reference, fast: bool = True) -> bool:  # noqa: ARG001 (GEM's argument)
    """Whether an answer, the content of the box, equals the reference; `fast` has no effect."""
    return is_correct(model_answer, gt_answer)


def is_latex_equal(given_answer: str, ground_truth: str) -> bool:
    """Whether an answer equals the reference."""
    return is_correct(given_answer, ground_truth)


def normalize_final_answer(final_answer: str) -> str:
    """An answer without what does not change its value, such as spaces and dollar signs."""
    return tidy(final_answer)


def boxed_reward_fn(
    model_response: str,
    gt_answer: Reference,
    fast: bool = False,  # noqa: ARG001 (GEM's argument)
    correct_reward: float = 1.0,
    incorrect_reward: float = 0.0,
) -> Verdict:
    r"""Grade the answer in the last `\boxed{...}` of a response."""
    return _verdict(extract_last_boxed_answer(model_response), gt_answer, correct_reward, incorrect_reward)


def answer_tag_reward_fn(
    model_response: str,
    gt_answer: Reference,
    fast: bool = False,  # noqa: ARG001 (GEM's argument)
    correct_reward: float = 1.0,
    incorrect_reward: float = 0.0,
) -> Verdict:
    """Grade the answer between the last `<answer>` and `</answer>` of a response, or in a box there."""
    answer = extract_last_tagged_answer(model_response)
    boxed = None if answer is None else extract_last_boxed_answer(answer)
    return _verdict(answer if boxed is None else boxed, gt_answer, correct_reward, incorrect_reward)


def _verdict(answer: str | None, reference: Reference, correct: float, incorrect: float) -> Verdict:
    is_right = answer is not None and is_correct(answer, reference)
    return {"formatted": answer is not None}, correct if is_right else incorrect
