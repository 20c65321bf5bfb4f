"""Insert many finished episodes at once with COPY. Evaluation workers insert thousands of episodes per second."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from django.db import connection

import gem
import gem.seats
from apps.episodes.models import ALPHABET, ID_LENGTH, Episode
from apps.episodes.storing import copying
from apps.episodes.storing.copying import NULL
from gem.evaluation.facts import Facts, facts_of
from gem.records import EpisodeRecord

_LETTERS = bytes(ord(ALPHABET[byte & 31]) for byte in range(256))
_PYTHON = platform.python_version()
_ENDED, _FAILED = Episode.Status.ENDED.value, Episode.Status.FAILED.value

_EPISODES = (
    "COPY episodes_episode (id, batch_id, slot, of_job, env_id, env_version, env_kwargs, data_hash, wrappers, seed,"
    " engine_version, python_version, status, terminated, truncated, cut, success, failure, failed_by,"
    " first_observation, first_info, turn_count, max_turns, seq, seat_count, scored_seat, created, ended, ending_kind,"
    " ending_text, tokens_in, tokens_out, answer_seconds, unreadable, forbidden) FROM STDIN"
)
_SEATS = "COPY episodes_seat (episode_id, number, agent_id, visitor, total_reward, success) FROM STDIN"
_TURNS = "COPY episodes_turn (episode_id, number, seat, action, observation, reward, info, extra, created) FROM STDIN"
_COLUMNS = _EPISODES.partition("(")[2].partition(")")[0].split(", ")
_SLOT, _STATUS = _COLUMNS.index("slot"), _COLUMNS.index("status")


def make_ids(count: int) -> list[str]:
    """`count` random ids like those of `make_id`, from one call to the random source."""
    letters = secrets.token_bytes(count * ID_LENGTH).translate(_LETTERS).decode()
    return [letters[i : i + ID_LENGTH] for i in range(0, len(letters), ID_LENGTH)]


class Finished(NamedTuple):
    """A finished episode to insert."""

    key: str
    """Its id."""
    record: EpisodeRecord
    facts: Facts

    @property
    def seat_count(self) -> int:
        """How many seats it has."""
        return len(self.record.first_info.get("seats", ())) or 1


def finished(records: Sequence[EpisodeRecord]) -> list[Finished]:
    """Give each record an id."""
    keys = make_ids(len(records))
    return [Finished(key, record, facts_of(record)) for key, record in zip(keys, records, strict=True)]


def copy_episodes(
    batch_id: str,
    agent_id: int,
    records: Sequence[EpisodeRecord],
    at: datetime,
    *,
    of_job: bool,
    opponent_id: int | None = None,
) -> list[Facts]:
    """Insert finished episodes of one batch and agent with their seats and turns. `at` is their end time.

    If there are several seats, the agent has `EpisodeRecord.seat` and the opponent the others. Without an opponent, the
    agent has all of them. Returns what is known of each episode.

    Call it in a transaction, so that everything or nothing is written.

    Raises:
        django.db.IntegrityError: the batch already has one of the slots.
    """
    episodes = finished(records)
    timestamp = at.isoformat()
    with connection.cursor() as cursor:
        with cursor.copy(_EPISODES) as copy:
            copy.write("".join(_episodes(episodes, batch_id, of_job, timestamp)))
        with cursor.copy(_SEATS) as copy:
            copy.write("".join(line for each in episodes for line in _seats(each, agent_id, opponent_id)))
        with cursor.copy(_TURNS) as copy:
            copy.write("".join(_turns(episodes, timestamp)))
    return [each.facts for each in episodes]


class PlayedEpisode(NamedTuple):
    """An episode that a person's program has played outside of batches."""

    id: str
    record: EpisodeRecord
    user_id: int
    visibility: str
    is_given_up: bool
    """Whether it was left before its end."""


