"""The environments over datasets under the names of GEM's classes and with their arguments.

`MathEnv(dataset_name="axon-rl/GSM-8k", split="train")`, `CodeEnv(dataset=rows, verbose=True)` and
`register(..., "gem.envs.math_env:MathEnv", dataset_name=...)` come here (see `gem.compat.aliases`). What a problem is
and how an answer is judged is that of our environments. Arguments that only say how GEM computes have no effect.
"""

from __future__ import annotations

from typing import Any

from gem.compat.arguments import WITHOUT_EFFECT
from gem.datasets.loading import Source
from gem.envs.problems import code, math, qa, visual
from gem.envs.problems.code import MAX_TESTS
from gem.errors import InvalidArgument
from gem.validation.near import did_you_mean


class MathEnv(math.MathEnv):
    """Problems of mathematics, from a dataset of the hub or from rows."""

    def __init__(
        self,
        dataset_name: str = "",
        split: str | None = None,
        dataset: Source | None = None,
        question_key: str = "problem",
        answer_key: str = "answer",
        use_format_error_reward: bool = False,
        seed: int | None = None,
        **others: Any,
    ) -> None:
        _refuse_unknown("MathEnv", others)
        source = _source(dataset_name, dataset)
        super().__init__(source, split or "", question_key, answer_key, use_format_error_reward, seed)


class MathVisualEnv(visual.MathVisualEnv):
    """Problems of geometry with pictures, from a dataset of the hub or from rows."""

    def __init__(
        self,
        dataset_name: str = "",
        split: str | None = None,
        dataset: Source | None = None,
        image_key: str = "images",
        question_key: str = "problem",
        answer_key: str = "answer",
        seed: int | None = None,
        **others: Any,
    ) -> None:
        _refuse_unknown("MathVisualEnv", others)
        super().__init__(_source(dataset_name, dataset), split or "", question_key, answer_key, image_key, seed)


class QaEnv(qa.QaEnv):
    """Questions, from a dataset of the hub or from rows."""

    def __init__(
        self,
        dataset_name: str = "",
        split: str | None = None,
        dataset: Source | None = None,
        question_key: str = "question",
        answer_key: str = "answer",
        seed: int | None = None,
        extract_boxed: bool = False,
        **others: Any,
    ) -> None:
        _refuse_unknown("QaEnv", others)
        super().__init__(_source(dataset_name, dataset), split or "", question_key, answer_key, extract_boxed, seed)


class CodeEnv(code.CodeEnv):
    """Programming problems, from a dataset of the hub or from rows."""

    def __init__(
        self,
        dataset_name: str = "",
        split: str | None = None,
        dataset: Source | None = None,
        question_key: str = "problem",
        test_key: str = "tests",
        seed: int | None = None,
        max_tests: int = MAX_TESTS,
        **others: Any,
    ) -> None:
        _refuse_unknown("CodeEnv", others)
        source = _source(dataset_name, dataset)
        super().__init__(source, split or "", question_key, test_key, max_tests, seed=seed)


def apply_prompt(example: dict[str, Any], question_key: str = "question") -> dict[str, Any]:
    """Put the prompt of our questions after the question of a row, and return the row. In GEM it stands before it."""
    example[question_key] = f"{example[question_key]}\n\n{qa.QaEnv.prompt}"
    return example


def _source(name: str, dataset: Source | None) -> Source:
    """The data: rows if there are any, as in GEM, where the name is then only a name."""
    if dataset is not None:
        return dataset
    if not name:
        raise InvalidArgument("Give the problems as dataset, or the name of a dataset as dataset_name.")
    return name


def _refuse_unknown(class_name: str, others: dict[str, Any]) -> None:
    for name in others.keys() - WITHOUT_EFFECT:
        hint = did_you_mean(name, sorted(WITHOUT_EFFECT), "GEM's own arguments are accepted.")
        raise InvalidArgument(f"{class_name} takes no argument {name!r}. {hint}")
