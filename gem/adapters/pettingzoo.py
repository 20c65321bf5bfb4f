"""Our environments with several seats as PettingZoo's: both of its interfaces.

    from gem.adapters.pettingzoo import aec_env, parallel_env

    env = aec_env("duel:TicTacToe-v0")          # agents act in turn
    env.reset(seed=7)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, info = env.last()
        env.step(None if terminated or truncated else policy(observation))

    env = parallel_env("duel:PrisonersDilemma-v0")  # all agents act at the same time
    observations, infos = env.reset(seed=7)
    observations, rewards, terminations, truncations, infos = env.step({agent: policy(text) for agent, text in ...})

The agents are called `seat_0`, `seat_1`. Observations are the texts of one seat and end with what it reads last
(`info["suffix"]`). An action space draws valid actions while its agent is to act.
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

Texts = dict[str, str]
Infos = dict[str, dict[str, Any]]


def aec_env(env_id: str, **env_kwargs: Any) -> SeatsInTurn:
    """An environment as PettingZoo's `AECEnv`; `env_kwargs` are its arguments.

    Raises:
        UnknownEnvironment: if no such id is registered.
        InvalidArgument: on an argument that it does not take.
    """
    return SeatsInTurn(gem.make(env_id, **env_kwargs))


def parallel_env(env_id: str, **env_kwargs: Any) -> SeatsAtOnce:
    """An environment whose seats act at the same time as PettingZoo's `ParallelEnv`.

    Raises:
        UnknownEnvironment: if no such id is registered.
        InvalidArgument: on an argument that it does not take, or if its seats act in turn.
    """
    return SeatsAtOnce(gem.make(env_id, **env_kwargs))


class Reading(str):
    """A text that says its type the way arrays do: PettingZoo's `api_test` asks every observation for it."""

    __slots__ = ()
    dtype = str


class _Seats:
    """What both interfaces share: the names of the seats, their spaces and what each reads."""

    metadata: dict[str, Any] = {"render_modes": ["ansi"], "name": "gem", "is_parallelizable": False}

    def __init__(self, env: gem.Env) -> None:
        self.gem_env = env
        """The environment as this package knows it, for views, states and random actions."""
        self.render_mode = "ansi"
        name = env.spec.id if env.spec else type(env.unwrapped).__name__
        self.metadata = {**type(self).metadata, "name": name}
        self.possible_agents = [f"seat_{seat}" for seat in range(env.seats)]
        self.agents: list[str] = []
        self.observation_spaces = {agent: AnyText() for agent in self.possible_agents}
        self.action_spaces = {agent: AnyText(drawn=partial(self._drawn, agent)) for agent in self.possible_agents}
        self._texts: Texts = dict.fromkeys(self.possible_agents, "")
        self._public = ""

    def observation_space(self, agent: str) -> AnyText:
        """Any text."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> AnyText:
        """Any text; what is drawn is valid while the agent is to act."""
        return self.action_spaces[agent]

    def render(self) -> str:
        """What happened last, as everybody may read it."""
        return self._public

    def close(self) -> None:
        """Release what the environment holds."""
        self.gem_env.close()

    def _drawn(self, agent: str) -> str:
        return self.gem_env.sample_random_action() if self.gem_env.to_act else ""

    def _seat(self, agent: str) -> int:
        return self.possible_agents.index(agent)

    def _read(self, observation: str, info: dict[str, Any]) -> Infos:
        """Keep what every seat reads; their infos."""
        infos: Infos = {}
        self._public = _whole(observation, info)
        for seat, agent in enumerate(self.possible_agents):
            text, infos[agent] = observation_for_seat(seat, observation, info)
            self._texts[agent] = Reading(_whole(text, infos[agent]))
        return infos


class SeatsInTurn(_Seats, AECEnv):
    """One of our environments as PettingZoo's `AECEnv`. Seats that act at the same time act one after the other here:
    what they choose stays sealed until the last one has chosen."""

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begin an episode; `options` are not used."""
        observation, info = self.gem_env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        self.infos = self._read(observation, info)
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.agent_selection = self._next()

    def observe(self, agent: str) -> str:
        """What the agent has to read since it last acted."""
        return self._texts[agent]

    def step(self, action: str | None) -> None:
        """The action of `agent_selection`; None once its episode is over."""
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[agent] = 0.0
        observation, _, terminated, truncated, info = self.gem_env.step("" if action is None else action)
        self.infos = self._read(observation, info)
        self.rewards = {name: self.infos[name]["reward"] for name in self.agents}
        self.terminations = dict.fromkeys(self.agents, terminated)
        self.truncations = dict.fromkeys(self.agents, truncated)
        self.agent_selection = self._next()
        self._accumulate_rewards()

    def _next(self) -> str:
        """Who acts; after the end the seats take their leave in order."""
        to_act = self.gem_env.to_act
        return self.possible_agents[to_act[0]] if to_act else self.agents[0]


class SeatsAtOnce(_Seats, ParallelEnv):
    """One of our environments whose seats act at the same time as PettingZoo's `ParallelEnv`."""

    def __init__(self, env: gem.Env) -> None:
        super().__init__(env)
        if not isinstance(env.unwrapped, SimultaneousEnv) or env.seats == 1:
            raise InvalidArgument("Its seats act in turn: use aec_env.")

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Texts, Infos]:
        """Begin an episode; `options` are not used."""
        observation, info = self.gem_env.reset(seed=seed)
        self.agents = list(self.possible_agents)
        infos = self._read(observation, info)
        return dict(self._texts), infos

    def step(self, actions: dict[str, str]) -> tuple[Texts, dict[str, float], dict[str, bool], dict[str, bool], Infos]:
        """One action of every agent.

        A choice against the rules is asked for again in the next call; the choices of the agents before it stand.
        """
        rewards = dict.fromkeys(self.agents, 0.0)
        terminated = truncated = False
        infos: Infos = {}
        for agent in list(self.agents):
            before = self.gem_env.to_act
            if before[0] != self._seat(agent):
                continue
            observation, _, terminated, truncated, info = self.gem_env.step(actions[agent])
            infos = self._read(observation, info)
            rewards = {name: rewards[name] + infos[name]["reward"] for name in self.agents}
            if terminated or truncated or self.gem_env.to_act == before:
                break
        agents = self.agents
        if terminated or truncated:
            self.agents = []
        ends = dict.fromkeys(agents, terminated), dict.fromkeys(agents, truncated)
        return {name: self._texts[name] for name in agents}, rewards, *ends, infos


def _whole(observation: str, info: dict[str, Any]) -> str:
    return "\n\n".join(part for part in (observation, str(info.get("suffix", ""))) if part)
