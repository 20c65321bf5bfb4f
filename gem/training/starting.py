"""The start of a training: its device and its policies."""

from __future__ import annotations

import os

import torch

from gem.credit import ALGORITHMS
from gem.errors import InvalidArgument
from gem.training.failures import TrainingFailed
from gem.training.policy.policies import Policy, load_policy
from gem.training.spec import TrainingSpec


def choose_device(spec: TrainingSpec) -> str:
    """The device of this process; under torchrun each process of a node has a GPU of its own.

    Raises:
        TrainingFailed: if the specification requires a GPU that is not there, or the node has too few.
    """
    has_cuda = torch.cuda.is_available()
    if spec.device == "cuda" and not has_cuda:
        raise TrainingFailed("There is no CUDA device here: set device=auto or device=cpu.")
    if not has_cuda or spec.device == "cpu":
        return "cpu"
    local_rank, device_count = int(os.environ.get("LOCAL_RANK", "0")), torch.cuda.device_count()
    if local_rank >= device_count:
        raise TrainingFailed(
            f"There are {device_count} GPUs here: start no more than {device_count} processes, or device=cpu."
        )
    torch.cuda.set_device(local_rank)
    return f"cuda:{local_rank}"


def load_trained_policy(spec: TrainingSpec, device: str) -> Policy:
    """The policy that is trained, with a value head if the algorithm has a critic.

    Raises:
        InvalidArgument: if it cannot be loaded, or reads fewer tokens than `max_length`.
    """
    policy = load_policy(
        spec.model,
        lora_rank=spec.lora_rank,
        critic=ALGORITHMS[spec.algorithm].has_critic,
        device=device,
        gradient_checkpointing=spec.gradient_checkpointing,
    )
    if policy.max_length and spec.max_length > policy.max_length:
        raise InvalidArgument(
            f"max_length is {spec.max_length}: lower it, for {spec.model} reads {policy.max_length} tokens at most."
        )
    return policy


def load_reference(spec: TrainingSpec, device: str) -> Policy | None:
    """A frozen copy of the first policy for the KL penalty; None where no copy is needed (see `Learner`)."""
    if not spec.kl_coefficient or spec.lora_rank:
        return None
    return load_policy(spec.model, device=device).requires_grad_(requires_grad=False)
