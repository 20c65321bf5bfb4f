"""`gemweb sandbox`: how untrusted programs are confined on this machine, and what each way of it said."""

from __future__ import annotations

import argparse

from gem.cli.output.tables import table


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes: nothing."""


def run() -> int:
    """Try the levels; 1 if none works."""
    from gem.sandbox import host_view, levels  # noqa: PLC0415 (a quick start for the other commands)

    choice = levels.choice()
    print(choice.message)
    if choice.probes:
        print()
        rows = [[probe.level, "works" if probe.ok else "no", probe.message] for probe in choice.probes]
        table(["level", "", "what was found"], rows)
    folder = host_view.private_folder()
    if folder is not None and choice.level != "disabled":
        print(f"\nOnly its owner may enter {folder}, where the interpreter or its packages are. docs/sandbox.md says")
        print("what that means for the level landlock.")
    return 1 if choice.level == "disabled" else 0
