"""The turns of a job with a turn budget, counted in its books for all its workers."""

from __future__ import annotations

from dataclasses import dataclass

from django.db import transaction
from django.db.models import F

from apps.jobs.books.rows import JobBooks
from gem.evaluation.turn_budget import granted, used_up


@dataclass(frozen=True, slots=True)
class JobTurns:
    """See `gem.evaluation.turn_budget.TurnStore`. What a lost worker had drawn stays counted."""

    job_id: str
    budget: int

    @transaction.atomic
    def draw(self, wanted: int) -> int:
        """See `TurnStore.draw`. The books say why nothing goes on once the budget is used up."""
        JobBooks.objects.bulk_create([JobBooks(job_id=self.job_id)], ignore_conflicts=True)
        books = JobBooks.objects.select_for_update().get(pk=self.job_id)
        number = granted(self.budget - books.turns, wanted)
        books.turns += number
        if not number:
            books.refusal = books.refusal or used_up(self.budget)
        books.save(update_fields=["turns", "refusal"])
        return number

    def give_back(self, number: int) -> None:
        """See `TurnStore.give_back`."""
        JobBooks.objects.filter(pk=self.job_id).update(turns=F("turns") - number)
