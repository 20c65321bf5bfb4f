"""Promises of environments of verifiers: their data, and the rewards of what a scripted model says to them."""

from __future__ import annotations

import importlib
import logging
import math
import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .playing import canonical, shorten
from .promise import BrokenPromise, NotApplicable, Promise
from .scripted_model import scripted_model
from .subjects import Subject

ROWS = 6
KEY_VARIABLE = "GEMWEB_CHECK_KEY"
NOTHING = "..."
"""An answer that says nothing. An empty one would be no answer for verifiers, which ends the rollout."""
NONSENSE = "colourless green ideas"
LONG = "a" * 4000
FORMS: tuple[Callable[[str], str], ...] = (
    lambda answer: answer,
    lambda answer: f"\\boxed{{{answer}}}",
    lambda answer: f"<answer>{answer}</answer>",
    lambda answer: f"<think>I know it.</think>\n<answer>{answer}</answer>",
)
"""The forms in which answers are commonly asked for."""


class Scored(NamedTuple):
    """What a model earned that says the same to every row."""

    rewards: list[float]
    errors: list[str]
    """What reward functions raised, which verifiers logs and counts as 0."""


class _Errors(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def has_prompts(subject: Subject) -> None:
    rows = _rows(subject.make())
    if not rows:
        raise BrokenPromise("Its dataset is empty.")
    without = [number for number, row in enumerate(rows) if not row.get("prompt")]
    if without:
        raise BrokenPromise(f"Row {without[0]} of its dataset has no prompt.")


def loads_the_same_rows(subject: Subject) -> None:
    for number, (one, other) in enumerate(zip(_rows(subject.make()), _rows(subject.make()), strict=False)):
        if canonical(one) != canonical(other):
            raise BrokenPromise(f"Loaded twice, row {number} is {shorten(one)} and then {shorten(other)}.")


def rewards_are_numbers(subject: Subject) -> None:
    env = subject.make()
    for text in (NOTHING, NONSENSE):
        for number, reward in enumerate(_score(env, _always(text)).rewards):
            if not math.isfinite(reward):
                raise BrokenPromise(f"Row {number}: the answer {text!r} earns {reward}, which is no finite number.")


def its_rewards_raise_no_errors(subject: Subject) -> None:
    env = subject.make()
    for label, text in (
        ("an answer that says nothing", NOTHING),
        ("nonsense", NONSENSE),
        ("an answer of 4,000 letters", LONG),
    ):
        if errors := _score(env, _always(text)).errors:
            raise BrokenPromise(f"For {label}, verifiers logs and counts as 0: {shorten(errors[0], 200)}.")


def the_same_answer_earns_the_same(subject: Subject) -> None:
    env = subject.make()
    for text in (NONSENSE, NOTHING):
        first, second = (_score(env, _always(text)).rewards for _ in range(2))
        for number, (one, other) in enumerate(zip(first, second, strict=False)):
            if one != other:
                raise BrokenPromise(f"Row {number}: the answer {text!r} earns {one} and then {other}.")


def saying_nothing_earns_least(subject: Subject) -> None:
    env = subject.make()
    answers = [str(row.get("answer") or "") for row in _rows(env)]
    if not any(answers):
        raise NotApplicable("Its rows have no answers to compare with.")
    silent = _score(env, _always(NOTHING)).rewards
    forms = [_score(env, _answered(form)).rewards for form in FORMS]
    best = [max(rewards) for rewards in zip(*forms, strict=True)]
    for number, (nothing, right) in enumerate(zip(silent, best, strict=True)):
        if answers[number] and nothing > right:
            raise BrokenPromise(
                f"Row {number}: the answer {NOTHING!r} earns {nothing}, and the reference answer {right}."
            )
    if sum(best) <= sum(silent):
        raise NotApplicable("The form in which it takes its reference answers could not be found.")


def _always(text: str) -> Callable[[Mapping[str, Any]], str]:
    return lambda _row: text


def _answered(form: Callable[[str], str]) -> Callable[[Mapping[str, Any]], str]:
    return lambda row: form(str(row.get("answer") or ""))


def _rows(env: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in env.get_eval_dataset(n=ROWS)]


def _score(env: Any, say: Callable[[Mapping[str, Any]], str]) -> Scored:
    """Evaluate a model that says this to each row, in all turns."""
    os.environ[KEY_VARIABLE] = "none"
    types = importlib.import_module("verifiers.types")
    rows = _rows(env)
    texts = {_last_text(row["prompt"]): say(row) for row in rows}
    handler, logger = _Errors(), logging.getLogger("verifiers")
    logger.addHandler(handler)
    said: dict[str, str] = {}

    def reply(message: str) -> str:
        said.setdefault("text", texts.get(message, ""))
        return texts.get(message, said["text"])

    try:
        with scripted_model(reply) as url:
            client = types.ClientConfig(api_key_var=KEY_VARIABLE, api_base_url=url)
            outputs = env.evaluate_sync(client, "scripted", num_examples=ROWS, rollouts_per_example=1)["outputs"]
    finally:
        logger.removeHandler(handler)
    ordered = sorted(outputs, key=lambda output: output["example_id"])
    errors = [text for text in handler.said if "reward function" in text]
    return Scored([float(output["reward"]) for output in ordered], errors)


def _last_text(prompt: Any) -> str:
    if isinstance(prompt, str):
        return prompt
    content = dict(prompt[-1]).get("content")
    return content if isinstance(content, str) else "".join(dict(part).get("text", "") for part in content or [])


def _of_verifiers(title: str, attempt: Callable[[Any], None], advice: str, *, basic: bool = False) -> Promise:
    return Promise(title, attempt, advice, ("verifiers",), basic=basic)


PROMISES = (
    _of_verifiers("Its rows have prompts.", has_prompts, "Give every row a prompt, or a question.", basic=True),
    _of_verifiers(
        "It has the same rows whenever it is loaded.",
        loads_the_same_rows,
        "Draw and shuffle rows with a seed of its own.",
    ),
    _of_verifiers("Rewards are numbers.", rewards_are_numbers, "Return a finite number for every answer."),
    _of_verifiers(
        "Its reward functions raise no errors.",
        its_rewards_raise_no_errors,
        "Let an answer that cannot be read earn 0 in so many words; an error is only logged.",
    ),
    _of_verifiers(
        "The same answer earns the same.",
        the_same_answer_earns_the_same,
        "Let a reward depend on the row and the answer alone.",
    ),
    _of_verifiers(
        "Saying nothing earns no more than the right answer.",
        saying_nothing_earns_least,
        "Compare with the answer of the row.",
    ),
)
