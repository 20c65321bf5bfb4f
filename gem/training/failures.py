"""Why a training cannot go on, in a sentence that says what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import torch

from gem.training.learner import NotFinite
from gem.training.policy.server_sampler import ServerFailed
from gem.training.run_folder import FAILED_BATCH


def explain(error: Exception, place: Path) -> str | None:
    """The reason; None if it is an error of ours.

    Args:
        place: the folder of the run.
    """
    if isinstance(error, OSError):
        return _cannot_write(error, place)
    if isinstance(error, ServerFailed):
        return str(error)
    if isinstance(error, NotFinite):
        return f"{error} It is in episodes/{FAILED_BATCH}.jsonl."
    if _out_of_memory(error):
        return (
            "The memory is full. Go on with half of microbatch_tokens (the result is the same), with "
            "gradient_checkpointing=true, or begin again with adapters alone (lora_rank). What failed: "
            + next(iter(str(error).splitlines()), "an allocation.")
        )
    return None


def _cannot_write(error: OSError, place: Path) -> str:
    if error.errno == errno.ENOSPC or "No space left" in str(error):
        return f"The disk that holds {place} is full. The last checkpoint is whole: free space and start again."
    return f"{place} cannot be written: {error}."


def _out_of_memory(error: Exception) -> bool:
    """Whether the GPU or the machine had no memory left; on a CPU torch has no error of its own for it."""
    said = ("not enough memory", "can't allocate memory")
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(one in str(error) for one in said)
