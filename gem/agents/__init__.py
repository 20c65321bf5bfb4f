"""Agents, which act in the seats of environments: `Agent` is their interface, `make_agent("expert")` makes one.

Begin reading in `agent`. `decision_queue` lets many agents decide at the same time, `endpoint` has agents behind
OpenAI-compatible servers, `experts` a program for each environment, and `isolated_agent` runs trained policies in a
process of their own.
"""

from gem.agents.agent import Agent, AnyAgent, AsyncAgent, Decision, Exchange, Request
from gem.agents.experts import ExpertAgent, has_expert
from gem.agents.kinds import AGENT_KINDS, make_agent
from gem.agents.random_agent import RandomAgent

__all__ = [
    "AGENT_KINDS",
    "Agent",
    "AnyAgent",
    "AsyncAgent",
    "Decision",
    "Exchange",
    "ExpertAgent",
    "RandomAgent",
    "Request",
    "has_expert",
    "make_agent",
]
