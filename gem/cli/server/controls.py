"""The commands of `gemweb jobs` that change how a job runs: `gemweb jobs pause JOB` and the like."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.client import Client
    from gem.client.schemas import Job

COUNT, DROP = "count", "drop"


@dataclass(frozen=True, slots=True)
class Control:
    """A command, its arguments, and what it does."""

    names: tuple[str, ...]
    """Of the arguments after the job."""
    do: Callable[..., Job]
    said: str
    """What is printed afterwards."""
    optional: int = 0
    """How many arguments at the end may be left out."""

    def usage(self, name: str) -> str:
        """How it is written."""
        needed = len(self.names) - self.optional
        words = [word if i < needed else f"[{word}]" for i, word in enumerate(self.names)]
        return " ".join(["gemweb jobs", name, "JOB", *words])


def control(client: Client, name: str, words: list[str]) -> tuple[Job, str]:
    """Do what the command says, and return the job with the sentence to print.

    Raises:
        UsageError: if the arguments are not those of the command.
    """
    command = CONTROLS[name]
    most = 1 + len(command.names)
    if not most - command.optional <= len(words) <= most:
        raise UsageError(f"Write {command.usage(name)}.")
    return command.do(client, *words), command.said


def _cancel_episode(client: Client, job: str, slot: str, end: str) -> Job:
    if end not in (COUNT, DROP):
        raise UsageError(
            f"Say {COUNT}, so that the episode counts as not solved, or {DROP}, so that it does not count."
        )
    return client.jobs.cancel_episode(job, _number(slot), counts=end == COUNT)


def _pace(client: Client, job: str, num_envs: str, workers: str | None = None) -> Job:
    max_workers = None if workers is None else _number(workers)
    return client.jobs.set_pace(job, num_envs=_number(num_envs), max_workers=max_workers)


def _number(word: str) -> int:
    if not (word.isascii() and word.isdecimal() and len(word) < 10):
        raise UsageError(f"{word!r} is not a whole number.")
    return int(word)


CONTROLS: dict[str, Control] = {
    "cancel": Control((), lambda client, job: client.jobs.cancel(job), "Finished episodes are kept."),
    "pause": Control((), lambda client, job: client.jobs.pause(job), "Episodes under way are played to their end."),
    "resume": Control((), lambda client, job: client.jobs.resume(job), "It continues after its last episode."),
    "pace": Control(("EPISODES", "WORKERS"), _pace, "This applies from the next episode.", optional=1),
    "retry": Control(
        ("ENVIRONMENT",),
        lambda client, job, env_id="": client.jobs.retry(job, env_id=env_id),
        "What was not counted is played again.",
        optional=1,
    ),
    "skip": Control(
        ("ENVIRONMENT",), lambda client, job, env_id: client.jobs.skip(job, env_id), "The results will be partial."
    ),
    "bring-back": Control(
        ("ENVIRONMENT",),
        lambda client, job, env_id: client.jobs.bring_back(job, env_id),
        "The rest of the environment is played.",
    ),
    "requeue": Control(
        ("SLOT",),
        lambda client, job, slot: client.jobs.requeue_episode(job, _number(slot)),
        "The episode is played again from its beginning.",
    ),
    "cancel-episode": Control(("SLOT", f"{COUNT}|{DROP}"), _cancel_episode, "The episode ends at its next turn."),
}
"""The commands by name."""
