"""Print a link with which accounts can be created where sign-ups are not open."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from apps.accounts.invitations import make_invitation


class Command(BaseCommand):
    """Run `python manage.py invitation --days 7`."""

    help = "Print a link with which anybody who has it can create an account until it expires (for OPEN_SIGNUPS=0)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("--days", type=int, default=7, help="how long the link works, from 1 to 366 days (7)")
        parser.add_argument("--base", default=settings.SITE_URL, help="the address of the site, by default SITE_URL")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link."""
        if not 1 <= options["days"] <= 366:
            raise CommandError("--days has to be from 1 to 366.")
        self.stdout.write(options["base"].rstrip("/") + make_invitation(options["days"]))
        if settings.OPEN_SIGNUPS:
            self.stderr.write("OPEN_SIGNUPS=0 is not set here. Where the site runs without it, nobody needs a link.")
