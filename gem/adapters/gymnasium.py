"""The environments as Gymnasium environments.

    import gymnasium
    import gem.adapters.gymnasium  # registers the environments

    env = gymnasium.make("gem/game.Sokoban-v0-easy")
    observation, info = env.reset(seed=7)
    envs = gymnasium.make_vec("gem/game.Sokoban-v0-easy", num_envs=8, vectorization_mode="sync")

An id of Gymnasium is `gem/` and our id with a dot in place of the colon, which has another meaning in Gymnasium.
Observations include `info["suffix"]` at their end. `gymnasium.make("gem.adapters.gymnasium:gem/game.Sokoban-v0-easy")`
works without the second import.
"""

from __future__ import annotations

from typing import Any

import gymnasium

import gem
from gem.adapters.spaces import AnyText

NAMESPACE = "gem"


def gymnasium_id(env_id: str) -> str:
    """Return Gymnasium's id of an environment: `gem/game.Sokoban-v0` for `game:Sokoban-v0`."""
    return f"{NAMESPACE}/{env_id.replace(':', '.')}"


def register_all() -> None:
    """Register all environments with Gymnasium, except those that are; importing this module calls it."""
    for spec in gem.registry.specs():
        name = gymnasium_id(spec.id)
        if name not in gymnasium.registry:
            gymnasium.register(
                id=name,
                entry_point="gem.adapters.gymnasium:GymnasiumEnv",
                kwargs={"env_id": spec.id},
                nondeterministic=spec.replay != "exact",
            )


class GymnasiumEnv(gymnasium.Env[str, str]):
    """An environment as a `gymnasium.Env`; `env_kwargs` are its arguments.

    Raises:
        UnknownEnvironment: if no such id is registered.
        InvalidArgument: on an argument that it does not take.
    """

    metadata = {"render_modes": ["ansi"], "render_fps": 4}

    def __init__(self, env_id: str, render_mode: str | None = None, **env_kwargs: Any) -> None:
        self.render_mode = render_mode
        self.observation_space = AnyText()
        self.action_space = AnyText()
        self.gem_env = gem.make(env_id, **env_kwargs)
        """The `gem.Env`, for its views, states and random actions."""
        self._default_env = self.gem_env
        self._text = ""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        """Begin an episode; `options` are arguments of the environment for this episode only."""
        super().reset(seed=seed)
        self._leave_own_env()
        if options:  # then the environment is another one, which has no earlier episode to draw a seed from
            self.gem_env = self._default_env.spawn(**options)
            seed = int(self.np_random.integers(2**53)) if seed is None else seed
        observation, info = self.gem_env.reset(seed=seed)
        return self._join_suffix(observation, info), info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take a turn."""
        observation, reward, terminated, truncated, info = self.gem_env.step(action)
        return self._join_suffix(observation, info), reward, terminated, truncated, info

    def render(self) -> str | None:  # type: ignore[override]  # Gymnasium leaves the type to subclasses
        """Return the last observation in the mode `ansi`."""
        return self._text if self.render_mode == "ansi" else None

    def close(self) -> None:
        """Release the resources of the environment."""
        self._leave_own_env()
        self._default_env.close()

    def _leave_own_env(self) -> None:
        """Close the environment of an episode that had arguments of its own."""
        if self.gem_env is not self._default_env:
            self.gem_env.close()
            self.gem_env = self._default_env

    def _join_suffix(self, observation: str, info: dict[str, Any]) -> str:
        self._text = "\n\n".join(part for part in (observation, str(info.get("suffix", ""))) if part)
        return self._text


register_all()
