"""What a person types, as the action that it stands for."""

from __future__ import annotations

from gem.core import Env


def as_action(env: Env, text: str, seat: int = 0) -> str:
    """The text put between what the view's `say` names: words on a search page are searched for, a line is said.

    A text in which the environment finds an action stays as it is, and so does one that would not become one.
    """
    pattern = getattr(env.unwrapped, "pattern", None)
    if pattern is None or pattern.search(text):
        return text
    say = env.view(seat).get("say")
    if not isinstance(say, tuple | list):
        return text
    action = f"{say[0]}{text.strip()}{say[1]}"
    return action if pattern.search(action) else text
