"""Promises of the environments over datasets that GEM has, each made with one problem of our own.

The package that is checked brings `datasets`.
"""

from __future__ import annotations

import importlib
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from .promise import BrokenPromise, NotApplicable, Promise
from .subjects import Subject

PROBLEM = "Print the number that is read."
TESTS = '{"inputs": ["1"], "outputs": ["1"]}'
NO_TESTS = '{"inputs": [], "outputs": []}'
ECHO = "```python\nprint(input())\n```"
ENDLESS = "```python\nwhile True: pass\n```"
LIMIT_WORDS = ("timeout", "seconds", "limit")


def _made(module: str, name: str, row: Mapping[str, Sequence[Any]], **arguments: Any) -> Any:
    """An environment over one row.

    Raises:
        NotApplicable: if the package has no such class, or `datasets` is missing.
    """
    try:
        cls = getattr(importlib.import_module(f"gem.envs.{module}"), name)
        dataset = importlib.import_module("datasets").Dataset.from_dict(row)
    except (ImportError, AttributeError) as error:
        raise NotApplicable(f"It cannot be tried here: {error}.") from None
    return cls(dataset=dataset, **arguments)


def _programs(tests: str = TESTS, **arguments: Any) -> Any:
    env = _made("code_env", "CodeEnv", {"problem": [PROBLEM], "tests": [tests]}, **arguments)
    env.reset()
    return env


def mathematics_is_graded_in_threads(subject: Subject) -> None:
    env = _made("math_env", "MathEnv", {"problem": ["1+1"], "answer": ["2"]}, use_mp=False)
    env.reset()
    found: list[Any] = []

    def grade() -> None:
        try:
            found.append(env.step("\\boxed{2}")[1])
        except Exception as error:  # noqa: BLE001 (whatever is raised is the finding)
            found.append(f"{type(error).__name__}: {error}")

    thread = threading.Thread(target=grade, daemon=True)
    thread.start()
    thread.join()
    if isinstance(found[0], str):
        raise BrokenPromise(f"MathEnv cannot grade in a thread: {found[0]}.")


def programs_are_graded_on_any_dataset(subject: Subject) -> None:
    try:
        _programs().step(ECHO)
    except NotApplicable:
        raise
    except Exception as error:
        said = f"CodeEnv over a dataset without a known name raises {type(error).__name__}"
        raise BrokenPromise(f"{said}{f': {error}' if str(error) else ''}.") from error


def problems_without_tests_are_handled(subject: Subject) -> None:
    try:
        _programs(NO_TESTS, dataset_name="taco").step(ECHO)
    except NotApplicable:
        raise
    except Exception as error:
        if type(error).__module__ != "builtins":
            return  # an error of the package's own, which says what is wrong
        raise BrokenPromise(f"A problem without tests makes CodeEnv raise {type(error).__name__}: {error}.") from error


def questions_are_graded_as_they_are_asked(subject: Subject) -> None:
    env = _made("qa_env", "QaEnv", {"question": ["Is 2 even?"], "answer": ["True"]}, extract_boxed=True)
    observation, info = env.reset()
    said = f"{info.get('prefix', '')}{observation}{info.get('suffix', '')}"
    if "<answer>" not in said:
        return
    try:
        reward = env.step("<answer>True</answer>")[1]
    except Exception as error:
        said = f"QaEnv(extract_boxed=True) asks for <answer> tags, and an answer in them raises {type(error).__name__}"
        raise BrokenPromise(f"{said}: {error}.") from error
    if reward <= 0:
        raise BrokenPromise("QaEnv(extract_boxed=True) asks for <answer> tags, and an answer in them earns nothing.")


def answers_without_a_format_are_graded(subject: Subject) -> None:
    env = _made("qa_env", "QaEnv", {"question": ["Is 2 even?"], "answer": ["True"]})
    env.reset()
    try:
        env.step("I think so.")
    except Exception as error:
        raise BrokenPromise(f"An answer without tags makes QaEnv raise {type(error).__name__}: {error}.") from error


def pictures_are_graded(subject: Subject) -> None:
    row: dict[str, Sequence[Any]] = {"images": [["x"]], "problem": ["<image>1+1"], "answer": ["2"]}
    env = _made("math_visual_env", "MathVisualEnv", row, use_mp=False)
    env.reset()
    try:
        env.step("\\boxed{2}")
    except AttributeError as error:
        raise BrokenPromise(f"MathVisualEnv.step raises AttributeError: {error}.") from error


def time_limits_can_be_chosen(subject: Subject) -> None:
    env = _programs(dataset_name="taco", sandbox_type="none")
    if [name for name in vars(env) if any(word in name.lower() for word in LIMIT_WORDS)]:
        return
    began = time.monotonic()
    env.step(ENDLESS)
    seconds = time.monotonic() - began
    raise BrokenPromise(f"A program that does not end takes {seconds:.0f} s, and no argument of CodeEnv changes that.")


def _of_package(title: str, attempt: Any, advice: str) -> Promise:
    return Promise(title, attempt, advice, ("package",))


PROMISES = (
    _of_package(
        "Mathematics is graded in threads.",
        mathematics_is_graded_in_threads,
        "Do not limit the time by a signal, which only the main thread can receive.",
    ),
    _of_package(
        "Programs are graded on any dataset.",
        programs_are_graded_on_any_dataset,
        "Recognize the tests by their form, not by the name of the dataset.",
    ),
    _of_package(
        "Problems without tests are handled.",
        problems_without_tests_are_handled,
        "Say that a problem has no tests when it is drawn.",
    ),
    _of_package(
        "Questions are graded as they are asked.",
        questions_are_graded_as_they_are_asked,
        "Ask for the format that is read.",
    ),
    _of_package(
        "Answers without a format are graded.",
        answers_without_a_format_are_graded,
        "An answer that cannot be read earns 0.",
    ),
    _of_package("Problems with pictures are graded.", pictures_are_graded, "Call the constructor of the base class."),
    _of_package("Time limits of programs can be chosen.", time_limits_can_be_chosen, "Take the limit as an argument."),
)