def copy_played(agent_id: int, played: Sequence[PlayedEpisode], at: datetime) -> None:
    """Insert episodes that ended at about the time `at`, in each of which one person has all seats.

    Args:
        agent_id: the agent in their seats.

    Call it in a transaction, so that everything or nothing is written.
    """
    episodes = [Finished(one.id, one.record, facts_of(one.record)) for one in played]
    timestamp = at.isoformat()
    with connection.cursor() as cursor:
        with cursor.copy(_with_column(_EPISODES, "visibility")) as copy:
            for one, line in zip(played, _episodes(episodes, NULL, False, timestamp), strict=True):
                fields = line.rstrip("\n").split("\t")  # tabs within fields are escaped
                fields[_SLOT] = NULL
                if one.is_given_up:
                    fields[_STATUS] = Episode.Status.ABANDONED.value
                copy.write("\t".join([*fields, one.visibility]) + "\n")
        with cursor.copy(_with_column(_SEATS, "user_id")) as copy:
            for one, episode in zip(played, episodes, strict=True):
                for line in _seats(episode, agent_id, None):
                    copy.write(line.rstrip("\n") + f"\t{one.user_id}\n")
        with cursor.copy(_TURNS) as copy:
            copy.write("".join(_turns(episodes, timestamp)))


def _with_column(statement: str, name: str) -> str:
    """The statement with one more column at its end."""
    return statement.replace(") FROM", f", {name}) FROM")


def _episodes(episodes: Sequence[Finished], batch_id: str, of_job: bool, timestamp: str) -> Iterator[str]:
    records = [each.record for each in episodes]
    if not records:
        return
    observations = copying.texts([record.first_observation for record in records])
    infos = copying.json_values([record.first_info for record in records])
    made_by = f"{gem.__version__}\t{_PYTHON}"
    identities: dict[int, str] = {}
    for each, observation, info in zip(episodes, observations, infos, strict=True):
        record, facts = each.record, each.facts
        identity = record.identity
        status = _FAILED if record.failure else _ENDED
        success = NULL if record.success is None else str(record.success)
        seconds = NULL if facts.answer_seconds is None else repr(facts.answer_seconds)
        wrappers = identities.get(id(identity.wrappers))  # all episodes of a job share them
        if wrappers is None:
            wrappers = identities[id(identity.wrappers)] = copying.json_value(identity.wrappers)
        yield (
            f"{each.key}\t{batch_id}\t{record.index}\t{of_job}\t{copying.text(identity.env_id)}"
            f"\t{identity.env_version}\t{copying.json_value(identity.env_kwargs)}\t{identity.data_hash}\t{wrappers}"
            f"\t{identity.seed}\t{made_by}\t{status}\t{record.terminated}\t{record.truncated}\t{record.cut}"
            f"\t{success}\t{copying.text(record.failure)}\t{record.failed_by}\t{observation}\t{info}"
            f"\t{record.turn_count}\t{record.max_turns}\t0\t{each.seat_count}\t{record.seat}\t{timestamp}"
            f"\t{timestamp}\t{facts.ending.kind}\t{copying.text(facts.ending.text)}\t{facts.tokens_in}"
            f"\t{facts.tokens_out}\t{seconds}\t{facts.faults.unreadable}\t{facts.faults.forbidden}\n"
        )


def _seats(episode: Finished, agent_id: int, opponent_id: int | None) -> Iterator[str]:
    record = episode.record
    count = episode.seat_count
    totals = episode.facts.total_rewards or [0.0] * count
    last_info = record.turns[-1].info if record.turns else {}
    has_result = record.success is not None
    for number in range(count):
        occupant_id = agent_id if number == record.seat or opponent_id is None else opponent_id
        success = str(gem.seats.success(number, last_info)) if has_result else NULL
        yield f"{episode.key}\t{number}\t{occupant_id}\t\t{totals[number]!r}\t{success}\n"


def _turns(episodes: Sequence[Finished], timestamp: str) -> Iterator[str]:
    turns = [turn for each in episodes for turn in each.record.turns]
    if not turns:
        return
    places = [f"{each.key}\t{number}" for each in episodes for number in range(1, each.record.turn_count + 1)]
    actions = copying.texts([turn.action for turn in turns])
    observations = copying.texts([turn.observation for turn in turns])
    infos = copying.json_values([turn.info for turn in turns])
    for place, turn, action, observation, info in zip(places, turns, actions, observations, infos, strict=True):
        extra = copying.json_value(turn.extra) if turn.extra else NULL
        yield f"{place}\t{turn.seat or 0}\t{action}\t{observation}\t{turn.reward!r}\t{info}\t{extra}\t{timestamp}\n"
