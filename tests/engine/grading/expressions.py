"""Regular expressions of the engine, and texts on which an expression that backtracks takes long."""

import importlib
import pkgutil
import re
import re._constants as codes  # type: ignore[import-not-found]
import re._parser as parser  # type: ignore[import-not-found]
import string
from collections.abc import Iterator
from typing import Any

import gem

SKIPPED = ("gem.cli", "gem.training", "gem.check", "gem.agents.experts", "gem.compat")
"""Modules that read no text of agents and visitors."""
CATEGORIES = {
    codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_WORD: r"\w",
    codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip
SIGNS = " a1,<\n\\\"'`;({[" + string.printable
"""Signs to choose from, the most dangerous ones first."""
REPEATS = (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT)


def expressions() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Name and expression for each that a module of the engine, or a class in one, has."""
    for info in pkgutil.walk_packages(gem.__path__, "gem."):
        if info.name.startswith(SKIPPED) or ".__main__" in info.name:
            continue
        module = importlib.import_module(info.name)
        owners = [module, *(value for value in vars(module).values() if isinstance(value, type))]
        for owner in owners:
            if getattr(owner, "__module__", info.name) != info.name:
                continue
            for name, value in vars(owner).items():
                if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                    yield f"{info.name}.{name}", value


def bombs(expression: re.Pattern[str], length: int) -> Iterator[str]:
    """Texts that match the beginning of an expression, repeat a part that it repeats, and then do not match."""
    tree = parser.parse(expression.pattern, expression.flags)
    for before, body in _repeats("", tree):
        for text in dict.fromkeys((before + body, body)):
            yield text * (length // len(text))
        yield before + body * ((length - len(before)) // len(body))
        yield before + body * ((length - len(before) - 1) // len(body)) + "\0"


def _repeats(before: str, items: Any) -> Iterator[tuple[str, str]]:
    """Each part that is repeated, with a text that leads to it."""
    for operation, argument in items:
        if operation in REPEATS:
            _, most, part = argument
            yield from ((before, body) for body in _examples(part) if body and most > 1)
            yield from _repeats(before, part)
        else:
            for part in _parts(operation, argument):
                yield from _repeats(before, part)
        is_lookbehind = operation is codes.ASSERT and argument[0] < 0 and not before
        before += next(_examples(argument[1] if is_lookbehind else [(operation, argument)]))


def _parts(operation: Any, argument: Any) -> list[Any]:
    if operation is codes.SUBPATTERN:
        return [argument[3]]
    if operation is codes.BRANCH:
        return list(argument[1])
    return [argument] if operation is codes.ATOMIC_GROUP else []


def _examples(items: Any) -> Iterator[str]:
    """Short texts that match; at least one. If there are several, they differ in one sign."""
    if len(items) == 1 and items[0][0] in (codes.IN, codes.NOT_LITERAL, codes.ANY):
        yield from _signs(items[0])[:3]
        return
    yield "".join(_example(operation, argument) for operation, argument in items)


def _example(operation: Any, argument: Any) -> str:
    if operation is codes.LITERAL:
        return chr(argument)
    if operation in (codes.IN, codes.NOT_LITERAL, codes.ANY):
        return _signs((operation, argument))[0]
    if operation in REPEATS:
        least, _, part = argument
        return next(_examples(part)) * least
    parts = _parts(operation, argument)
    return next(_examples(parts[0])) if parts else ""


def _signs(item: Any) -> list[str]:
    """The signs of which an item matches one."""
    operation, argument = item
    own = [chr(value) for kind, value in argument if kind is codes.LITERAL] if operation is codes.IN else []
    return [sign for sign in dict.fromkeys([*SIGNS, *own, "é"]) if _allows(item, sign)]


def _allows(item: Any, sign: str) -> bool:
    operation, argument = item
    if operation is codes.ANY:
        return sign != "\n"
    if operation is codes.NOT_LITERAL:
        return ord(sign) != argument
    is_negated = argument[0][0] is codes.NEGATE
    return any(_includes(part, sign) for part in argument) != is_negated


def _includes(part: Any, sign: str) -> bool:
    operation, argument = part
    if operation is codes.LITERAL:
        return ord(sign) == argument
    if operation is codes.RANGE:
        return bool(argument[0] <= ord(sign) <= argument[1])
    if operation is codes.CATEGORY:
        return re.match(CATEGORIES[argument], sign) is not None
    return False
