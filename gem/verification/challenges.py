"""Challenges: seeds that a site has drawn for somebody who plays elsewhere, and what counts as their episodes.

A challenge is a JSON document that says everything about how it is played, so that no benchmark has to be installed:

    challenge = read(path.read_bytes())
    for number in range(challenge.episodes):
        print(challenge.planned(number))

`gemweb eval --challenge FILE` plays it, `gemweb push` sends the episodes, and the site checks them with `check`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import accumulate
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from gem import replay
from gem.errors import InvalidData
from gem.records import EpisodeRecord, StoredEpisode, TurnRecord
from gem.tools import tool_catalog
from gem.verification.reexecution import Finding, Plan, Planned, differs, reexecute

MAX_SEED = 2**53 - 1
MAX_NOTE_CHARS = 20_000
"""Of what an agent says besides its action; the rest is left out."""
MAX_TOKENS = 10**9
NO_ANSWER = "The agent gave no answer, as the uploaded episode says."
"""The failure of such an episode. What the file says of it is anybody's text."""

EnvId = Annotated[str, Field(min_length=1, max_length=120)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ChallengedEnvironment(_Part):
    """An environment and the seeds to play in it, each once."""

    env_id: EnvId
    version: int
    max_turns: int | None = None
    """Its turn limit, which it has by itself; None if the benchmark does not say it."""
    data_hash: str = ""
    """The data that it has to be played on; empty if it has none."""
    seeds: tuple[Annotated[int, Field(ge=0, le=MAX_SEED)], ...]


class Challenge(_Part):
    """What has to be played, and by when it has to be sent."""

    format: Literal["gemweb-challenge-1"] = "gemweb-challenge-1"
    site: str
    """The address of the site that has drawn the seeds."""
    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9]{1,20}$")]
    benchmark: str
    version: int
    agent: str
    """The name that the row will have."""
    deadline: AwareDatetime
    tools: tuple[str, ...] = ()
    max_tool_uses: int = 10
    tool_format: tool_catalog.Format = "tags"
    wrappers: tuple[dict[str, Any], ...] = ()
    """The wrappers of every episode as plain data, innermost first, those of the tools included."""
    environments: Annotated[tuple[ChallengedEnvironment, ...], Field(min_length=1, max_length=300)]

    @property
    def episodes(self) -> int:
        """The number of episodes: each seed of each environment is played once."""
        return self._ends[-1]

    def planned(self, index: int) -> Planned | None:
        """Return what the episode with this index has to be; None if there is none.

        Indices count the seeds from 0, over all environments in their order.
        """
        number = bisect_right(self._ends, index)
        if index < 0 or number == len(self._ends):
            return None
        environment = self.environments[number]
        seed = environment.seeds[index - self._ends[number]]  # counts from the end of the seeds
        return Planned(environment.env_id, seed, 0, {}, self.wrappers)

    @cached_property
    def _ends(self) -> list[int]:
        return list(accumulate(len(environment.seeds) for environment in self.environments))


def read(text: bytes | str) -> Challenge:
    """Read the document of a challenge.

    Raises:
        InvalidData: if it is something else; the message is its first fault.
    """
    try:
        return Challenge.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"]))
        raise InvalidData(f"This is no challenge: {f'{place}: ' if place else ''}{fault['msg'].lower()}.") from error


def check(
    episodes: Iterable[StoredEpisode], plan: Plan, seen: Iterable[tuple[str, int]] = ()
) -> Iterator[tuple[StoredEpisode, Finding]]:
    """Execute episodes that were played elsewhere again, and yield each as it may be stored, with what was found.

    Nothing is believed of a record but what its actions give. So an episode in which the environment is said to have
    failed, or that was cut by a limit of tokens, differs: neither happens when it is executed here, and whoever could
    claim it would choose which episodes count.

    Args:
        plan: what each episode had to be; no other environment is made.
        seen: environment and index of episodes that were checked before, which may not come again.
    """
    current: list[StoredEpisode] = []

    def cleaned() -> Iterator[StoredEpisode]:
        for stored in episodes:
            current.append(replace(stored, record=as_stored(stored.record)))
            yield current[-1]

    for finding in reexecute(cleaned(), plan=plan, seen=seen):
        stored = current.pop()
        yield stored, _of_claims(stored, finding) if finding.is_same else finding


def missing(plan: Plan, count: int, seen: Iterable[tuple[str, int]]) -> str:
    """Say which of `count` planned episodes were not seen, given by environment and index; empty if none is missing."""
    known = {index for _, index in seen}
    absent = [index for index in range(count) if index not in known]
    if not absent:
        return ""
    planned = plan(absent[0])
    assert planned is not None  # one of the count
    return (
        f"{len(absent):,} of the {count:,} episodes are missing. The first of them is {planned.env_id}, index "
        f"{absent[0]}, seed {planned.seed}."
    )


def _of_claims(stored: StoredEpisode, finding: Finding) -> Finding:
    """Judge what an episode says of itself and no execution shows."""
    record = stored.record
    if record.failed_by not in ("", "agent") or (record.failure and not record.failed_by):
        return differs(
            stored,
            "failed_by",
            "It says that the environment failed. It does not fail when it is executed again; play this seed anew.",
        )
    if record.cut:
        return differs(
            stored,
            "cut",
            f"It was cut by a limit of {record.cut}, and a challenge has none. Play this seed without the limit.",
        )
    if record.failed_by and not record.turns and (difference := _of_reset(record)):
        return differs(stored, difference.field, difference.sentence)
    return finding


def _of_reset(record: EpisodeRecord) -> replay.Difference | None:
    """Compare the first observation of an episode without turns, which verification otherwise leaves alone."""
    first = {"first_observation": record.first_observation, "first_info": record.first_info}
    return replay.verify(record.identity, [], **first, strict=True)  # type: ignore[arg-type]


def as_stored(record: EpisodeRecord) -> EpisodeRecord:
    """Return the record without texts that nobody can check, and with what agents report in its usual form."""
    turns = [replace(turn, info=_without_machine(turn.info), extra=_extra(turn)) for turn in record.turns]
    failure = NO_ANSWER if record.failed_by == "agent" else record.failure
    return replace(record, turns=turns, failure=failure)


def _without_machine(info: dict[str, Any]) -> dict[str, Any]:
    """Leave out how a program was confined elsewhere, which says nothing about this site."""
    return {key: value for key, value in info.items() if key != "sandbox"} if "sandbox" in info else info


def _extra(turn: TurnRecord) -> dict[str, Any]:
    """What an agent reports of a turn: its note, its tokens and its seconds. All of it is only its word."""
    found: dict[str, Any] = {}
    for name in ("tokens_in", "tokens_out"):
        value = turn.extra.get(name)
        if type(value) is int and 0 <= value <= MAX_TOKENS:
            found[name] = value
    seconds, note = turn.extra.get("seconds"), turn.extra.get("note")
    if isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 <= seconds <= MAX_TOKENS:
        found["seconds"] = float(seconds)
    if isinstance(note, str) and note:
        found["note"] = note[:MAX_NOTE_CHARS]
    return found
