"""Writing many finished episodes at once, with COPY: what an evaluation's workers do thousands of times a second."""

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
from gem.records import EpisodeRecord

_LETTERS = bytes(ord(ALPHABET[byte & 31]) for byte in range(256))
_PYTHON = platform.python_version()

_EPISODES = (
    "COPY episodes_episode (id, batch_id, slot, of_job, env_id, env_version, env_kwargs, data_hash, wrappers, seed,"
    " engine_version, python_version, status, terminated, truncated, success, failure, failed_by, first_observation,"
    " first_info, turn_count, max_turns, seq, listed, seat_count, scored_seat, created, ended) FROM STDIN"
)
_SEATS = "COPY episodes_seat (episode_id, number, agent_id, visitor, total_reward, success) FROM STDIN"
_TURNS = "COPY episodes_turn (episode_id, number, seat, action, observation, reward, info, extra, created) FROM STDIN"


def make_ids(count: int) -> list[str]:
    """As many ids as `make_id` would give one by one, in one draw."""
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
    """Insert episodes of one batch and agent with their seats and turns, all of them finished at `at`.

    Where there are several seats, the agent sits in `EpisodeRecord.seat` and the opponent in the others; without an
    opponent, the agent sits in all of them.

    To be called in a transaction: either everything is written or nothing.

    Raises:
        django.db.IntegrityError: if the batch has one of their slots already.
    """
    keyed = list(zip(make_ids(len(records)), records, strict=True))
    stamp = at.isoformat()
    with connection.cursor() as cursor:
        with cursor.copy(_EPISODES) as copy:
            copy.write("".join(_episode(key, batch_id, of_job, record, stamp) for key, record in keyed))
        with cursor.copy(_SEATS) as copy:
            copy.write("".join(line for key, record in keyed for line in _seats(key, record, agent_id, opponent_id)))
        with cursor.copy(_TURNS) as copy:
            copy.write("".join(line for key, record in keyed for line in _turns(key, record, stamp)))


def _episode(key: str, batch_id: str, of_job: bool, record: EpisodeRecord, stamp: str) -> str:
    identity = record.identity
    status = Episode.Status.FAILED if record.failure else Episode.Status.ENDED
    success = r"\N" if record.success is None else str(record.success)
    return (
        f"{key}\t{batch_id}\t{record.index}\t{of_job}\t{_text(identity.env_id)}\t{identity.env_version}"
        f"\t{_json(identity.env_kwargs)}\t{identity.data_hash}\t{_json(identity.wrappers)}\t{identity.seed}"
        f"\t{gem.__version__}\t{_PYTHON}\t{status.value}\t{record.terminated}\t{record.truncated}\t{success}"
        f"\t{_text(record.failure)}\t{record.failed_by}\t{_text(record.first_observation)}\t{_json(record.first_info)}"
        f"\t{record.turn_count}\t{record.max_turns}\t0\tt\t{_seat_count(record)}\t{record.seat}\t{stamp}\t{stamp}\n"
    )


def _seat_count(record: EpisodeRecord) -> int:
    return len(record.first_info.get("seats", ())) or 1


def _seats(key: str, record: EpisodeRecord, agent_id: int, opponent_id: int | None) -> Iterator[str]:
    count = _seat_count(record)
    totals = record.total_rewards or [0.0] * count
    last = record.turns[-1].info if record.turns else {}
    ended = record.success is not None
    for number in range(count):
        who = agent_id if number == record.seat or opponent_id is None else opponent_id
        reached = str(gem.seats.success(number, last)) if ended else r"\N"
        yield f"{key}\t{number}\t{who}\t\t{totals[number]!r}\t{reached}\n"


def _turns(key: str, record: EpisodeRecord, stamp: str) -> Iterator[str]:
    for number, turn in enumerate(record.turns, start=1):
        extra = _json(turn.extra) if turn.extra else r"\N"
        yield (
            f"{key}\t{number}\t{turn.seat or 0}\t{_text(turn.action)}\t{_text(turn.observation)}\t{turn.reward!r}"
            f"\t{_json(turn.info)}\t{extra}\t{stamp}\n"
        )


def _text(value: str) -> str:
    """`value` as COPY's text format writes it; the replacements that find nothing cost almost nothing."""
    if len(value) > MAX_OBSERVATION_CHARS:
        value = shortened(value)
    value = storable(value).replace("\\", "\\\\")
    return value.replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")


def _json(value: Any) -> str:
    if not value:
        return "[]" if isinstance(value, list | tuple) else "{}"
    try:
        text = _dumps(value)
    except (TypeError, ValueError):  # what JSON does not have
        text = _dumps(storable_json(value))
    if "\\u" in text:  # not ASCII: maybe what Postgres cannot store
        text = _dumps(storable_json(value))
    return text.replace("\\", "\\\\")


_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
