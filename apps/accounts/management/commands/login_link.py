"""Print a link that logs in as the administrator, once, within 15 minutes."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.urls import reverse

from apps.accounts.operations import make_login_link


class Command(BaseCommand):
    """Run `python -m gemweb.local.manage login_link`, with the PORT and STATE_DIR of the stack."""

    help = "Print a link that logs in as the administrator, once, within 15 minutes (LOCAL_MODE only)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        own = f"http://127.0.0.1:{settings.PORT}"
        parser.add_argument("--base", default=own, help=f"the address of the site; {own} if it is not given")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print the link."""
        if not settings.LOCAL_MODE:
            raise CommandError("Login links work on a local stack only. Set LOCAL_MODE=1.")
        self.stdout.write(options["base"].rstrip("/") + reverse("accounts:login_link", args=[make_login_link()]))
