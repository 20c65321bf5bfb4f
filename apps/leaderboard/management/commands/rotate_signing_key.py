"""`manage.py rotate_signing_key`: sign certificates with a new key."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from apps.leaderboard.proofs import checks, keys


class Command(BaseCommand):
    """Makes a new key. The earlier ones are still published, so their certificates can still be verified."""

    help = "Sign certificates with a new key from now on."

    def add_arguments(self, parser: CommandParser) -> None:
        """`--withdraw`: for a key that somebody else may have."""
        parser.add_argument(
            "--withdraw",
            action="store_true",
            help="publish the present key no longer: none of its certificates is believed then",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Make the key, and say its id."""
        row = keys.rotate(withdraw=options["withdraw"])
        checks.ask_again()  # rows that could not be certified without it
        self.stdout.write(f"Certificates are signed with the key {row.key_id} from now on.")
