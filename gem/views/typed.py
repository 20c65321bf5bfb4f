"""Turning what a person types into an action."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem.core import Env


def as_action(env: Env, text: str, seat: int = 0) -> str:
    """Put a typed text between the two strings of the view's `say`, which make a search or a message of it.

    The text stays as it is if the environment already finds an action in it, or would not find one afterwards. A
    program in a code block within another one, which happens when one is pasted, loses the outer one.
    """
    if text.count("```") >= 4 and env.view(seat)["kind"] == "code":
        return without_outer_block(text)
    pattern = getattr(env.unwrapped, "pattern", None)
    if pattern is None or pattern.search(text) or "\\boxed" in text:
        return text
    say = env.view(seat).get("say")
    if not isinstance(say, tuple | list):
        return text
    content = text.strip()
    if "{" in say[0]:
        content = content.translate({ord("{"): "(", ord("}"): ")"})  # a brace would end a boxed action early
    action = f"{say[0]}{content}{say[1]}"
    return action if pattern.search(action) else text


_FENCE_LINE = re.compile(r"^[ \t]*```([^\n`]*)$", re.MULTILINE)


def without_outer_block(text: str) -> str:
    """The text without a Markdown code block around others, in which the inner ones would end it early.

    A block holds others if a second one begins before it ends, with a language after its marks or with nothing between.
    """
    marks = list(_FENCE_LINE.finditer(text))
    if len(marks) < 4:
        return text
    first, second, last = marks[0], marks[1], marks[-1]
    is_whole = not text[: first.start()].strip() and not text[last.end() :].strip()
    is_nested = bool(second[1].strip()) or not text[first.end() : second.start()].strip()
    return text[first.end() : last.start()].strip("\n") if is_whole and is_nested else text
