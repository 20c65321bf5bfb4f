"""Print a new API token, for programs on your own machine."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from apps.accounts.forms import SignUpForm
from apps.accounts.models import User
from apps.api import operations
from apps.api.models import Scope

DEFAULT_NAME = "command line"


class Command(BaseCommand):
    """Run `python -m gemweb.local.manage api_token NAME`."""

    requires_system_checks: tuple[str, ...] = ()  # they import all pages and the API
    help = "Print a new API token of the account NAME. If there is no such account, it is created without a password."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the options."""
        parser.add_argument("name", help="the name of the account")
        parser.add_argument(
            "--scope", action="append", choices=Scope.values, metavar="SCOPE",
            help=f"what it may do: {', '.join(Scope.values)}; repeat it for several; all if it is left out",
        )  # fmt: skip
        parser.add_argument("--days", type=int, help="how long it is valid; until it is revoked if it is left out")
        parser.add_argument("--token-name", default=DEFAULT_NAME, help="what the account page calls it")

    def handle(self, *args: Any, **options: Any) -> str:
        """Make the token, and the account if there is none."""
        days = options["days"]
        if days is not None and not 1 <= days <= 36_500:
            raise CommandError("--days is at least 1 and at most 36500.")
        user = _account(options["name"])
        if user.closed is not None or not user.is_active:
            raise CommandError(f"The account {user} is closed or disabled, so no program can act for it.")
        lifetime = None if days is None else timedelta(days=days)
        try:
            _, secret = operations.make_token(
                user, options["token_name"][:80], options["scope"] or Scope.values, lifetime
            )
        except operations.TooManyTokens as refusal:
            raise CommandError(str(refusal)) from refusal
        return secret


def _account(name: str) -> User:
    """The account with this name, which is created if there is none.

    Raises:
        CommandError: if nobody may have this name.
    """
    try:
        return User.objects.get_by_natural_key(name)
    except User.DoesNotExist:
        pass
    try:
        SignUpForm.base_fields["username"].clean(name)
    except ValidationError as error:
        raise CommandError(
            f"There is no account {name}, and none can be created: {' '.join(error.messages)}"
        ) from error
    return User.objects.create_user(name)
