"""Agents: whoever acts in a seat. `make_agent("expert")` makes one; `Agent` is what one has to be."""

from gem.agents.agent import Agent, AsyncAgent, Decision, Exchange, Player, Request
from gem.agents.experts import ExpertAgent, has_expert
from gem.agents.kinds import AGENT_KINDS, make_agent
from gem.agents.random_agent import RandomAgent

__all__ = [
    "AGENT_KINDS",
    "Agent",
    "AsyncAgent",
    "Decision",
    "Exchange",
    "ExpertAgent",
    "Player",
    "RandomAgent",
    "Request",
    "has_expert",
    "make_agent",
]
