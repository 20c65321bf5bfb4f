"""Re-execution of all episodes of a row: whether each gives again what its record says.

    for finding in reexecute(episode_files.read(path), processes=2):
        if not finding.is_same:
            print(finding.sentence)

Episodes are taken one by one, so a row of any length needs the same memory. The order of the findings is that of the
episodes. What re-execution can find before anything is signed is what changes what the environment gives; that an agent
chose other actions, or plays from a table, it cannot find.
"""

from __future__ import annotations

import multiprocessing
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, Literal, NamedTuple

from gem import registry
from gem.core import Env
from gem.errors import UnknownEnvironment, UsageError, VersionChanged
from gem.evaluation.spec import EvaluationSpec
from gem.records import EpisodeRecord, Identity, StoredEpisode
from gem.replay import failed_at_once, is_taped, make_env, verify_stored
from gem.validation.dependencies import import_modules
from gem.verification.canonical import canonical_json
from gem.verification.tapes import check_tape

MAX_KEPT_ENVS = 8
"""Environments that are kept for the next episodes with the same settings."""
CHUNK_TURNS = 2_000
"""A process gets episodes with about this number of turns at a time."""
CHUNKS_AHEAD = 2
"""Chunks that wait for each process, so that it has work while its results are fetched."""

TAKEN = "do not repeat and were taken from the record."
"""How a note about outputs of tools ends: what they gave is not proved, nor what the episode earned with them."""

Status = Literal["same", "differs", "unknown"]
"""`unknown`: the episode could not be executed here, so nothing is known of it."""


class Planned(NamedTuple):
    """What an episode of a row had to be."""

    env_id: str
    seed: int
    seat: int = 0
    env_kwargs: Mapping[str, Any] = {}
    wrappers: Sequence[Mapping[str, Any]] = ()


Plan = Callable[[int], Planned | None]
"""What the specification of a row says of the episode with an index; None if it has none."""


def plan_of(spec: EvaluationSpec) -> Plan:
    """Return what a specification with public seeds says of each episode."""
    parts, wrappers = spec.parts, spec.all_wrappers
    ends = list(accumulate(part.episodes for part in parts))

    def planned(index: int) -> Planned | None:
        number = bisect_right(ends, index)
        if index < 0 or number == len(parts):
            return None
        part = parts[number]
        seed, seat = part.seed_and_seat(index - ends[number] + part.episodes)
        return Planned(part.env_id, seed, seat, {}, wrappers)

    return planned


@dataclass(frozen=True, slots=True)
class Finding:
    """What the re-execution of an episode has shown."""

    name: str
    """The id of the episode, or its place in a file."""
    env_id: str
    index: int
    status: Status
    turns: int
    """The number of its turns."""
    field: str = ""
    """What differs, such as `reward`, `seed` or `duplicate`; empty if nothing does."""
    sentence: str = ""
    """The first difference, or why it could not be executed; empty if it is the same."""
    notes: tuple[str, ...] = ()
    """What was not proved although nothing differs, as sentences: outputs that were taken from the record."""
    failed_at_once: bool = False
    """Whether its record says that it failed before its first turn, so that nothing was executed."""

    @property
    def is_same(self) -> bool:
        """Whether the episode gave what its record says, or there was nothing to execute (`failed_at_once`)."""
        return self.status == "same"


@dataclass(slots=True)
class Summary:
    """The findings of a row in numbers; `add` counts one."""

    same: int = 0
    """Those that were executed and gave what their records say."""
    failed_at_once: int = 0
    """Those that failed before their first turn, which nobody can execute."""
    differing: int = 0
    unknown: int = 0
    turns: int = 0
    first: Finding | None = None
    """The first one that is not the same."""
    notes: dict[str, int] = field(default_factory=dict)
    """The notes, and how many episodes have them."""

    def add(self, finding: Finding) -> None:
        """Count a finding."""
        self.same += finding.is_same and not finding.failed_at_once
        self.failed_at_once += finding.is_same and finding.failed_at_once
        self.differing += finding.status == "differs"
        self.unknown += finding.status == "unknown"
        self.turns += finding.turns
        if self.first is None and not finding.is_same:
            self.first = finding
        for note in finding.notes:
            self.notes[note] = self.notes.get(note, 0) + 1

    @property
    def is_proved(self) -> bool:
        """Whether every episode gave what its record says, and nothing had to be taken from the records."""
        return not (self.differing or self.unknown or self.notes)


