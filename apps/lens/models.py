"""True advantages of the turns of an episode, which a worker measures by forking it, turn by turn."""

from __future__ import annotations

from typing import Any

from django.db import models

from apps.admission.models import Admitted
from apps.agents.models import Agent
from apps.episodes.models import ID_LENGTH, Episode, make_id
from apps.leases import LeasedQuerySet
from gem.analysis.true_advantage import Continuations, Outcome

Outcomes = list[list[Any]]
"""The count of each outcome and its rewards, as `gem.analysis.true_advantage.Outcome` in plain JSON."""


class TruthQuerySet(LeasedQuerySet["Truth"]):
    """Reads of measurements."""

    def waiting(self) -> TruthQuerySet:
        """Those that wait for a worker or are under way."""
        return self.filter(state=Truth.State.WAITING)


class Truth(Admitted):
    """A measurement: one agent continues an episode from some of its turns.

    A worker owns it for some seconds and stores the turns that it has finished; the next one goes on after them.
    Whoever may see the episode may see it.
    """

    class State(models.TextChoices):
        WAITING = "waiting", "being computed"
        DONE = "done", "computed"
        STOPPED = "stopped", "stopped"
        FAILED = "failed", "ended early"

    id = models.CharField(primary_key=True, max_length=ID_LENGTH, default=make_id, editable=False)
    episode = models.ForeignKey(Episode, models.CASCADE, related_name="truths")
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="+")
    """Who continues."""
    count = models.PositiveSmallIntegerField()
    """Continuations of each kind and turn: so many after the action that was taken, and so many choosing anew."""
    first = models.PositiveIntegerField()
    last = models.PositiveIntegerField()
    """The turns that are measured; the first turn of an episode is 1."""
    state = models.CharField(max_length=8, choices=State.choices, default=State.WAITING)
    sentence = models.TextField(blank=True, default="")
    """Why it ended early."""
    seconds = models.FloatField(default=0.0)
    """For which workers were busy with it."""
    rewards = models.PositiveIntegerField(default=0)
    """The number of rewards that its outcomes hold."""
    created = models.DateTimeField(auto_now_add=True)
    ended = models.DateTimeField(null=True, blank=True)

    objects = TruthQuerySet.as_manager()

    class Meta:
        ordering = ["created", "id"]
        indexes = [models.Index(fields=["created"], condition=models.Q(state="waiting"), name="truths_to_compute")]
        constraints = [
            models.UniqueConstraint(
                fields=["episode", "agent", "count", "first", "last"],
                condition=models.Q(state__in=("waiting", "done")),
                name="one_truth_of_a_kind",
            )
        ]

    def __str__(self) -> str:
        return f"truth of {self.episode_id} by {self.agent}: {self.state}"

    @property
    def is_open(self) -> bool:
        """Whether it waits for a worker or is under way."""
        return self.state == self.State.WAITING

    @property
    def total(self) -> int:
        """The number of turns to measure."""
        return self.last - self.first + 1


class TurnTruth(models.Model):
    """What came of the continuations from one turn."""

    pk = models.CompositePrimaryKey("truth_id", "number")
    truth = models.ForeignKey(Truth, models.CASCADE, related_name="turns", db_index=False)
    number = models.PositiveIntegerField()
    taken: models.Field[Any, Outcomes] = models.JSONField()
    anew: models.Field[Any, Outcomes] = models.JSONField()
    failed = models.PositiveIntegerField(default=0)
    """Continuations that an error ended; they do not count."""
    created = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]

    def __str__(self) -> str:
        return f"turn {self.number} of {self.truth_id}"

    @property
    def continuations(self) -> Continuations:
        """The outcomes as the engine computes with them."""
        return Continuations(_outcomes(self.taken), _outcomes(self.anew), self.failed)


def _outcomes(rows: Outcomes) -> tuple[Outcome, ...]:
    return tuple(Outcome(n, tuple((number, reward) for number, reward in rewards)) for n, rewards in rows)


def as_rows(outcomes: tuple[Outcome, ...]) -> Outcomes:
    """Outcomes as plain JSON."""
    return [[outcome.n, [list(reward) for reward in outcome.rewards]] for outcome in outcomes]
