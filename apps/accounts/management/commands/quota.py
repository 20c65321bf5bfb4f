"""Show the quotas of a person, or give them other limits."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from apps.accounts import quotas
from apps.accounts.models import User

NO_LIMIT, EVERYBODYS = "none", "default"


class Command(BaseCommand):
    """Run `python manage.py quota NAME --cpu-seconds 7200`."""

    help = "Show the quotas of a person, or give them other limits: a number, `none`, or `default` for everybody's."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add an option for each quota."""
        parser.add_argument("name", help="the name of the account")
        for quota in quotas.table():
            parser.add_argument(f"--{quota.name}", metavar="LIMIT", help=quota.title)

    def handle(self, *args: Any, **options: Any) -> None:
        """Change what the options name, and print all quotas."""
        try:
            user = User.objects.get_by_natural_key(options["name"])
        except User.DoesNotExist as error:
            raise CommandError(f"There is no account {options['name']}.") from error
        wanted = {quota.name: options[quota.name.replace("-", "_")] for quota in quotas.table()}
        limits = {name: _limit(name, text) for name, text in wanted.items() if text is not None}
        for name, limit in limits.items():
            if limit == EVERYBODYS:
                quotas.unset_limit(user, name)
            else:
                quotas.set_limit(user, name, None if limit == NO_LIMIT else int(limit))
        for use in quotas.uses(user):
            limit = "no limit" if use.limit is None else f"of {use.limit:,}"
            self.stdout.write(f"{use.quota.name:<22} {use.used:>12,.0f} {limit} {use.quota.unit}".rstrip())


def _limit(name: str, text: str) -> str:
    if text in (NO_LIMIT, EVERYBODYS) or (text.isascii() and text.isdecimal() and len(text) < 16):
        return text
    raise CommandError(f"--{name} is {text!r}: write a whole number, none or default.")
