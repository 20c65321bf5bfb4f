"""`manage.py reexecute_rows`: execute rows again that could not be verified."""

from typing import Any

from django.core.management.base import BaseCommand

from apps.leaderboard.proofs import checks


class Command(BaseCommand):
    """Has workers execute all rows again that have no verdict, for instance because workers were misconfigured."""

    help = "Execute the rows of the leaderboard again that could not be verified."

    def handle(self, *args: Any, **options: Any) -> None:
        """Wake the workers."""
        self.stdout.write(f"{checks.ask_again()} rows are executed again.")
