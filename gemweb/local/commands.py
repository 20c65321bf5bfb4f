"""Run management commands one after the other: `python -m gemweb.local.commands migrate demo`."""

import sys

import django
from django.core.management import call_command, get_commands

OPTIONS: dict[str, dict[str, object]] = {
    "migrate": {"verbosity": 0, "interactive": False},
    "collectstatic": {"verbosity": 0, "interactive": False},
}


def main(names: list[str]) -> None:
    """Run each of `names` in this process."""
    django.setup()
    known = get_commands()
    for name in names:
        if name in known:
            call_command(name, **OPTIONS.get(name, {}))


if __name__ == "__main__":
    main(sys.argv[1:])
