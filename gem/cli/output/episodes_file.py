"""The file to which `gemweb eval --out` adds its episodes, and what it has of an evaluation that was stopped."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import gem
from gem.cli.output.report import Players
from gem.errors import UsageError

if TYPE_CHECKING:
    from gem.evaluation.scores import Outcome
    from gem.records import EpisodeRecord
    from gem.rollout import EpisodeRequest


def resume(
    out: Path, players: Players, requests: list[EpisodeRequest], outcomes: dict[str, list[Outcome]]
) -> tuple[list[EpisodeRequest], TextIO]:
    """Return the requests whose episodes `out` does not have, and the file, opened for appending.

    Args:
        outcomes: gets the outcomes of the episodes that `out` has.

    Raises:
        UsageError: if `out` cannot be written or has other content.
    """
    from gem.records import episode_files  # noqa: PLC0415

    missing: dict[tuple[str, int, int], list[EpisodeRequest]] = {}
    for request in requests:
        missing.setdefault((request.env_id, request.seed, request.seat), []).append(request)
    unplaced: list[tuple[list[EpisodeRequest], Outcome]] = []
    try:
        if out.exists() and out.stat().st_size:
            episode_files.repair_last_line(out)
        if out.exists() and out.stat().st_size:
            for stored in episode_files.read(out):
                record = stored.record
                tries = missing.get((record.identity.env_id, record.identity.seed, record.seat))
                has_same_players = (stored.agent, stored.opponent) == (players.agent, players.opponent_in(record))
                if not tries or not has_same_players or not _fulfils(record, tries[0]):
                    continue
                place = next((request for request in tries if _is_try(record, request)), None)
                if place is None:
                    unplaced.append((tries, outcome_of(record)))
                else:
                    tries.remove(place)
                    outcomes[place.env_id].append(outcome_of(record)._replace(place=place.index))
        for tries, outcome in unplaced:
            if tries:
                request = tries.pop(0)
                outcomes[request.env_id].append(outcome._replace(place=request.index))
        remaining = [request for tries in missing.values() for request in tries]
        return sorted(remaining, key=lambda request: request.index), out.open("a", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}.") from error


def _is_try(record: EpisodeRecord, request: EpisodeRequest) -> bool:
    """Whether the record says that it is this try at its seed.

    A file that was written before tries had their number says so by the place of the episode in its evaluation.
    """
    return record.repeat == request.repeat if record.repeat else record.index == request.index


def _fulfils(record: EpisodeRecord, request: EpisodeRequest) -> bool:
    """Whether the record is a valid result of the request; episodes that the agent failed are played again."""
    identity = record.identity
    return (
        identity.env_version == gem.spec(request.env_id).version
        and identity.env_kwargs == request.env_kwargs
        and list(identity.wrappers) == list(request.wrappers)
        and (record.terminated or record.truncated or record.failed_by == "environment")
    )


def write(file: TextIO, record: EpisodeRecord, players: Players) -> EpisodeRecord:
    """Add an episode to the file; return the record that was written, which is a failure if it cannot be."""
    from gem.records import episode_files  # noqa: PLC0415

    line, written = episode_files.line_and_record(record, players.agent, players.opponent_in(record), players.set_up)
    try:
        file.write(line)
        file.flush()
    except OSError as error:
        raise UsageError(f"{file.name} cannot be written: {error.strerror}.") from error
    return written


def outcome_of(record: EpisodeRecord) -> Outcome:
    """What the scores need of an episode."""
    from gem.evaluation.faults import faults_of  # noqa: PLC0415
    from gem.evaluation.scores import Outcome  # noqa: PLC0415

    tokens_in, tokens_out = record.tokens
    return Outcome(
        record.index,
        record.total_reward,
        bool(record.success),
        record.turn_count,
        failed=record.failed_by == "environment",
        unanswered=record.failed_by == "agent",
        problem=(record.identity.seed, record.seat),
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        faults=faults_of(record),
    )
