"""Why a training cannot continue, in a sentence that tells the user what to do."""

from __future__ import annotations

import errno
from pathlib import Path

import torch

from gem.errors import GemError
from gem.training.learner import NonFiniteGradient
from gem.training.policy.server_sampler import ServerFailed
from gem.training.run_folder import FAILED_BATCH


class TrainingFailed(GemError):
    """The training cannot continue; the message is the reason, which `state.json` has as well."""


def explain(error: Exception, folder: Path) -> str | None:
    """The reason for the user; None if the error is a bug of the engine.

    Args:
        folder: the folder of the run.
    """
    if isinstance(error, OSError):
        return _explain_write_error(error, folder)
    if isinstance(error, ServerFailed):
        return str(error)
    if isinstance(error, NonFiniteGradient):
        return f"{error} The batch is in episodes/{FAILED_BATCH}.jsonl."
    if _is_out_of_memory(error):
        return (
            "The memory is full. Go on with half of microbatch_tokens (the result is the same) or with "
            "gradient_checkpointing=true, or begin again with adapters only (lora_rank). What failed: "
            + next(iter(str(error).splitlines()), "an allocation.")
        )
    return None


def _explain_write_error(error: OSError, folder: Path) -> str:
    if error.errno == errno.ENOSPC or "No space left" in str(error):
        return f"The disk that holds {folder} is full. The last checkpoint is complete: free space and start again."
    return f"{folder} cannot be written: {error}."


def _is_out_of_memory(error: Exception) -> bool:
    """Whether the GPU or the machine had no memory left; for a CPU, torch has no exception class of its own."""
    if isinstance(error, torch.OutOfMemoryError | MemoryError):
        return True
    return "not enough memory" in str(error) or "can't allocate memory" in str(error)
