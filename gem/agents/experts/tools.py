"""What an expert asks of tools before it acts."""

from __future__ import annotations

from gem.agents.agent import Decision, Request
from gem.envs.problems.qa import QaEnv


def search_question(request: Request) -> Decision | None:
    """Search the words of the question once; None when that is done, or cannot be done."""
    inside = request.env.unwrapped
    asks = getattr(request.env, "asks_for_tool", None)
    if not isinstance(inside, QaEnv) or asks is None or request.turn > 1:
        return None
    action = f"<search>{inside.question}</search>"
    return Decision(action, "The pages may say it: search the words of the question.") if asks(action) else None
