"""`gemweb sandbox`: how untrusted programs are confined on this machine, and the result of trying each level."""

from __future__ import annotations

import argparse

from gem.cli.output.tables import table


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments: the command takes none."""


def run() -> int:
    """Try the levels of confinement; the exit code is 1 if none works."""
    from gem.sandbox import host_view, levels  # noqa: PLC0415 (the other commands start faster without it)

    choice = levels.choice()
    print(choice.message)
    if choice.probes:
        print()
        rows = [[probe.level, "works" if probe.ok else "no", probe.message] for probe in choice.probes]
        table(["level", "", "result"], rows)
    folder = host_view.private_folder()
    if folder is not None and choice.level != "disabled":
        print(
            f"\nOnly its owner may enter {folder}, where the interpreter or its packages are. docs/sandbox.md explains"
        )
        print("what this means for the level landlock.")
    return 1 if choice.level == "disabled" else 0
