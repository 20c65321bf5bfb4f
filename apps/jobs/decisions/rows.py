"""The table of the comparisons that evaluations stop by."""

from __future__ import annotations

from django.db import models

from gem.evaluation.comparison.sequential import Look


class Decision(models.Model):
    """The comparison of an evaluation with another job, which stops it as soon as it is decided.

    Which job that is stands here and not in `Job.spec`, because not everybody who may see the one may know of the
    other. The numbers are those of the last look; those of the look that decided stay.
    """

    job = models.OneToOneField("jobs.Job", models.CASCADE, primary_key=True, related_name="decision")
    against = models.ForeignKey("jobs.Job", models.SET_NULL, null=True, related_name="decisions_of_others")
    """The other job; None if it was deleted. Nothing is decided any more then."""
    planned = models.PositiveIntegerField()
    """The number of seeds of the job."""
    seeds = models.PositiveIntegerField(default=0, db_default=0)
    """The seeds behind the last look."""
    evidence = models.FloatField(default=1.0, db_default=1.0)
    """The capital against equal agents; it decides at 40."""
    low = models.FloatField(default=-1.0, db_default=-1.0)
    """The lower end of the 95 % interval of the difference of shares solved; the other job's share is subtracted."""
    high = models.FloatField(default=1.0, db_default=1.0)
    is_decided = models.BooleanField(default=False, db_default=False)
    looked_at = models.PositiveIntegerField(default=0, db_default=0)
    """How many episodes both jobs had when the last look was taken."""

    def __str__(self) -> str:
        return f"decision of job {self.job_id} against {self.against_id}"

    @property
    def look(self) -> Look:
        """The last look."""
        return Look(self.seeds, self.evidence, self.is_decided, self.low, self.high)
