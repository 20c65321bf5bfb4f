"""Which settings of a training do not go together. Each check raises what pydantic reports: a sentence that says what
to change."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gem.credit import ALGORITHMS
from gem.validation.messages import refused

if TYPE_CHECKING:
    from gem.training.spec import TrainingSpec


def check_combinations(spec: TrainingSpec) -> None:
    """Make all checks that need no environment."""
    for check in (_check_batch, _check_server, _check_choice_of_episodes, _check_forks, _check_self_play):
        check(spec)


def _check_batch(spec: TrainingSpec) -> None:
    if ALGORITHMS[spec.algorithm].has_groups and spec.episodes % spec.group_size:
        raise refused(
            f"GRPO plays groups of {spec.group_size} episodes, and {spec.episodes} episodes are no whole number of "
            "groups."
        )
    if spec.minibatches > spec.episodes:
        raise refused(f"{spec.episodes} episodes cannot be {spec.minibatches} minibatches.")
    if spec.max_tokens >= spec.max_length:
        raise refused("A response must be shorter than a sequence: raise max_length or lower max_tokens.")


def _check_server(spec: TrainingSpec) -> None:
    if spec.sampler == "server" and not spec.server_url:
        raise refused("With sampler=server, server_url names the server, such as http://127.0.0.1:8001/v1.")
    if spec.sampler == "server" and not spec.lora_rank:
        raise refused("A server can follow a training of adapters only: set lora_rank.")
    if spec.sampler == "server" and ALGORITHMS[spec.algorithm].has_critic:
        raise refused("PPO's critic is in this process, and a server does not ask it: choose another algorithm.")


def _check_choice_of_episodes(spec: TrainingSpec) -> None:
    if spec.dynamic_sampling and not ALGORITHMS[spec.algorithm].has_groups:
        raise refused("dynamic_sampling compares the episodes of a group: choose algorithm=grpo, or set it to 0.")
    if spec.target_success and not spec.curriculum:
        raise refused("target_success chooses among stages: give easier ones as curriculum, or set it to 0.")
    if spec.target_success and spec.retry_unsolved:
        raise refused(
            "retry_unsolved tries seeds in the same stage again, and target_success mixes stages: set one to 0."
        )


def _check_forks(spec: TrainingSpec) -> None:
    if spec.fork_turns and (spec.algorithm != "rebn" or spec.credit_unit != "turn"):
        raise refused("fork_turns compares turns without a critic: choose algorithm=rebn and credit_unit=turn.")
    if spec.fork_turns and spec.self_play:
        raise refused("The turns of one seat cannot be forked with self_play: set fork_turns=0.")


def _check_self_play(spec: TrainingSpec) -> None:
    if spec.self_play and spec.dynamic_sampling:
        raise refused("dynamic_sampling replaces episodes, and with self_play ratings count them: set one to 0.")
    if spec.self_play and spec.retry_unsolved:
        raise refused("With self_play a seed is solved or not depending on the opponent: set retry_unsolved=0.")
    if spec.self_play and spec.sampler == "server":
        raise refused("A server writes with one policy, and self_play needs those of the pool: set sampler=auto.")
    if len(set(spec.pool_agents)) < len(spec.pool_agents):
        raise refused("An agent is in the pool once: name it once in pool_agents.")
