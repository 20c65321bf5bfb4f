"""Hints from references: a step on the way, and never the answer."""

from __future__ import annotations

import pytest

import gem
from gem.envs.problems.hints import form_of, next_line, next_step
from gem.envs.terminal.terminal import TASKS
from gem.envs.terminal.tips import TIPS
from tests.engine.terminal.solutions import SOLUTIONS


@pytest.mark.parametrize(
    ("answer", "form"),
    [
        ("19", "a whole number of 2 digits"),
        ("-1,250", "a negative whole number of 4 digits"),
        ("$0.25$", "a decimal number with 2 digits behind the point"),
        ("\\frac{58}{45}", "a fraction whose denominator has 2 digits"),
        ("3/7", "a fraction whose denominator has 1 digit"),
        ("2\\sqrt{3}", "an expression with a root"),
        ("x", "an expression or a word"),
    ],
)
def test_the_form_of_an_answer_is_said_and_not_the_answer(answer: str, form: str) -> None:
    assert form_of(answer) == form


def test_a_worked_solution_is_told_sentence_by_sentence_without_the_answer() -> None:
    problem = {"solution": "There are 3 bags. 3 times 9 is 27. So 60 - 36 = 24 is left.\n#### 24"}
    steps = [next_step(problem, "24", number) for number in range(4)]
    assert steps[:2] == ["There are 3 bags.", "3 times 9 is 27."]
    assert steps[2] == steps[3] == "The form of the answer: it is a whole number of 2 digits."


def test_every_problem_of_the_samples_has_a_hint_that_does_not_give_the_answer() -> None:
    for env_id in ("math:GSM8K", "math:Math12K", "math:Drawn-v0-hard", "eval:AMC"):
        env = gem.make(env_id).unwrapped
        for seed in range(20):
            env.reset(seed=seed)
            step, answer = env.next_step(0), str(env.problem[env.answer_key])  # type: ignore[attr-defined]
            assert len(answer) == 1 or answer not in step.removesuffix(".").split()


def test_a_program_is_told_its_next_line() -> None:
    solution = "n = int(input())\n\nfor i in range(n):\n    print(i)"
    assert next_line(solution, "") == "One solution of 3 lines begins with `n = int(input())`."
    assert "after `n = int(input())` comes `for i in range(n):`" in next_line(solution, "n=int(input())\nx = 1")
    assert "every line" in next_line(solution, solution)


def test_every_task_of_the_terminal_has_steps_that_are_no_solution() -> None:
    assert TIPS.keys() == TASKS.keys()
    for task, steps in TIPS.items():
        assert len(steps) >= 3
        assert not any(command in step for command in SOLUTIONS[task] for step in steps if len(command) > 15)
