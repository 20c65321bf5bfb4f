"""Every error the engine raises on purpose, by whose side it is on.

The agent's errors (a malformed or illegal action) are not here: an environment answers them in text and
penalises them as its rules say. What is raised is either the environment's failure or a misuse of the engine.
"""

from __future__ import annotations

from collections.abc import Sequence


class GemError(Exception):
    """Base of all errors that the engine raises on purpose."""


class UsageError(GemError):
    """The caller asked for something that cannot be: the message says what to do instead."""


class UnknownEnvironment(UsageError, KeyError):
    """No environment is registered under the id; the message names the nearest ones."""

    def __str__(self) -> str:
        return str(self.args[0])


class MissingDependency(UsageError, ImportError):
    """An environment needs packages that are not installed; `packages` names them as one writes them to pip."""

    def __init__(self, env_id: str, packages: Sequence[str]) -> None:
        import shlex  # noqa: PLC0415 (only where something is missing)

        self.env_id, self.packages = env_id, list(packages)
        one = len(self.packages) == 1
        names = " and ".join(filter(None, [", ".join(self.packages[:-1]), self.packages[-1]]))
        super().__init__(
            f"{env_id} needs the {'package' if one else 'packages'} {names}, which {'is' if one else 'are'} not "
            f"installed: pip install {shlex.join(self.packages)}"
        )

    def __reduce__(self) -> tuple[type[MissingDependency], tuple[str, list[str]]]:
        """For the way between processes."""
        return type(self), (self.env_id, self.packages)


class InvalidArgument(UsageError, ValueError):
    """A keyword argument, seed or configuration that the environment does not take."""


class MissingMethod(UsageError, NotImplementedError):
    """An environment was asked for something that its class does not define; the message says which method to add."""


class DataUnavailable(UsageError):
    """Problems cannot be had: a file, a dataset of the hub or a reader is missing; the message says what to do."""


class InvalidData(UsageError, ValueError):
    """A file or row is not what it should be; the message says which one and what is wrong with it."""


class EpisodeOver(UsageError, RuntimeError):
    """`step` was called after the end of the episode, or before the first `reset`."""


class VersionChanged(UsageError):
    """A recorded episode was played on another version of its environment than the one installed."""


class EnvironmentFailure(GemError):
    """The environment itself broke: the episode is recorded as failed and the batch goes on."""


class ToolError(GemError):
    """A tool could not do what it was asked; the agent reads the message and goes on."""


class SandboxUnavailable(UsageError, RuntimeError):
    """This machine cannot confine untrusted code, so it is not run; the message says why and what to do."""


class AgentFailure(GemError):
    """An agent could not decide, because what it asks did not answer: its episode is not counted."""


class AgentStopped(GemError):
    """An agent is of no further use, or its owner wants everything to stop when it fails."""
