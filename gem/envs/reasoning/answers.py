"""Decides whether an answer is safe to be judged by ReasoningGym.

Some scorers of ReasoningGym 0.1.25 evaluate the answer as Python (four with `eval`, five with SymPy's parser, which
does the same), so an answer could execute arbitrary code. For these datasets the answer is parsed first. If it is
neither a plain list nor a small formula, it is scored like no answer.
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
MAX_ANSWER_CHARS = 20_000
"""A longer answer is not judged."""
MAX_FORMULA_CHARS = 400
MAX_BITS = 4_000
"""A formula is not evaluated if a number in it could have more bits."""
FUNCTIONS = frozenset(
    {"Abs", "acos", "asin", "atan", "cos", "cosh", "cot", "csc", "exp", "ln", "log", "sec", "sin", "sinh", "sqrt",
     "tan", "tanh"}
)  # fmt: skip


def is_safe(dataset: str, answer: str, entry: Mapping[str, Any]) -> bool:
    """Whether the scorer of `dataset` can be run on this answer to the problem `entry`."""
    if len(answer) > MAX_ANSWER_CHARS:
        return False
    if dataset in LITERALS:
        return _is_known(answer, entry) or _is_literal(answer)
    if dataset in FORMULAS:
        return _is_small_formula(answer)
    return True


def _is_known(answer: str, entry: Mapping[str, Any]) -> bool:
    """Whether the answer literally equals a correct one; then the scorer compares it and does not evaluate it."""
    correct_answers = [entry["answer"], *entry["metadata"].get("valid_answers", ())]
    return answer in correct_answers or answer.strip() == str(entry["answer"]).strip()


def _is_literal(answer: str) -> bool:
    try:
        ast.literal_eval(answer)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _is_small_formula(answer: str) -> bool:
    if len(answer) > MAX_FORMULA_CHARS:
        return False
    try:
        return _estimate_bits(ast.parse(answer.strip(), mode="eval").body) <= MAX_BITS
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return False


def _estimate_bits(node: ast.expr) -> float:
    """Estimate the bits of the largest number in the evaluation of a formula; a variable counts as one bit.

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
            return _estimate_bits(operand)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
            return _estimate_bits(left) + _estimate_bits(right) + 1
        case ast.BinOp(left=left, op=ast.Mult() | ast.Div(), right=right):
            return _estimate_bits(left) + _estimate_bits(right)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _estimate_bits(left) * 2 ** min(_estimate_bits(right), 64)
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in FUNCTIONS:
            return _estimate_bits(argument) * 2
    raise ValueError(f"{ast.dump(node)} is no part of a formula")
