"""`gemweb sandbox`: how untrusted programs are confined on this machine, and what each way of it said."""

from __future__ import annotations

import argparse

from gem.cli.words import table


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it takes: nothing."""


def run() -> int:
    """Try the levels; 1 if none works."""
    from gem.sandbox import layout, levels  # noqa: PLC0415 (a quick start for the other commands)

    chosen = levels.choice()
    print(chosen.said)
    if chosen.probes:
        print()
        rows = [[tried.level, "works" if tried.ok else "no", tried.said] for tried in chosen.probes]
        table(["level", "", "what was found"], rows)
    folder = layout.private_directory()
    if folder is not None and chosen.level != "disabled":
        print(f"\nOnly its owner may enter {folder}, where the interpreter or its packages are. docs/sandbox.md says")
        print("what that means for the level landlock.")
    return 1 if chosen.level == "disabled" else 0
