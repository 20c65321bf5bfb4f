"""The environments with several seats as PettingZoo environments, in both of its interfaces.

    from gem.adapters.pettingzoo import aec_env, parallel_env

    env = aec_env("duel:TicTacToe-v0")          # agents act in turn
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        env.step(None if terminated or truncated else policy(observation))

    env = parallel_env("duel:PrisonersDilemma-v0")  # all agents act at the same time
    observations, infos = env.reset(seed=7)
    observations, rewards, terminations, truncations, infos = env.step({agent: policy(text) for agent, text in ...})

The agents are called `seat_0`, `seat_1` and so on. Observations are those of one seat and include `info["suffix"]` at
their end. The action space of an agent samples valid actions while the agent has to act.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from pettingzoo import AECEnv, ParallelEnv

import gem
from gem.adapters.spaces import AnyText
from gem.envs.multiagent import SimultaneousEnv
from gem.errors import InvalidArgument
from gem.seats import observation_for_seat
from gem.validation.values import check_action

MIN_SEATS = 2
Texts = dict[str, str]
Infos = dict[str, dict[str, Any]]


def aec_env(env_id: str, **env_kwargs: Any) -> TurnBasedEnv:
    """Make an environment as PettingZoo's `AECEnv`; `env_kwargs` are its arguments.

    Raises:
        UnknownEnvironment: if no such id is registered.
        InvalidArgument: on an argument that it does not take, or if it has one seat.
    """
    return TurnBasedEnv(_with_seats(env_id, gem.make(env_id, **env_kwargs)))


def parallel_env(env_id: str, **env_kwargs: Any) -> SimultaneousParallelEnv:
    """Make an environment whose seats act simultaneously as PettingZoo's `ParallelEnv`.

    Raises:
        UnknownEnvironment: if no such id is registered.
        InvalidArgument: on an argument that it does not take, if it has one seat, or if its seats act in turn.
    """
    return SimultaneousParallelEnv(_with_seats(env_id, gem.make(env_id, **env_kwargs)))


def _with_seats(env_id: str, env: gem.Env) -> gem.Env:
    """The environment, if it has several seats that are free."""
    if env.seats < MIN_SEATS:
        env.close()
        raise InvalidArgument(
            f"{env_id} has one seat, and PettingZoo's interfaces are for several. Use gem.make, or Gymnasium's "
            "interface in gem.adapters.gymnasium."
        )
    return env


class TextWithDtype(str):
    """A string with the attribute `dtype`, which PettingZoo's `api_test` reads from every observation."""

    __slots__ = ()
    dtype = str


class _SeatsMixin:
    """The common part of both interfaces: the names of the seats, their spaces and observations."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "name": "gem", "is_parallelizable": False}

    def __init__(self, env: gem.Env) -> None:
        self.gem_env = env
        """The `gem.Env`, for its views, states and random actions."""
        self.render_mode = "ansi"
        name = env.spec.id if env.spec else type(env.unwrapped).__name__
        self.metadata = {**type(self).metadata, "name": name}
        self.possible_agents = [f"seat_{seat}" for seat in range(env.seats)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: AnyText() for agent in self.possible_agents}
        self.action_spaces = {
            agent: AnyText(sampler=partial(self._draw_action, agent)) for agent in self.possible_agents
        }
        self._texts: Texts = dict.fromkeys(self.possible_agents, "")
        self._public = ""

    def observation_space(self, agent: str) -> AnyText:
        """Return the space of observations, which contains every string."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> AnyText:
        """Return the space of actions, which contains every string; samples are valid while the agent has to act."""
        return self.action_spaces[agent]

    def render(self) -> str:
        """Return the last public observation."""
        return self._public

    def close(self) -> None:
        """Release the resources of the environment."""
        self.gem_env.close()

    def _draw_action(self, agent: str) -> str:
        return self.gem_env.sample_random_action() if self.gem_env.to_act else ""

    def _seat_index(self, agent: str) -> int:
        return self.possible_agents.index(agent)

    def _update_texts(self, observation: str, info: dict[str, Any]) -> Infos:
        """Store the observation of every seat and return their infos."""
        infos: Infos = {}
        self._public = _join_suffix(observation, info)
        for seat, agent in enumerate(self.possible_agents):
            text, infos[agent] = observation_for_seat(seat, observation, info)
            self._texts[agent] = TextWithDtype(_join_suffix(text, infos[agent]))
        return infos


class TurnBasedEnv(_SeatsMixin, AECEnv):
    """An environment as PettingZoo's `AECEnv`.

    Seats that act simultaneously act one after the other here; their choices stay hidden until the last one has acted.
    """

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode; `options` are not used."""
        observation, info = self.gem_env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        self.infos = self._update_texts(observation, info)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = self._next()

    def observe(self, agent: str) -> str:
        """Return everything that the agent may read since it last acted."""
        return self._texts[agent]

    def step(self, action: str | None) -> None:
        """Take the action of `agent_selection`; None once the episode is over."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        observation, _, terminated, truncated, info = self.gem_env.step("" if action is None else action)
        self.infos = self._update_texts(observation, info)
        self.rewards = {name: self.infos[name]["reward"] for name in self.agents}
        self.terminations = dict.fromkeys(self.agents, terminated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.agent_selection = self._next()
        self._accumulate_rewards()

    def _next(self) -> str:
        """Return the agent that has to act; after the end, PettingZoo removes the agents one by one."""
        to_act = self.gem_env.to_act
        return self.possible_agents[to_act[0]] if to_act else self.agents[0]


class SimultaneousParallelEnv(_SeatsMixin, ParallelEnv):
    """An environment whose seats act simultaneously, as PettingZoo's `ParallelEnv`."""

    def __init__(self, env: gem.Env) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, SimultaneousEnv):
            raise InvalidArgument(f"The seats of {self.metadata['name']} act in turn: use aec_env.")

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Texts, Infos]:
        """Begin an episode; `options` are not used."""
        observation, info = self.gem_env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        infos = self._update_texts(observation, info)
        return dict(self._texts), infos

    def step(self, actions: dict[str, str]) -> tuple[Texts, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """Take one action of every agent.

        If an action is against the rules, its agent has to choose again in the next call; the actions of the agents
        before it are kept.

        Raises:
            InvalidArgument: if the action of an agent is missing, or no text. No action is taken then.
        """
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise InvalidArgument(f"A step takes an action of each agent; that of {', '.join(missing)} is missing.")
        for agent in self.agents:
            check_action(actions[agent])
        rewards = dict.fromkeys(self.agents, 0.0)
        terminated = truncated = False
        infos: Infos = {}
        for agent in list(self.agents):
            before = self.gem_env.to_act
            if before[0] != self._seat_index(agent):
                continue
            observation, _, terminated, truncated, info = self.gem_env.step(actions[agent])
            infos = self._update_texts(observation, info)
            rewards = {name: rewards[name] + infos[name]["reward"] for name in self.agents}
            if terminated or truncated or self.gem_env.to_act == before:
                break
        agents = self.agents
        if terminated or truncated:
            self.agents = []
        ends = dict.fromkeys(agents, terminated), dict.fromkeys(agents, truncated)
        return {name: self._texts[name] for name in agents}, rewards, *ends, infos


def _join_suffix(observation: str, info: dict[str, Any]) -> str:
    return "\n\n".join(part for part in (observation, str(info.get("suffix", ""))) if part)
