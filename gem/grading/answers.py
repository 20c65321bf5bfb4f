"""Short answers to questions: exact match as SQuAD and GEM compare, and F1 over the words.

    exact_match("The Eiffel Tower.", ["Eiffel tower"])   # True
    f1("a failed coup", "a failed coup attempt")         # 0.8

Source: Rajpurkar et al. 2016 (arXiv 1606.05250) for what is ignored: case, punctuation, the articles a, an, the.
"""

from __future__ import annotations

import ast
import re
import string
from collections import Counter
from collections.abc import Sequence

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalized(text: str) -> str:
    """Lower case, without punctuation (ASCII's) and articles, one space between words."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_PUNCTUATION)).split())


def aliases(reference: object) -> list[str]:
    """The answers of which one has to be met.

    A list stands for its members; so do arrays, and a text that is a Python list of texts, as tables keep them.
    """
    if isinstance(reference, str):
        if reference.startswith(("['", '["')) and reference.endswith("]"):
            try:
                return [str(item) for item in ast.literal_eval(reference)]
            except (ValueError, SyntaxError, MemoryError, RecursionError):
                return [reference]
        return [reference]
    if isinstance(reference, Sequence) or hasattr(reference, "tolist"):
        return [str(item) for item in reference]  # type: ignore[attr-defined]
    return [str(reference)]


def exact_match(answer: str, references: str | Sequence[str]) -> bool:
    """Whether the answer is one of the references, up to what `normalized` ignores. A single text is one reference."""
    found = normalized(answer)
    alternatives = [references] if isinstance(references, str) else references
    return any(found == normalized(reference) for reference in alternatives)


def f1(answer: str, reference: str) -> float:
    """The harmonic mean of the shares of words that answer and reference have in common, 0 to 1."""
    given, wanted = normalized(answer).split(), normalized(reference).split()
    if not given or not wanted:
        return float(given == wanted)
    common = sum((Counter(given) & Counter(wanted)).values())
    return 2 * common / (len(given) + len(wanted))


def best_f1(answer: str, references: str | Sequence[str]) -> float:
    """The highest `f1` over the references. A single text is one reference."""
    alternatives = [references] if isinstance(references, str) else references
    return max((f1(answer, reference) for reference in alternatives), default=0.0)
