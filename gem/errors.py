"""Every error the engine raises on purpose, by whose side it is on.

The agent's errors (a malformed or illegal action) are not here: an environment answers them in text and
penalises them as its rules say. What is raised is either the environment's failure or a misuse of the engine.
"""


class GemError(Exception):
    """Base of all errors that the engine raises on purpose."""


class UsageError(GemError):
    """The caller asked for something that cannot be: the message says what to do instead."""


class UnknownEnvironment(UsageError, KeyError):
    """No environment is registered under the id; the message names the nearest ones."""

    def __str__(self) -> str:
        return str(self.args[0])


class InvalidArgument(UsageError, ValueError):
    """A keyword argument, seed or configuration that the environment does not take."""


class EpisodeOver(UsageError, RuntimeError):
    """`step` was called after the end of the episode, or before the first `reset`."""


class VersionChanged(UsageError):
    """A recorded episode was played on another version of its environment than the one installed."""


class EnvironmentFailure(GemError):
    """The environment itself broke: the episode is recorded as failed and the batch goes on."""
