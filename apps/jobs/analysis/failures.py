"""Why episodes were not solved: equal failures on one line, with examples that open."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from django.contrib.postgres.aggregates import ArrayAgg
from django.db.models import Case, Count, Q, Value, When
from django.db.models.functions import Left

from apps.episodes.models import Episode
from apps.jobs.models import Job
from gem.evaluation.endings import KINDS, normalize

EXAMPLES, ENVIRONMENTS = 3, 3
MAX_CLUSTERS = 40
"""Clusters that are shown; the others are counted."""
_RAW_CHARS = 400
"""Characters that are read of the error of an episode from before endings were stored."""
_KIND = Case(
    When(~Q(ending_kind=""), then="ending_kind"),
    When(status=Episode.Status.FAILED, failed_by=Episode.FailedBy.AGENT, then=Value("agent")),
    When(status=Episode.Status.FAILED, then=Value("environment")),
    When(truncated=True, then=Value("turns")),
    default=Value("rules"),
)
_TEXT = Case(
    When(~Q(hidden_reason=""), then=Value("")),
    When(~Q(ending_kind=""), then="ending_text"),
    default=Left("failure", _RAW_CHARS),
)


@dataclass(frozen=True, slots=True)
class Example:
    """An episode that one can open."""

    episode_id: str
    env_id: str
    seed: int


@dataclass(slots=True)
class Cluster:
    """Episodes that failed alike."""

    kind: str
    text: str
    count: int = 0
    env_ids: Counter[str] = field(default_factory=Counter)
    slots: list[int] = field(default_factory=list)
    examples: list[Example] = field(default_factory=list)

    @property
    def words(self) -> str:
        """What its kind is called."""
        return KINDS[self.kind]

    @property
    def is_error(self) -> bool:
        """Whether its episodes do not count."""
        return self.kind in ("environment", "agent", "other")

    @property
    def most_common(self) -> list[tuple[str, int]]:
        """The environments that have most of its episodes, with their numbers."""
        return self.env_ids.most_common(ENVIRONMENTS)

    @property
    def more_environments(self) -> int:
        """The number of its other environments."""
        return max(0, len(self.env_ids) - ENVIRONMENTS)


@dataclass(frozen=True, slots=True)
class Failures:
    """The clusters of a job, errors first, then by how many episodes they have."""

    clusters: list[Cluster]
    more: int
    """Further clusters that are not shown."""


def failures(job: Job) -> Failures:
    """The episodes of a job that were not solved, in clusters; of a closed job by their kinds alone."""
    found: dict[tuple[str, str], Cluster] = {}
    ended = Q(status=Episode.Status.ENDED) & (Q(success=False) | Q(success=None))
    rows = (
        Episode.objects.filter(Q(status=Episode.Status.FAILED) | ended, batch=job.batch_id, slot__isnull=False)
        .annotate(kind=_KIND, text=Value("") if job.is_closed else _TEXT)
        .order_by()
        .values("kind", "text", "env_id")
        .annotate(n=Count("pk"), slots=ArrayAgg("slot", filter=Q(hidden_reason="")))
        .values_list("kind", "text", "env_id", "n", "slots")
    )
    for kind, text, env_id, n, slots in rows:
        known = kind if kind in KINDS else "rules"
        same = normalize(text)  # texts of old episodes are not normalized yet; others stay as they are
        cluster = found.setdefault((known, same), Cluster(known, same))
        cluster.count += n
        cluster.env_ids[env_id] += n
        cluster.slots = sorted([*cluster.slots, *sorted(slots or ())[:EXAMPLES]])
    kinds = list(KINDS)
    ordered = sorted(found.values(), key=lambda one: (not one.is_error, -one.count, kinds.index(one.kind), one.text))
    shown = ordered[:MAX_CLUSTERS]
    if not job.is_closed:
        _open_examples(job, shown)
    return Failures(shown, len(ordered) - len(shown))


def _open_examples(job: Job, shown: list[Cluster]) -> None:
    chosen = {slot for cluster in shown for slot in cluster.slots[:EXAMPLES]}
    rows = Episode.objects.filter(batch=job.batch_id, slot__in=chosen, hidden_reason="")
    by_slot = {
        slot: Example(key, env_id, seed) for slot, key, env_id, seed in rows.values_list("slot", "pk", "env_id", "seed")
    }
    for cluster in shown:
        cluster.examples = [by_slot[slot] for slot in cluster.slots[:EXAMPLES] if slot in by_slot]
        cluster.slots = []
