"""Turning what a person types into an action."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem.core import Env


def as_action(env: Env, text: str, seat: int = 0) -> str:
    """Put a typed text between the two strings of the view's `say`, which make a search or a message of it.

    The text stays as it is if the environment already finds an action in it, or would not find one afterwards.
    """
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
