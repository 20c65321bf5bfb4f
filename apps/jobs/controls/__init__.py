"""What people change of an evaluation while it runs, and what they read of it then. Begin with `operations`."""

from apps.jobs.controls.operations import (
    bring_back,
    cancel_episode,
    pause,
    requeue_episode,
    retry_failed,
    set_pace,
    skip_environment,
)

__all__ = [
    "bring_back",
    "cancel_episode",
    "pause",
    "requeue_episode",
    "retry_failed",
    "set_pace",
    "skip_environment",
]
