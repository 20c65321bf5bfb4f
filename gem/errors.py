"""Every error that the engine raises on purpose.

A fault of an agent (a malformed or illegal action) is not an exception: the environment answers it in its observation
and penalises it as its rules say. An exception means that the engine was misused (`UsageError`), that an environment,
a tool or an agent failed, or that this machine lacks something.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple


class GemError(Exception):
    """The base class of all errors that the engine raises on purpose."""


class UsageError(GemError):
    """The caller used the engine wrongly; the message says what to do instead."""


class UnknownEnvironment(UsageError, KeyError):
    """No environment is registered under the id; the message names the nearest ids."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingDependency(UsageError, ImportError):
    """An environment needs packages that are not installed; `packages` has their names as pip takes them."""

    def __init__(self, env_id: str, packages: Sequence[str]) -> None:
        import shlex  # noqa: PLC0415 (only where something is missing)

        self.env_id, self.packages = env_id, list(packages)
        noun, verb = ("package", "is") if len(self.packages) == 1 else ("packages", "are")
        names = " and ".join(filter(None, [", ".join(self.packages[:-1]), self.packages[-1]]))
        super().__init__(
            f"{env_id} needs the {noun} {names}, which {verb} not installed: pip install {shlex.join(self.packages)}"
        )

    def __reduce__(self) -> tuple[type[MissingDependency], tuple[str, list[str]]]:
        """Make the error picklable: the default passes the message to the constructor, which takes other arguments."""
        return type(self), (self.env_id, self.packages)


class InvalidArgument(UsageError, ValueError):
    """An argument, seed or configuration is unknown or has an impossible value."""


class MissingMethod(UsageError, NotImplementedError):
    """The class of an environment does not define a method that is needed; the message says which one to add."""


class DataUnavailable(UsageError):
    """A file, a dataset of the hub or the package that reads it is missing; the message says what to do."""


class InvalidData(UsageError, ValueError):
    """A file or row is malformed; the message names it and what is wrong with it."""


class EpisodeOver(UsageError, RuntimeError):
    """`step` was called after the end of the episode, or before the first `reset`."""


class VersionChanged(UsageError):
    """An episode was recorded with another version of its environment than the one that is installed."""


class EnvironmentFailure(GemError):
    """The environment itself failed; its episode is recorded as failed, and the other episodes continue."""


class EnvironmentServerFailure(EnvironmentFailure):
    """The server of an environment refused, did not answer or sent nonsense; the message says everything about it."""


class ServerNotThere(EnvironmentServerFailure):
    """No connection could be made to the server of an environment; it may be there later."""


class ToolError(GemError):
    """A tool failed; the agent reads the message and continues."""


class SandboxUnavailable(UsageError, RuntimeError):
    """This machine cannot confine untrusted programs, so none is run; the message says why and what to do."""


class AgentFailure(GemError):
    """An agent could not decide, for example because its server gave no answer; its episode is not counted."""


class BudgetUsedUp(AgentFailure):
    """There is no budget left for the next request or turn of an agent; its episode is cut off and is no result."""


class EpisodeLimitReached(AgentFailure):
    """The next request of an agent could exceed a limit of its episode, which ends here and is not solved."""

    def __init__(self, message: str, limit: Literal["tokens", "money"]) -> None:
        super().__init__(message)
        self.limit = limit


class AgentStopped(GemError):
    """An agent cannot be used any longer, or is set up to end everything when it fails."""


# ------------------------------------------------------------------ whose failure it is

Side = Literal["agent", "environment", "budget", "ours"]
"""Whose failure an exception is; `ours` is that of the engine, the site or whoever called them. A rollout says
`budget` where none is left for the next request."""


class Failure(NamedTuple):
    """A failure that ends an episode."""

    side: Side
    message: str
    """The sentence for the record."""


def failure_of(error: Exception, callee: Literal["agent", "environment"]) -> Failure:
    """Decide whose failure an exception is. Rollouts, vectors, live episodes and pending turns all decide it here.

    It is the failure of whoever was called, whatever the class of the error: the process of a policy may raise
    `EnvironmentFailure`, and an opponent inside an environment `AgentFailure`. Only a `UsageError` is ours.

    Args:
        error: the exception.
        callee: who was called and raised it.
    """
    if isinstance(error, UsageError):
        return Failure("ours", str(error))
    if isinstance(error, AgentFailure | AgentStopped | EnvironmentFailure):
        return Failure(callee, str(error))
    return Failure(callee, f"{type(error).__name__}: {error}")