def reexecute(
    episodes: Iterable[StoredEpisode],
    *,
    plan: Plan | None = None,
    processes: int = 1,
    modules: Sequence[str] = (),
    seen: Iterable[tuple[str, int]] = (),
) -> Iterator[Finding]:
    """Execute every episode again, from its seed and its actions, and yield what is found of each.

    An episode whose index came before in the same environment is a duplicate, and differs.

    Args:
        plan: what each episode had to be: one with another seed, or that belongs to another place, then differs too.
        processes: how many processes execute; 1 is this one.
        modules: what those processes import first, because it registers environments.
        seen: environment and index of episodes of the row that were executed before.
    """
    places = _Places(plan, seen)
    if processes == 1:
        execution = _Execution()
        try:
            for stored in episodes:
                yield places.check(stored) or execution.find(stored)
        finally:
            execution.close()
        return
    waiting: deque[tuple[list[Finding | None], Future[list[Finding]]]] = deque()
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context, _begin, (list(modules),)) as pool:
        try:
            for chunk in _chunks(episodes):
                misplaced = [places.check(stored) for stored in chunk]
                rest = [stored for stored, finding in zip(chunk, misplaced, strict=True) if finding is None]
                waiting.append((misplaced, pool.submit(_find_all, rest)))
                if len(waiting) >= processes * CHUNKS_AHEAD:
                    yield from _merge(*waiting.popleft())
            while waiting:
                yield from _merge(*waiting.popleft())
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _chunks(episodes: Iterable[StoredEpisode]) -> Iterator[list[StoredEpisode]]:
    iterator = iter(episodes)
    for first in iterator:
        chunk, turns = [first], first.record.turn_count
        while turns < CHUNK_TURNS and (more := next(iterator, None)) is not None:
            chunk.append(more)
            turns += more.record.turn_count + 1
        yield chunk


def _merge(misplaced: Sequence[Finding | None], executed: Future[list[Finding]]) -> Iterator[Finding]:
    found = iter(executed.result())
    for finding in misplaced:
        yield finding or next(found)


class _Places:
    """Where the episodes of a row belong; it keeps one bit for each index that was seen."""

    def __init__(self, plan: Plan | None, seen: Iterable[tuple[str, int]] = ()) -> None:
        self._plan = plan
        self._blocks: dict[tuple[str, int], int] = {}
        for env_id, index in seen:
            self._note(env_id, index)

    def check(self, stored: StoredEpisode) -> Finding | None:
        """Return the difference if the episode is not where it belongs."""
        record = stored.record
        env_id, index = record.identity.env_id, record.index
        if not self._note(env_id, index):
            return differs(stored, "duplicate", f"The row has another episode with the index {index} of {env_id}.")
        if self._plan is None:
            return None
        planned = self._plan(index)
        if planned is None:
            return differs(stored, "index", f"The specification of the row has no episode with the index {index}.")
        identity = record.identity
        played = Planned(env_id, identity.seed, record.seat, identity.env_kwargs, identity.wrappers)
        for name, own, wanted in zip(Planned._fields, played, planned, strict=True):
            if canonical_json(own) != canonical_json(wanted):
                return differs(
                    stored, name, f"The record has {name} {own!r:.80}, and the specification of the row {wanted!r:.80}."
                )
        return None

    def _note(self, env_id: str, index: int) -> bool:
        """Note an index of an environment. Returns whether it is new."""
        block, bit = (env_id, index >> 10), 1 << (index & 1023)
        seen = self._blocks.get(block, 0)
        self._blocks[block] = seen | bit
        return not seen & bit


