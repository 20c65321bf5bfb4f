"""GEM's environments for several agents, whose calls take and return dictionaries, for scripts that derive from them.

`from gem.multiagent import AgentSelector, MultiAgentEnv` imports these. Environments of ours for several seats have
the contract of `gem.envs.multiagent` instead, which the site, the vectors and the records need.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from gem.errors import InvalidArgument
from gem.validation.values import check_seed

Mode = Literal["sequential", "parallel"]
Texts = dict[str, str]
Turn = tuple[Texts, dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]
"""Observations, rewards, terminations, truncations and infos, by agent."""


class AgentSelector:
    """The agents that act now: one after the other (`sequential`), or all in every turn (`parallel`)."""

    def __init__(self, agents: Sequence[str], mode: Mode = "sequential") -> None:
        if mode not in ("sequential", "parallel"):
            raise InvalidArgument(f"The mode is 'sequential' or 'parallel', not {mode!r:.40}.")
        self.mode = mode
        self.reinit(agents)

    @property
    def selected(self) -> str | None:
        """The agent whose turn it is in the sequential mode; None without agents."""
        return self._agents[self._position] if self._agents else None

    def reinit(self, agents: Sequence[str]) -> None:
        """Begin again with these agents, the first of them first."""
        self._agents, self._position = list(agents), 0

    def get_active_agents(self) -> list[str]:
        """The agents that act now."""
        return list(self._agents) if self.mode == "parallel" else self._agents[self._position : self._position + 1]

    def next(self) -> None:
        """Go on to the next agent, in the sequential mode."""
        if self.mode == "sequential" and self._agents:
            self._position = (self._position + 1) % len(self._agents)

    def is_first(self) -> bool:
        """Whether the first agent acts now."""
        return self._position == 0

    def is_last(self) -> bool:
        """Whether the last agent acts now."""
        return self._position == len(self._agents) - 1

    def add_agent(self, agent: str) -> None:
        """Let an agent act after all others; one that is there stays where it is."""
        if agent not in self._agents:
            self._agents.append(agent)

    def remove_agent(self, agent: str) -> None:
        """Leave an agent out. If it was its turn, or its turn is over, the agent before the present one acts."""
        if agent not in self._agents:
            return
        index = self._agents.index(agent)
        del self._agents[index]
        if index <= self._position:
            self._position = max(0, self._position - 1)
        self._position %= max(1, len(self._agents))


class MultiAgentEnv(ABC):
    """An environment with agents that have names.

    A subclass sets `possible_agents` and, unless all agents always act, `agent_selector`, and defines `observe` and
    `_process_actions`. An agent leaves when it is in `terminations` or `truncations`.
    """

    def __init__(self) -> None:
        self.possible_agents: list[str] = []
        self.agents: list[str] = []
        self.terminations: dict[str, bool] = {}
        self.truncations: dict[str, bool] = {}
        self.rewards: dict[str, float] = {}
        self.infos: dict[str, dict[str, Any]] = {}
        self._cumulative_rewards: dict[str, float] = {}
        self.agent_selector: AgentSelector | None = None
        self.shared_memory: list[dict[str, str]] = []
        """The messages from agent to agent in this episode: `from`, `to` and `message`."""
        self.global_context = ""
        self.rng = random.Random()
        """The generator of an episode; `reset(seed)` seeds it."""

    @abstractmethod
    def observe(self, agent: str) -> str:
        """Return what an agent reads now."""

    @abstractmethod
    def _process_actions(self, actions: Texts) -> Turn:
        """Take the actions of the agents that act, and return the turn."""

    def reset(self, seed: int | None = None) -> tuple[Texts, dict[str, dict[str, Any]]]:
        """Begin an episode with all possible agents; return the observation and the info of each."""
        if seed is not None:
            self.rng.seed(check_seed(seed))
        for table in (self.terminations, self.truncations, self.rewards, self.infos, self._cumulative_rewards):
            table.clear()
        self.agents = []
        self.shared_memory, self.global_context = [], ""
        if self.agent_selector is not None:
            self.agent_selector.reinit([])
        for agent in self.possible_agents:
            self.add_agent(agent)
        return {agent: self.observe(agent) for agent in self.agents}, {agent: {} for agent in self.agents}

    def step(self, actions: Mapping[str, str]) -> Turn:
        """Take the actions of the agents that act now.

        Raises:
            InvalidArgument: if the action of such an agent is missing, or another agent acts.
        """
        if not isinstance(actions, Mapping):
            raise InvalidArgument(f"Actions are a dictionary from agent to action, not {type(actions).__name__}.")
        active = self._active_agents()
        missing, others = [agent for agent in active if agent not in actions], actions.keys() - set(active)
        if missing:
            raise InvalidArgument(f"The action of {missing[0]}, whose turn it is, is missing.")
        if others:
            raise InvalidArgument(f"It is not the turn of {min(others)}, but of {', '.join(active) or 'nobody'}.")
        turn = self._process_actions(dict(actions))
        for agent, reward in turn[1].items():
            if agent in self._cumulative_rewards:
                self._cumulative_rewards[agent] += reward
        ended = [agent for agent in self.agents if self.terminations.get(agent) or self.truncations.get(agent)]
        for agent in ended:
            self.remove_agent(agent)
        if self.agent_selector is not None:
            self.agent_selector.next()
        return turn

    def get_state(self, agent: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Return the observation, the return so far, both ends and the info of an agent."""
        self._check_agent(agent)
        returns = self._cumulative_rewards[agent]
        return self.observe(agent), returns, self.terminations[agent], self.truncations[agent], self.infos[agent]

    def get_active_states(self) -> dict[str, tuple[str, float, bool, bool, dict[str, Any]]]:
        """Return the state of each agent that acts now."""
        return {agent: self.get_state(agent) for agent in self._active_agents()}

    def add_agent(self, agent_id: str) -> None:
        """Let an agent take part; one that does already stays."""
        if agent_id in self.agents:
            return
        self.agents.append(agent_id)
        self.terminations[agent_id] = self.truncations[agent_id] = False
        self.rewards[agent_id] = self._cumulative_rewards[agent_id] = 0.0
        self.infos[agent_id] = {}
        if self.agent_selector is not None:
            self.agent_selector.add_agent(agent_id)

    def remove_agent(self, agent_id: str) -> None:
        """Let an agent take part no longer."""
        if agent_id not in self.agents:
            return
        self.agents.remove(agent_id)
        for table in (self.terminations, self.truncations, self.rewards, self.infos, self._cumulative_rewards):
            table.pop(agent_id, None)
        if self.agent_selector is not None:
            self.agent_selector.remove_agent(agent_id)

    def send_message(self, from_agent: str, to_agent: str, message: str) -> None:
        """Keep a message from one agent to another."""
        self._check_agent(from_agent)
        self._check_agent(to_agent)
        self.shared_memory.append({"from": from_agent, "to": to_agent, "message": message})

    def broadcast_message(self, from_agent: str, message: str) -> None:
        """Keep a message from one agent to each other one."""
        self._check_agent(from_agent)
        for agent in self.agents:
            if agent != from_agent:
                self.send_message(from_agent, agent, message)

    def _active_agents(self) -> list[str]:
        return list(self.agents) if self.agent_selector is None else self.agent_selector.get_active_agents()

    def _check_agent(self, agent: str) -> None:
        if agent not in self.agents:
            raise InvalidArgument(f"{agent!r:.80} takes no part; there is {', '.join(self.agents) or 'nobody'}.")
