"""Promises of a package for GEM as a whole, tried once where all its environments are checked."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

from .promise import PATHS, BrokenPromise, NotApplicable, Promise
from .subjects import Subject, distribution_of, registry

MADE = re.compile(r"\bmake(?:_vec)?\(\s*\[?[\"']([^\"']+)[\"']")
COUNT_HANDLERS = (
    f"{PATHS}import logging; before = len(logging.getLogger().handlers); import gem; "
    "print(len(logging.getLogger().handlers) - before)"
)
IMPORT_SECONDS = 120


def ids_in_its_description_exist(subject: Subject) -> None:
    text = _description()
    if not text:
        raise NotApplicable("The package is not installed as a distribution and has no README.md beside it.")
    missing = sorted({env_id for env_id in MADE.findall(text) if env_id not in registry()})
    if missing:
        raise BrokenPromise(f"Its description makes {missing[0]}, which is not registered.")


def _description() -> str:
    """What the distribution of the package says of it or, where it is only a folder, the README.md beside it."""
    found = distribution_of("gem")
    if found is not None:
        return found.read_text("METADATA") or ""
    beside = Path(importlib.import_module("gem").__file__ or "").parents[1] / "README.md"
    return beside.read_text("utf-8") if beside.is_file() else ""


def importing_it_configures_no_logging(subject: Subject) -> None:
    command = [sys.executable, "-W", "ignore", "-c", COUNT_HANDLERS]
    done = subprocess.run(command, capture_output=True, text=True, timeout=IMPORT_SECONDS, check=False)
    added = done.stdout.strip().splitlines()[-1:]
    if added and added != ["0"]:
        raise BrokenPromise(f"import gem gives the root logger {added[0]} handler, as only a program should.")


PROMISES = (
    Promise(
        "The ids in its description exist.",
        ids_in_its_description_exist,
        "Run the examples of the README in a test.",
        ("package",),
    ),
    Promise(
        "Importing it configures no logging.",
        importing_it_configures_no_logging,
        "Leave logging to the program: no basicConfig in a library.",
        ("package",),
    ),
)
