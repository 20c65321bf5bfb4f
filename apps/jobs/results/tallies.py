"""Sums over the shards of a job."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from apps.jobs.models import Shard
from gem.evaluation.scores import Z95, Interval, wilson


@dataclass(frozen=True, slots=True)
class Tally:
    """Sums over episodes. Environment errors and unanswered episodes are in `errors` and in no other result."""

    total: int = 0
    done: int = 0
    won: int = 0
    limited: int = 0
    errors: int = 0
    unanswered: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    turns: int = 0
    returns: float = 0.0
    squares: float = 0.0

    @classmethod
    def of(cls, shards: Iterable[Shard]) -> Tally:
        """The sums of all `shards` together."""
        rows = list(shards)
        return cls(
            total=sum(shard.count for shard in rows),
            done=sum(shard.done for shard in rows),
            won=sum(shard.won for shard in rows),
            limited=sum(shard.limited for shard in rows),
            errors=sum(shard.errors for shard in rows),
            unanswered=sum(shard.unanswered for shard in rows),
            tokens_in=sum(shard.tokens_in for shard in rows),
            tokens_out=sum(shard.tokens_out for shard in rows),
            turns=sum(shard.turns for shard in rows),
            returns=math.fsum(shard.return_sum for shard in rows),
            squares=math.fsum(shard.return_squares for shard in rows),
        )

    @property
    def n(self) -> int:
        """Episodes that count."""
        return self.done - self.errors

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
        return self.errors - self.unanswered

    @property
    def mean(self) -> float | None:
        """The mean return."""
        return self.returns / self.n if self.n else None

    @property
    def half_width(self) -> float | None:
        """Half of the mean return's 95 % interval (normal approximation); None below two episodes."""
        if self.n < 2:
            return None
        mean = self.returns / self.n
        variance = max(0.0, self.squares / self.n - mean * mean) * self.n / (self.n - 1)
        return Z95 * math.sqrt(variance / self.n)

    @property
    def low(self) -> float | None:
        """The lower end of the mean return's interval."""
        return None if self.mean is None or self.half_width is None else self.mean - self.half_width

    @property
    def high(self) -> float | None:
        """The upper end of the mean return's interval."""
        return None if self.mean is None or self.half_width is None else self.mean + self.half_width

    @property
    def solved(self) -> Interval | None:
        """The share of episodes that were solved."""
        return wilson(self.won, self.n) if self.n else None

    @property
    def mean_turns(self) -> float | None:
        """Turns per episode."""
        return self.turns / self.n if self.n else None
