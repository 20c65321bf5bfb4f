"""Sums over the shards of a job."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Case, F, FloatField, Sum, When
from django.db.models.functions import Coalesce

from apps.jobs.models import Job, Shard

SUMS = {
    "total": Sum("count"),
    "spared": Sum(Case(When(state=Shard.State.DECIDED, then=F("count") - F("done")), default=0)),
    **{
        name: Sum(name)
        for name in ("done", "won", "limited", "errors", "unanswered", "cancelled", "tokens_in", "tokens_out", "turns")
    },
    "returns": Sum("return_sum", output_field=FloatField()),
    "squares": Sum("return_squares", output_field=FloatField()),
    **{name: Coalesce(Sum(name), 0) for name in ("actions", "unreadable", "forbidden")},
}
"""The fields of a tally in their order, as sums of columns of shards."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over episodes. Environment errors and unanswered episodes are in `errors` and in no other result."""

    total: int = 0
    spared: int = 0
    """Episodes that were not played, because a comparison was decided without them."""
    done: int = 0
    won: int = 0
    limited: int = 0
    errors: int = 0
    unanswered: int = 0
    cancelled: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    turns: int = 0
    returns: float = 0.0
    squares: float = 0.0
    actions: int = 0
    """The agent's actions that were looked at: none in jobs from before unreadable and forbidden ones were counted."""
    unreadable: int = 0
    forbidden: int = 0

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Tally:
        """The sums of all `shards` together."""
        rows = list(shards)
        return cls(
            total=sum(shard.count for shard in rows),
            spared=sum(shard.count - shard.done for shard in rows if shard.state == Shard.State.DECIDED),
            done=sum(shard.done for shard in rows),
            won=sum(shard.won for shard in rows),
            limited=sum(shard.limited for shard in rows),
            errors=sum(shard.errors for shard in rows),
            unanswered=sum(shard.unanswered for shard in rows),
            cancelled=sum(shard.cancelled for shard in rows),
            tokens_in=sum(shard.tokens_in for shard in rows),
            tokens_out=sum(shard.tokens_out for shard in rows),
            turns=sum(shard.turns for shard in rows),
            returns=math.fsum(shard.return_sum for shard in rows),
            squares=math.fsum(shard.return_squares for shard in rows),
            actions=sum(shard.actions or 0 for shard in rows),
            unreadable=sum(shard.unreadable or 0 for shard in rows),
            forbidden=sum(shard.forbidden or 0 for shard in rows),
        )

    @property
    def n(self) -> int:
        """Episodes that count."""
        return self.done - self.errors

    @property
    def needed(self) -> int:
        """The episodes of which a result is wanted."""
        return self.total - self.spared

    @property
    def missing(self) -> int:
        """Episodes of which a result is wanted and missing: not played yet or any more, or without a result."""
        return self.needed - self.n

    @property
    def is_partial(self) -> bool:
        """Whether episodes are missing from the results."""
        return self.missing > 0

    @property
    def unreadable_share(self) -> float | None:
        """The share of the agent's actions that the environment could not understand; None if nobody counted."""
        return self.unreadable / self.actions if self.actions else None

    @property
    def forbidden_share(self) -> float | None:
        """The share of the agent's actions that the rules do not allow; None if nobody counted."""
        return self.forbidden / self.actions if self.actions else None

    @property
    def lost(self) -> int:
        """Episodes that ended by the environment's rules and were not solved."""
        return self.n - self.won - self.limited

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens."""
        return self.tokens_in + self.tokens_out

    @property
    def tokens_each(self) -> float | None:
        """Tokens per finished episode; None without any."""
        return self.tokens / self.done if self.done else None

    @property
    def broken(self) -> int:
        """Episodes with an environment error."""
        return self.errors - self.unanswered - self.cancelled

    @property
    def mean(self) -> float | None:
        """The mean return."""
        return self.returns / self.n if self.n else None

    @property
    def mean_turns(self) -> float | None:
        """Turns per episode."""
        return self.turns / self.n if self.n else None


def tallies_of(jobs: Iterable[Job]) -> dict[str, Tally]:
    """The sums of each of these jobs, by id, in one query that reads no shards. Jobs without shards have none."""
    columns = {f"sum_{name}": expression for name, expression in SUMS.items()}
    shards = Shard.objects.filter(job__in=[job.pk for job in jobs]).order_by()
    rows = shards.values("job").annotate(**columns).values_list("job", *columns)
    return {key: Tally(*sums) for key, *sums in rows}


def skipped(shards: Iterable[Shard]) -> list[str]:
    """The environments of which a person skipped what was left."""
    return list(dict.fromkeys(shard.env_id for shard in shards if shard.skipped))


def skipped_tallies(shards: Sequence[Shard]) -> list[tuple[str, Tally]]:
    """The sums of each environment of which a person skipped what was left."""
    return [(env_id, Tally.of(s for s in shards if s.env_id == env_id)) for env_id in skipped(shards)]
