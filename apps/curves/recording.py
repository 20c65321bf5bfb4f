"""Storing what trainings elsewhere send. Each entry is stored once, however often and in whatever order it is sent."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from apps.accounts import quotas
from apps.accounts.models import User, default_visibility
from apps.curves import limits, thinning
from apps.curves.entries import MAX_STEP, Cleaned, Kept, Sent, clean, key_of
from apps.curves.models import MAX_KEY, MAX_NAME, OutsideTraining, Transcript
from apps.episodes.errors import Refusal
from apps.episodes.text import storable, storable_json
from apps.live import publish
from apps.names import visible
from apps.queue import enqueue

TOPIC = "outside"
COLOURS = 8
MAX_METRICS = 300
MAX_NOTES = 20
AT_A_TIME = 2_000
"""Entries of one transaction."""
MAX_CONFIG_CHARACTERS = 100_000
THIN_AFTER = 1_000
"""Entries after which a worker brings the short form of the curves up to date."""
ENTRY_BYTES = 80
"""What an entry takes besides its metrics."""
TOO_MANY_METRICS = f"More than {MAX_METRICS} metrics were sent; only the first {MAX_METRICS} are kept."
TOO_MANY_TRANSCRIPTS = f"More than {limits.MAX_TRANSCRIPTS:,} transcripts were sent; the later ones are not kept."
CHANGED = (
    "seq", "entries", "size", "first_step", "last_step", "latest", "transcripts", "notes", "began", "heard", "state",
    "reason",
)  # fmt: skip
"""What entries change of their training."""
KNOWN = "SELECT key FROM curves_entry WHERE training_id = %s AND key = ANY(%s)"
"""One array takes a third of the processor time of hundreds of values after IN."""
COPY = "COPY curves_entry (training_id, number, key, step, seconds, data) FROM STDIN"


class CurvesRefused(Refusal):
    """What was sent is not stored.

    Args:
        status: the HTTP status.
    """

    title = "These curves are not stored"

    def __init__(self, sentence: str, status: int = 422) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True, slots=True)
class Recorded:
    """What became of entries."""

    training: OutsideTraining
    stored: int
    repeated: int
    """Entries that were stored already."""


def begin(
    owner: User,
    project: str,
    key: str,
    *,
    name: str = "",
    group: str = "",
    config: Mapping[str, Any] | None = None,
    source: OutsideTraining.Source = OutsideTraining.Source.API,
    visibility: str = "",
) -> OutsideTraining:
    """The training of `owner` with this key in this project, which is made if there is none.

    Of one that exists, the settings are replaced if some are sent; its visibility stays.

    Raises:
        CurvesRefused: if a name is empty or too long, the settings are too long, or the quota is used up.
    """
    project, key, name, group = (_named(text) for text in (project, key, name or key, group))
    if not project or not key:
        raise CurvesRefused("A training elsewhere needs a project and a name. Nothing was stored.")
    settings_ = storable_json(dict(config or {}))
    if len(json.dumps(settings_)) > MAX_CONFIG_CHARACTERS:
        raise CurvesRefused(f"The settings have more than {MAX_CONFIG_CHARACTERS:,} characters. Nothing was stored.")
    found = OutsideTraining.objects.filter(owner=owner, project=project, key=key).first()
    if found is None:
        try:
            return _create(owner, project, key, name, group, settings_, source, visibility)
        except IntegrityError:  # another request has made it meanwhile
            found = OutsideTraining.objects.get(owner=owner, project=project, key=key)
    if settings_ and settings_ != found.config:
        with transaction.atomic():
            row = OutsideTraining.objects.select_for_update(no_key=True).get(pk=found.pk)
            row.config, row.group = settings_, group or row.group
            row.save(update_fields=["config", "group"])
            return row
    return found


@transaction.atomic
def _create(
    owner: User,
    project: str,
    key: str,
    name: str,
    group: str,
    config: dict[str, Any],
    source: OutsideTraining.Source,
    visibility: str,
) -> OutsideTraining:
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)  # so that concurrent calls count each other
    problem = quotas.refusal(owner, limits.OUTSIDE_TRAININGS) or quotas.refusal(owner, quotas.STORAGE, 0)
    if problem:
        raise CurvesRefused(problem, status=429)
    return OutsideTraining.objects.create(
        owner=owner,
        project=project,
        key=key,
        name=name,
        group=group,
        config=config,
        source=source,
        visibility=visibility or default_visibility(owner),
        colour=OutsideTraining.objects.filter(owner=owner).count() % COLOURS + 1,
        heard=timezone.now(),
    )


def _named(text: str) -> str:
    text = visible(storable(text)).strip()
    if len(text) > min(MAX_NAME, MAX_KEY):
        raise CurvesRefused(f"“{text[:40]}…” is longer than {min(MAX_NAME, MAX_KEY)} characters. Nothing was stored.")
    return text


def record(training: OutsideTraining, sent: Sequence[Sent]) -> Recorded:
    """Store those entries that are new. Everything is committed when this returns.

    Raises:
        CurvesRefused: if the training is full, or its owner's storage. Nothing is stored then.
    """
    by_key = {key_of(entry): entry for entry in sent}
    steps = [entry.step for entry in sent if entry.step is not None]
    if any(abs(step) > MAX_STEP for step in steps):
        raise CurvesRefused(f"A step lies between -{MAX_STEP:,} and {MAX_STEP:,}. Nothing was stored.")
    if problem := quotas.refusal(training.owner, quotas.STORAGE, 0):
        raise CurvesRefused(problem, status=429)
    with transaction.atomic():
        row = OutsideTraining.objects.select_for_update(no_key=True).select_related("owner").get(pk=training.pk)
        known = _known(row, list(by_key))
        fresh = {key: entry for key, entry in by_key.items() if key not in known}
        if row.entries + len(fresh) > limits.MAX_ENTRIES:
            raise CurvesRefused(
                f"A training elsewhere has at most {limits.MAX_ENTRIES:,} entries. These were not stored; what was "
                "sent before stays. Log less often, or begin another training.",
                status=413,
            )
        if fresh:
            _store(row, fresh)
    return Recorded(row, len(fresh), len(sent) - len(fresh))


def record_all(training: OutsideTraining, sent: Sequence[Sent]) -> Recorded:
    """Store entries in parts, each committed on its own; whoever sends them again loses and repeats nothing.

    Raises:
        CurvesRefused: see `record`. The parts before stay.
    """
    stored = repeated = 0
    for first in range(0, max(1, len(sent)), AT_A_TIME):
        found = record(training, sent[first : first + AT_A_TIME])
        training, stored, repeated = found.training, stored + found.stored, repeated + found.repeated
    return Recorded(training, stored, repeated)


@transaction.atomic
def add_notes(training: OutsideTraining, notes: Mapping[str, str]) -> None:
    """Note what its owner should know of a training, once for each key."""
    row = OutsideTraining.objects.select_for_update(no_key=True).get(pk=training.pk)
    kept = _with(row.notes, notes)
    if kept != row.notes:
        row.notes, row.seq = kept, row.seq + 1
        row.save(update_fields=["notes", "seq"])
        publish(f"{TOPIC}:{row.pk}", row.seq)


def _known(row: OutsideTraining, keys: list[UUID]) -> set[UUID]:
    """Those keys whose entries are stored."""
    with connection.cursor() as cursor:
        cursor.execute(KNOWN, [row.pk, keys])
        return {key for (key,) in cursor.fetchall()}


def _store(row: OutsideTraining, fresh: Mapping[UUID, Sent]) -> None:
    """Write entries of a training that is locked, and what follows from them."""
    now = timezone.now()
    lines: list[tuple[Any, ...]] = []
    transcripts: list[Transcript] = []
    notes = dict(row.notes)
    if row.began is None:
        row.began = _first_time(fresh.values(), now)
    first_step, last_step = row.first_step, row.last_step
    for key, entry in fresh.items():
        step = entry.step if entry.step is not None else (-1 if last_step is None else last_step) + 1
        first_step = step if last_step is None else min(first_step, step)
        last_step = step if last_step is None else max(last_step, step)
        found = clean(entry.metrics, step)
        data = json.dumps(_known_metrics(row, found, notes), ensure_ascii=False)
        row.size += len(data) + ENTRY_BYTES
        row.entries += 1
        lines.append((row.pk, row.entries, key, step, _seconds(row, entry.time, now), data))
        notes = _with(notes, found.notes)
        transcripts.extend(_transcripts(row, key, step, found.kept, notes))
    with connection.cursor() as cursor, cursor.copy(COPY) as copy:
        for line in lines:
            copy.write_row(line)
    Transcript.objects.bulk_create(transcripts, ignore_conflicts=True)
    row.first_step, row.last_step = first_step, last_step
    row.notes = notes
    row.heard, row.seq = now, row.seq + 1
    if row.state != OutsideTraining.State.RUNNING:
        row.state, row.reason = OutsideTraining.State.RUNNING, ""
    row.save(update_fields=CHANGED)
    publish(f"{TOPIC}:{row.pk}", row.seq)
    if row.entries - row.thinned >= THIN_AFTER:
        enqueue(thinning.TASK, row.pk)


def _with(notes: dict[str, str], more: Mapping[str, str]) -> dict[str, str]:
    """Notes with those of which there is room and which are about something else."""
    if not more:
        return notes
    new = [(key, text) for key, text in more.items() if key not in notes]
    return notes | dict(new[: max(0, MAX_NOTES - len(notes))])


def _known_metrics(row: OutsideTraining, found: Cleaned, notes: dict[str, str]) -> dict[str, float]:
    """The numbers of an entry whose metrics have room, which become the latest."""
    numbers = found.numbers
    if len(row.latest) + len(numbers) > MAX_METRICS:
        room = MAX_METRICS - len(row.latest)
        unknown = [name for name in numbers if name not in row.latest]
        if len(unknown) > room:
            notes["metrics"] = TOO_MANY_METRICS
            dropped = set(unknown[room:])
            numbers = {name: value for name, value in numbers.items() if name not in dropped}
    row.latest.update(numbers)
    return numbers


def _first_time(entries: Iterable[Sent], now: datetime) -> datetime:
    """When the first of these was logged; one that says nothing, or that a clock ahead of ours has dated, now."""
    times = [entry.time for entry in entries if entry.time is not None]
    return datetime.fromtimestamp(min(*times, now.timestamp()), UTC) if times else now


def _seconds(row: OutsideTraining, time: float | None, now: datetime) -> float:
    """When an entry was logged, in seconds since the training began."""
    assert row.began is not None
    return (now.timestamp() if time is None else min(time, now.timestamp())) - row.began.timestamp()


def _transcripts(
    row: OutsideTraining, key: UUID, step: int, kept: Sequence[Kept], notes: dict[str, str]
) -> list[Transcript]:
    rows = []
    for place, each in enumerate(kept):
        if row.transcripts >= limits.MAX_TRANSCRIPTS:
            notes["transcripts"] = TOO_MANY_TRANSCRIPTS
            break
        row.transcripts += 1
        row.size += len(json.dumps(each.data))
        own_key = UUID(int=(key.int + place) % 2**128)
        rows.append(Transcript(training=row, key=own_key, kind=each.kind, name=each.name, step=step, data=each.data))
    return rows
