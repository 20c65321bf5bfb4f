"""Our environments in the agentic pipeline of ROLL.

Checked: not run: needs 8 GPUs.

The environment managers of ROLL use the interface of GEM, which is ours too: `gem.make(env_id=env_type, **env_config)`,
`reset(seed=...)`, `step(action=...)`. If this package is installed instead of `gem-llm`, every id of ours is an
`env_type`. ROLL averages the values in `info["metrics"]`. `WithMetrics` puts success and format errors there, and this
module registers `env_type: gem_with_metrics`, whose `env_config` names the environment. In the YAML file of ROLL:

    custom_envs:
      GuessTheNumber:
        env_type: gem_with_metrics
        max_steps: 10
        max_tokens_per_step: 512
        env_manager_cls: roll.pipeline.agentic.env_manager.traj_env_manager.TrajEnvManager
        agent_system_template: You solve text environments.
        agent_template: "{observation}"
        env_config: {name: "game:GuessTheNumber-v0-easy"}
    train_env_manager: {tags: [GuessTheNumber], num_env_groups: 16, group_size: 8, num_groups_partition: [16]}

The workers of ROLL must import this module. Name it as an entry point of the group `gem.environments` in a package of
your own (docs/add-an-environment.md), then start `examples/start_agentic_pipeline.py` of ROLL with this YAML file. For
another environment, change `name`.
"""

from __future__ import annotations

from typing import Any

import gem
from gem.core import Env, EnvWrapper, Info, Step


class WithMetrics(EnvWrapper):
    """Adds to `info` the metrics that ROLL plots, and how to aggregate them over an episode."""

    def reset(self, seed: int | None = None) -> tuple[str, Info]:
        """See `Env.reset`."""
        observation, info = self.env.reset(seed=seed)
        return observation, {**info, **self._metrics(info)}

    def step(self, action: str) -> Step:
        """See `Env.step`."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward, terminated, truncated, {**info, **self._metrics(info)}

    @staticmethod
    def _metrics(info: Info) -> dict[str, Any]:
        metrics = {
            "success": bool(info.get("success", False)),
            "action_is_valid": "error" not in info,
            "format_penalty": 0.0,
        }
        return {"metrics": metrics, "metrics_agg_mode": {"success": "last", "action_is_valid": "mean"}}


def make(name: str, **env_kwargs: Any) -> Env:
    """The environment `name` with metrics; it gets the other arguments."""
    return WithMetrics(gem.make(name, **env_kwargs))


gem.register("gem_with_metrics", make)