class _Execution:
    """Executes episodes one after the other, and keeps environments for those with the same settings."""

    def __init__(self) -> None:
        self._envs: OrderedDict[str, Env] = OrderedDict()

    def find(self, stored: StoredEpisode) -> Finding:
        """Execute an episode."""
        record = stored.record
        identity = record.identity
        env: Env | None = None
        unrepeated: tuple[str, ...] = ()
        is_kept = False
        try:
            if registry.spec(identity.env_id).replay == "none":
                return _unknown(stored, "replay", f"{identity.env_id} cannot be executed again, only shown.")
            is_kept = not is_taped(identity)
            env = self._kept(identity) if is_kept else make_env(identity)
            difference = verify_stored(stored, strict=True, env=env)
            if difference is None and not is_kept:
                difference, unrepeated = check_tape(env, record)
        except VersionChanged as error:
            return _differs_or_unknown(stored, error)
        except UnknownEnvironment as error:
            return _unknown(stored, "env_id", str(error))
        except UsageError as error:
            return self._dropped(stored, identity, env, "identity", str(error))
        except Exception as error:  # noqa: BLE001 (an environment that fails now and did not when it was recorded)
            sentence = f"The environment failed: {type(error).__name__}: {error}."
            return self._dropped(stored, identity, env, "failure", sentence)
        finally:
            if env is not None and not is_kept:
                env.close()
        if difference is None:
            return replace(
                _finding(stored, "same", notes=_notes(record, unrepeated)), failed_at_once=failed_at_once(record)
            )
        return differs(stored, difference.field, difference.sentence)

    def close(self) -> None:
        """Close all environments."""
        for env in self._envs.values():
            env.close()
        self._envs.clear()

    def _kept(self, identity: Identity) -> Env:
        """Return an environment with these settings, and check version and data as `make_env` does."""
        key = _settings(identity)
        env = self._envs.get(key)
        if env is None:
            env = self._envs[key] = make_env(identity)
            if len(self._envs) > MAX_KEPT_ENVS:
                self._envs.popitem(last=False)[1].close()
        else:
            self._envs.move_to_end(key)
        return env

    def _dropped(self, stored: StoredEpisode, identity: Identity, env: Env | None, name: str, sentence: str) -> Finding:
        """Return a difference, and do not use the environment again, which may be left in any state."""
        if env is not None and self._envs.pop(_settings(identity), None) is env:
            env.close()
        return differs(stored, name, sentence)


def _settings(identity: Identity) -> str:
    """What an environment is made from, and what is compared when it is made."""
    return repr(
        (identity.env_id, identity.env_version, identity.data_hash, identity.env_kwargs, list(identity.wrappers))
    )


def _notes(record: EpisodeRecord, unrepeated: Sequence[str]) -> tuple[str, ...]:
    """Say what of the record was not executed again."""
    notes = []
    if unrepeated:
        notes.append(f"Outputs of {', '.join(unrepeated)} {TAKEN}")
    if record.failed_by:
        notes.append("That the episode ended by a failure is what the record says.")
    if record.cut:
        notes.append(f"That the episode reached its {record.cut.removesuffix('s')} limit is what the record says.")
    return tuple(notes)


def _differs_or_unknown(stored: StoredEpisode, error: VersionChanged) -> Finding:
    """An older version cannot be executed here; one that was never released is an invention."""
    recorded = stored.record.identity.env_version
    installed = registry.spec(stored.record.identity.env_id).version
    if recorded > installed or recorded < 1:
        return differs(stored, "env_version", str(error))
    return _unknown(stored, "env_version" if recorded != installed else "data_hash", str(error))


def _finding(
    stored: StoredEpisode, status: Status, name: str = "", sentence: str = "", notes: tuple[str, ...] = ()
) -> Finding:
    record = stored.record
    return Finding(stored.name, record.identity.env_id, record.index, status, record.turn_count, name, sentence, notes)


def differs(stored: StoredEpisode, name: str, sentence: str) -> Finding:
    """Return the finding that an episode is not what it has to be.

    Args:
        name: what differs.
    """
    return _finding(stored, "differs", name, sentence)


def _unknown(stored: StoredEpisode, name: str, sentence: str) -> Finding:
    return _finding(stored, "unknown", name, sentence)


# ------------------------------------------------------------------ in another process


def _begin(modules: list[str]) -> None:
    import_modules(modules)


_own_execution: list[_Execution] = []


def _find_all(episodes: Sequence[StoredEpisode]) -> list[Finding]:
    if not _own_execution:
        _own_execution.append(_Execution())
    return [_own_execution[0].find(stored) for stored in episodes]
