"""What a person types, as the action that it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gem.core import Env


def as_action(env: Env, text: str, seat: int = 0) -> str:
    """The text put between what the view's `say` names: words on a search page are searched for, a line is said.

    A text in which the environment finds an action stays as it is, and so does one that would not become one.
    """
    pattern = getattr(env.unwrapped, "pattern", None)
    if pattern is None or pattern.search(text) or "\\boxed" in text:
        return text
    say = env.view(seat).get("say")
    if not isinstance(say, tuple | list):
        return text
    said = text.strip()
    if "{" in say[0]:
        said = said.translate({ord("{"): "(", ord("}"): ")"})  # a boxed action ends at its brace
    action = f"{say[0]}{said}{say[1]}"
    return action if pattern.search(action) else text
