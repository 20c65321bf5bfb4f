"""The policies that come with the engine. No package for trainings is needed to name or to find one."""

from __future__ import annotations

from pathlib import Path

NANO_BASE = "nano-base"
BUILT_IN_POLICIES = (NANO_BASE, "nano-wide", "nano-large", "nano-tools", "nano-reader")
"""The names of the policies that come with the engine: the one that trainings begin with by default, a larger one that
has also seen how answers to some 50 datasets and actions in more games are written, the largest, which has also seen
tools and programs, a small one that has seen nothing but tools in use, and one that copies words."""


def policy_location(model: str) -> str:
    """Where the policy that a specification names is: the folder of one that comes with the engine, or else the name
    itself, which is a folder or the id of a model on a hub."""
    return str(Path(__file__).parent / "models" / model) if model in BUILT_IN_POLICIES else model
