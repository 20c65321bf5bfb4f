"""The tool calls that an expert makes before it acts."""

from __future__ import annotations

from gem.agents.agent import Decision, Request
from gem.envs.problems.qa import QaEnv


def search_question(request: Request) -> Decision | None:
    """Search for the words of the question in the first turn; None in later turns or without a search tool."""
    env = request.env.unwrapped
    asks_for_tool = getattr(request.env, "asks_for_tool", None)
    if not isinstance(env, QaEnv) or asks_for_tool is None or request.turn > 1:
        return None
    action = f"<search>{env.question}</search>"
    return (
        Decision(action, "The pages may say it: search the words of the question.") if asks_for_tool(action) else None
    )
