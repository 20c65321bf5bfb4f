"""What an expert asks of tools before it acts."""

from __future__ import annotations

from gem.agents.agent import Decision, Request
from gem.envs.problems.qa import QaEnv


def search_question(request: Request) -> Decision | None:
    """Search the words of the question once; None when that is done, or cannot be done."""
    env = request.env
    inside = env.unwrapped
    if not isinstance(inside, QaEnv) or getattr(env, "tool_use_counter", True) or not getattr(env, "tool_uses_left", 0):
        return None
    return Decision(f"<search>{inside.question}</search>", "The pages may say it: search the words of the question.")
