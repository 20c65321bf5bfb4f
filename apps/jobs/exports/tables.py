"""The tables of an export: their columns, what these mean, and how they are selected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from django.db.models import (
    Avg,
    BigIntegerField,
    BooleanField,
    Case,
    Count,
    F,
    FloatField,
    Func,
    Max,
    Min,
    Q,
    TextField,
    Value,
    When,
)
from django.db.models.fields.json import KT
from django.db.models.functions import Cast

from apps.jobs.results.grid import OUTCOME

TableName: TypeAlias = Literal["episodes", "turns", "scores"]
Format: TypeAlias = Literal["csv", "jsonl", "parquet"]
Type: TypeAlias = Literal["text", "whole", "number", "truth", "time", "json"]
_COUNTED = ~Q(status="failed")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: Type
    description: str
    value: Any
    """What is selected; None for what is known of the episode of a turn."""
    is_group: bool = False
    """Whether rows are grouped by it. Such columns come first."""


class _NumberIn(Func):
    """A number in a JSON object; NULL if there is something else."""

    template = "substring((%(expressions)s)::text from '^[0-9]{1,18}%(fraction)s$')::%(type)s"
    arg_joiner = " -> "

    def __init__(self, column: str, name: str, *, is_whole: bool) -> None:
        fraction, kind = ("", "bigint") if is_whole else ("(?:[.][0-9]{1,30})?", "double precision")
        output_field = BigIntegerField() if is_whole else FloatField()
        super().__init__(F(column), Value(name), fraction=fraction, type=kind, output_field=output_field)


EPISODES = (
    Column("episode", "text", "The id of the episode; its replay is at /episodes/ID/.", F("pk")),
    Column("slot", "whole", "Its place in the job.", F("slot")),
    Column("env_id", "text", "The environment.", F("env_id")),
    Column("env_version", "whole", "The version of the environment.", F("env_version")),
    Column("seed", "whole", "The seed of the environment.", F("seed")),
    Column("seat", "whole", "The seat of the evaluated agent.", F("scored_seat")),
    Column("outcome", "text", "won, lost, limit (of turns, tokens or money), or error (not counted).", OUTCOME),
    Column(
        "success", "truth", "Whether the problem was solved; empty if it is not known.",
        Case(When(status="failed", then=Value(None)), default=F("success"), output_field=BooleanField()),
    ),
    Column("return", "number", "The sum of the agent's rewards.", F("seats__total_reward")),
    Column("turns", "whole", "The number of its turns.", F("turn_count")),
    Column("max_turns", "whole", "The turn limit; 0 without one.", F("max_turns")),
    Column("tokens_in", "whole", "Prompt tokens of its turns; empty if they were not stored.", F("tokens_in")),
    Column("tokens_out", "whole", "Completion tokens of its turns; empty if they were not stored.", F("tokens_out")),
    Column("answer_seconds", "number", "The agent's mean time for an answer, if it is measured.", F("answer_seconds")),
    Column("unreadable", "whole", "Actions of the agent that the environment could not understand.", F("unreadable")),
    Column("forbidden", "whole", "Actions of the agent that the rules do not allow.", F("forbidden")),
    Column("failure", "text", "Why it is not counted; empty if it counts.", F("failure")),
    Column("failed_by", "text", "environment or agent; empty if it counts.", F("failed_by")),
    Column("ending_kind", "text", "Of an unsolved episode: how it ended.", F("ending_kind")),
    Column("ending_text", "text", "The last message, the same for all that ended the same way.", F("ending_text")),
    Column("data_hash", "text", "The hash of the data behind the problem; empty without data.", F("data_hash")),
    Column("data", "text", "Where these data come from.", KT("first_info__data__source")),
    Column("wrappers", "json", "The wrappers around the environment.", Cast(F("wrappers"), TextField())),
    Column("first_observation", "text", "What the agent read first.", F("first_observation")),
    Column("engine_version", "text", "The version of the engine that played it.", F("engine_version")),
    Column("ended", "time", "When it was recorded, in UTC.", F("ended")),
)  # fmt: skip
TURNS = (
    Column("episode", "text", "The id of the episode.", F("episode_id")),
    Column("slot", "whole", "The place of the episode in the job.", None),
    Column("env_id", "text", "The environment.", None),
    Column("seed", "whole", "The seed of the environment.", None),
    Column("turn", "whole", "The number of the turn; the first is 1.", F("number")),
    Column("seat", "whole", "The seat that acted.", F("seat")),
    Column("action", "text", "What the agent answered.", F("action")),
    Column("observation", "text", "What the environment said then.", F("observation")),
    Column("reward", "number", "The reward of the turn.", F("reward")),
    Column("fault", "text", "format: unreadable; rule: forbidden; empty if it was accepted.", KT("info__error")),
    Column(
        "tokens_in",
        "whole",
        "Prompt tokens, as the server counted them.",
        _NumberIn("extra", "tokens_in", is_whole=True),
    ),
    Column(
        "tokens_out",
        "whole",
        "Completion tokens, as the server counted them.",
        _NumberIn("extra", "tokens_out", is_whole=True),
    ),
    Column("seconds", "number", "The agent's time for the answer.", _NumberIn("extra", "seconds", is_whole=False)),
    Column("note", "text", "The agent's reasoning, if it was kept.", KT("extra__note")),
    Column("info", "json", "The info of the environment.", Cast(F("info"), TextField())),
)
SCORES = (
    Column("env_id", "text", "The environment.", F("env_id"), is_group=True),
    Column("seed", "whole", "The seed. All its tries and seats are one observation.", F("seed"), is_group=True),
    Column("episodes", "whole", "Its episodes: tries times seats.", Count("pk")),
    Column("counted", "whole", "Those that count.", Count("pk", filter=_COUNTED)),
    Column("solved", "whole", "Those that were solved.", Count("pk", filter=Q(success=True))),
    Column(
        "mean_return", "number", "The mean return of those that count.", Avg("seats__total_reward", filter=_COUNTED)
    ),
    Column("lowest_return", "number", "Their lowest return.", Min("seats__total_reward", filter=_COUNTED)),
    Column("highest_return", "number", "Their highest return.", Max("seats__total_reward", filter=_COUNTED)),
    Column(
        "mean_turns", "number", "Their mean number of turns.", Avg(Cast("turn_count", FloatField()), filter=_COUNTED)
    ),
)
_CLOSED = {"episode", "failure", "ending_text", "data", "first_observation"}
"""Columns by which a hidden seed could be known."""


def closed_columns(table: TableName) -> tuple[Column, ...]:
    """The columns of a closed job: the same ones, of which some are empty until its season is revealed."""
    empty = Value(None, output_field=TextField())
    return tuple(replace(column, value=empty) if column.name in _CLOSED else column for column in TABLES[table])


TABLES: Mapping[TableName, tuple[Column, ...]] = {"episodes": EPISODES, "turns": TURNS, "scores": SCORES}
FORMATS: Mapping[Format, str] = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl; charset=utf-8",
    "parquet": "application/vnd.apache.parquet",
}
"""The formats with their media types."""
