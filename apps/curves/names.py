"""What trainers call what our trainings call otherwise, so that their curves can be compared."""

from __future__ import annotations

from collections.abc import Collection

from apps.curves.models import OutsideTraining

KNOWN: dict[str, tuple[str, ...]] = {
    "success": (
        "success", "success_rate", "solved", "train/success", "train/success_rate", "rollout/success_rate",
        "eval/success", "eval/success_rate", "accuracy", "train/accuracy", "train/rewards/accuracies",
        "rewards/accuracies",
    ),
    "return": (
        "return", "reward", "train/reward", "train/return", "rewards/mean", "reward/mean", "train/rewards/mean",
        "rollout/ep_rew_mean", "charts/episodic_return", "charts/episode_return", "episode_return",
        "critic/rewards/mean", "critic/score/mean", "env/all/reward/total", "reward/avg_raw_reward", "rollout/reward",
    ),
    "invalid": ("invalid", "invalid_rate", "train/invalid", "format_error_rate"),
    "entropy": (
        "entropy", "train/entropy", "actor/entropy", "actor/entropy_loss", "losses/entropy", "policy/entropy_avg",
        "policy/entropy", "optim/entropy",
    ),
    "turns_per_episode": (
        "turns_per_episode", "num_turns/mean", "train/num_turns/mean", "num_turns", "env/all/turns_per_episode",
    ),
    "kl": (
        "kl", "train/kl", "actor/ppo_kl", "actor/kl_loss", "losses/approx_kl", "train/approx_kl", "objective/kl",
        "policy/approxkl_avg", "optim/kl_sample_train_v1",
    ),
    "clip_fraction": (
        "clip_fraction", "train/clip_fraction", "train/clip_ratio/region_mean", "clip_ratio/region_mean",
        "train/clip_ratio", "actor/pg_clipfrac", "losses/clipfrac", "policy/clipfrac_avg",
    ),
    "gradient_norm": ("gradient_norm", "grad_norm", "train/grad_norm", "actor/grad_norm", "policy/raw_grad_norm"),
    "learning_rate": ("learning_rate", "train/learning_rate", "lr", "actor/lr", "charts/learning_rate", "optim/lr"),
    "held_out_success": ("held_out_success", "eval/success", "eval/success_rate", "val/success", "eval/accuracy"),
}  # fmt: skip
"""By our name: the names of TRL and transformers, verl, Stable-Baselines3, CleanRL, SkyRL, Tinker and plain loops."""
FIRST = ("success", "return", "loss", "entropy", "kl", "gradient_norm", "learning_rate")
"""What is drawn first. The loss is a metric of most trainers, and of none of our trainings."""
LOSS = ("loss", "train/loss", "train_loss", "actor/pg_loss", "losses/policy_loss", "policy_loss")
LEADING = {**KNOWN, "loss": LOSS}


def name_for(training: OutsideTraining, metric: str) -> str:
    """The metric of a training that is drawn as `metric`: its owner's choice, a known name, or the same; else empty."""
    chosen = training.roles.get(metric, "")
    candidates = (chosen, *KNOWN.get(metric, ()), metric)
    return next((name for name in candidates if name and name in training.latest), "")


def in_order(names: Collection[str]) -> list[str]:
    """Names of metrics, the most telling ones first, the others by the alphabet."""
    first = (next((known for known in LEADING[name] if known in names), "") for name in FIRST)
    leading = [name for name in dict.fromkeys(first) if name]
    return leading + sorted(name for name in names if name not in set(leading))
