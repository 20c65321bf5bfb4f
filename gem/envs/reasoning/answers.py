"""Answers that are safe to be judged.

Some scorers of ReasoningGym 0.1.25 evaluate the answer as Python (four with `eval`, five with SymPy's parser, which
does the same), so an answer could run any program here. Theirs are read first: what is no plain list, and no small
formula, is worth what no answer is worth.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping
from typing import Any

LITERALS = frozenset({"binary_matrix", "n_queens", "spiral_matrix", "string_insertion"})
"""Datasets whose scorers evaluate a list."""
FORMULAS = frozenset(
    {"countdown", "intermediate_integration", "polynomial_multiplication", "puzzle24", "simple_integration"}
)
"""Datasets whose scorers evaluate a formula."""
LONGEST = 20_000
"""Characters of an answer that are read."""
LONGEST_FORMULA = 400
MOST_BITS = 4_000
"""A formula whose numbers could get longer is not worked out."""
FUNCTIONS = frozenset(
    {"Abs", "acos", "asin", "atan", "cos", "cosh", "cot", "csc", "exp", "ln", "log", "sec", "sin", "sinh", "sqrt",
     "tan", "tanh"}
)  # fmt: skip


def harmless(dataset: str, answer: str, entry: Mapping[str, Any]) -> bool:
    """Whether the scorer of `dataset` may see this answer to the problem `entry`."""
    if len(answer) > LONGEST:
        return False
    if dataset in LITERALS:
        return _is_known(answer, entry) or _is_literal(answer)
    if dataset in FORMULAS:
        return _is_small_formula(answer)
    return True


def _is_known(answer: str, entry: Mapping[str, Any]) -> bool:
    """Whether the answer is correct letter by letter: then it is compared and not evaluated."""
    right = [entry["answer"], *entry["metadata"].get("valid_answers", ())]
    return answer in right or answer.strip() == str(entry["answer"]).strip()


def _is_literal(answer: str) -> bool:
    try:
        ast.literal_eval(answer)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_small_formula(answer: str) -> bool:
    if len(answer) > LONGEST_FORMULA:
        return False
    try:
        return _bits(ast.parse(answer.strip(), mode="eval").body) <= MOST_BITS
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


def _bits(node: ast.expr) -> float:
    """About how many bits the largest number on the way has; a variable counts as one.

    Raises:
        ValueError: on anything but numbers, names of one letter, `pi`, arithmetic and functions of `FUNCTIONS`.
    """
    match node:
        case ast.Constant(value=bool()):
            raise ValueError("a truth value is no number")
        case ast.Constant(value=int() | float() as number):
            return math.log2(abs(number) + 2)
        case ast.Name(id=name) if len(name) == 1 or name == "pi":
            return 1
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return _bits(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _bits(left) + _bits(right) + 1
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _bits(left) + _bits(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _bits(left) * 2 ** min(_bits(right), 64)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return _bits(argument) * 2
    raise ValueError(f"{ast.dump(node)} is no part of a formula")
