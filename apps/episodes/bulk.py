"""Insert many finished episodes at once with COPY. Evaluation workers insert thousands of episodes per second."""

from __future__ import annotations

import json
import platform
import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from django.db import connection

import gem
import gem.seats
from apps.episodes.models import ALPHABET, ID_LENGTH, Episode
from apps.episodes.text import MAX_OBSERVATION_CHARS, shortened, storable, storable_json
from gem.evaluation.endings import ending_of
from gem.evaluation.faults import faults_of
from gem.records import EpisodeRecord

_LETTERS = bytes(ord(ALPHABET[byte & 31]) for byte in range(256))
NULL = r"\N"
_PYTHON = platform.python_version()

_EPISODES = (
    "COPY episodes_episode (id, batch_id, slot, of_job, env_id, env_version, env_kwargs, data_hash, wrappers, seed,"
    " engine_version, python_version, status, terminated, truncated, cut, success, failure, failed_by,"
    " first_observation, first_info, turn_count, max_turns, seq, seat_count, scored_seat, created, ended, ending_kind,"
    " ending_text, tokens_in, tokens_out, answer_seconds, unreadable, forbidden) FROM STDIN"
)
_SEATS = "COPY episodes_seat (episode_id, number, agent_id, visitor, total_reward, success) FROM STDIN"
_TURNS = "COPY episodes_turn (episode_id, number, seat, action, observation, reward, info, extra, created) FROM STDIN"


def make_ids(count: int) -> list[str]:
    """`count` random ids like those of `make_id`, from one call to the random source."""
    letters = secrets.token_bytes(count * ID_LENGTH).translate(_LETTERS).decode()
    return [letters[i : i + ID_LENGTH] for i in range(0, len(letters), ID_LENGTH)]


def copy_episodes(
    batch_id: str,
    agent_id: int,
    records: Sequence[EpisodeRecord],
    at: datetime,
    *,
    of_job: bool,
    opponent_id: int | None = None,
) -> None:
    """Insert finished episodes of one batch and agent with their seats and turns. `at` is their end time.

    If there are several seats, the agent has `EpisodeRecord.seat` and the opponent the others. Without an opponent, the
    agent has all of them.

    Call it in a transaction, so that everything or nothing is written.

    Raises:
        django.db.IntegrityError: the batch already has one of the slots.
    """
    records_by_id = list(zip(make_ids(len(records)), records, strict=True))
    timestamp = at.isoformat()
    with connection.cursor() as cursor:
        with cursor.copy(_EPISODES) as copy:
            copy.write("".join(_episode(key, batch_id, of_job, record, timestamp) for key, record in records_by_id))
        with cursor.copy(_SEATS) as copy:
            copy.write(
                "".join(line for key, record in records_by_id for line in _seats(key, record, agent_id, opponent_id))
            )
        with cursor.copy(_TURNS) as copy:
            copy.write("".join(line for key, record in records_by_id for line in _turns(key, record, timestamp)))


def _episode(episode_id: str, batch_id: str, of_job: bool, record: EpisodeRecord, timestamp: str) -> str:
    identity = record.identity
    status = Episode.Status.FAILED if record.failure else Episode.Status.ENDED
    success = NULL if record.success is None else str(record.success)
    ending, faults, (tokens_in, tokens_out) = ending_of(record), faults_of(record), record.tokens
    seconds = record.answer_seconds
    return (
        f"{episode_id}\t{batch_id}\t{record.index}\t{of_job}\t{_text(identity.env_id)}\t{identity.env_version}"
        f"\t{_json(identity.env_kwargs)}\t{identity.data_hash}\t{_json(identity.wrappers)}\t{identity.seed}"
        f"\t{gem.__version__}\t{_PYTHON}\t{status.value}\t{record.terminated}\t{record.truncated}\t{record.cut}\t{success}"
        f"\t{_text(record.failure)}\t{record.failed_by}\t{_text(record.first_observation)}\t{_json(record.first_info)}"
        f"\t{record.turn_count}\t{record.max_turns}\t0\t{_seat_count(record)}\t{record.seat}\t{timestamp}\t{timestamp}"
        f"\t{ending.kind}\t{_text(ending.text)}\t{tokens_in}\t{tokens_out}"
        f"\t{NULL if seconds is None else repr(seconds)}\t{faults.unreadable}\t{faults.forbidden}\n"
    )


def _seat_count(record: EpisodeRecord) -> int:
    return len(record.first_info.get("seats", ())) or 1


def _seats(episode_id: str, record: EpisodeRecord, agent_id: int, opponent_id: int | None) -> Iterator[str]:
    count = _seat_count(record)
    totals = record.total_rewards or [0.0] * count
    last_info = record.turns[-1].info if record.turns else {}
    has_result = record.success is not None
    for number in range(count):
        occupant_id = agent_id if number == record.seat or opponent_id is None else opponent_id
        success = str(gem.seats.success(number, last_info)) if has_result else NULL
        yield f"{episode_id}\t{number}\t{occupant_id}\t\t{totals[number]!r}\t{success}\n"


def _turns(episode_id: str, record: EpisodeRecord, timestamp: str) -> Iterator[str]:
    for number, turn in enumerate(record.turns, start=1):
        extra = _json(turn.extra) if turn.extra else NULL
        yield (
            f"{episode_id}\t{number}\t{turn.seat or 0}\t{_text(turn.action)}\t{_text(turn.observation)}"
            f"\t{turn.reward!r}\t{_json(turn.info)}\t{extra}\t{timestamp}\n"
        )


def _text(value: str) -> str:
    """Escape `value` for the text format of COPY."""
    if len(value) > MAX_OBSERVATION_CHARS:
        value = shortened(value)
    value = storable(value).replace("\\", "\\\\")
    return value.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _json(value: Any) -> str:
    if not value:
        return "[]" if isinstance(value, list | tuple) else "{}"
    try:
        text = _dumps(value)
    except (TypeError, ValueError):  # a value that JSON cannot hold
        text = _dumps(storable_json(value))
    if "\\u" in text:  # not ASCII, so it may hold characters that Postgres cannot store
        text = _dumps(storable_json(value))
    return text.replace("\\", "\\\\")


_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
