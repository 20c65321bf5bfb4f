"""Run management commands one after the other: `python -m gemweb.local.commands migrate demo`."""

import os
import sys
from io import StringIO

import django
from django.core.management import call_command, get_commands

from gemweb.local.config import StackConfig

INTRODUCTIONS = {"login_link": "Log in as the administrator, once, within 15 minutes: "}


def options(name: str) -> dict[str, object]:
    """The options with which `make up` runs a command."""
    if name in ("migrate", "collectstatic"):
        return {"verbosity": 0, "interactive": False}
    if name == "login_link":
        return {"base": StackConfig.from_env().url()}
    return {}


def main(names: list[str]) -> None:
    """Run each of `names` in this process."""
    os.environ.setdefault("TRANSACTION_SECONDS", "0")  # a migration may take hours
    django.setup()
    installed = get_commands()
    for name in names:
        if name not in installed:
            continue
        output = StringIO()
        call_command(name, stdout=output, **options(name))
        if output.getvalue().strip():
            sys.stdout.write(f"{INTRODUCTIONS.get(name, '')}{output.getvalue().strip()}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
