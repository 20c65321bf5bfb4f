"""Grades short answers to questions: by exact match as in SQuAD and GEM, and by F1 over the words.

    exact_match("The Eiffel Tower.", ["Eiffel tower"])   # True
    f1("a failed coup", "a failed coup attempt")         # 0.8

As in Rajpurkar et al. 2016 (arXiv 1606.05250), case, punctuation and the articles a, an, the are ignored.
"""

from __future__ import annotations

import ast
import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalize_answer(text: str) -> str:
    """The text in lower case, without ASCII punctuation and articles, with one space between words."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def aliases(reference: object) -> list[str]:
    """The answers that a reference accepts.

    A list or an array stands for its members, and so does a string that is a Python list of strings, as some tables
    store it. A number of NumPy is a number.
    """
    reference = reference.tolist() if hasattr(reference, "tolist") else reference
    if isinstance(reference, str):
        if reference.startswith(("['", '["')) and reference.endswith("]"):
            try:
                return [str(item) for item in ast.literal_eval(reference)]
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return [reference]
        return [reference]
    return [str(item) for item in reference] if isinstance(reference, Sequence) else [str(reference)]


def exact_match(answer: str, references: str | Sequence[str]) -> bool:
    """Whether the answer equals one of the references after `normalize_answer`. A string is a single reference."""
    normalized = normalize_answer(answer)
    alternatives = [references] if isinstance(references, str) else references
    return any(normalized == normalize_answer(reference) for reference in alternatives)


def f1(answer: str, reference: str) -> float:
    """The harmonic mean of precision and recall over the words of answer and reference, from 0 to 1."""
    answer_words, reference_words = normalize_answer(answer).split(), normalize_answer(reference).split()
    if not answer_words or not reference_words:
        return float(answer_words == reference_words)
    num_common = sum((Counter(answer_words) & Counter(reference_words)).values())
    return 2 * num_common / (len(answer_words) + len(reference_words))


def best_f1(answer: str, references: str | Sequence[str]) -> float:
    """The highest `f1` over the references. A string is a single reference."""
    alternatives = [references] if isinstance(references, str) else references
    return max((f1(answer, reference) for reference in alternatives), default=0.0)
