"""Agents that come with the site besides random, expert and the person: the policy before any training."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings
from django.db import transaction

import gem
from apps.agents.models import Agent, Weights
from apps.agents.operations import new_slug
from apps.visibility import Visibility
from gem.training.checkpoints.folder_check import WEIGHTS, check_folder
from gem.training.checkpoints.weights_file import parameters_in

NANO_BASE = "nano-base"
"""The policy that trainings begin with. It knows how actions are written, and not how to win."""
FOLDER = "built-in"
"""Its place below `settings.RUNS_DIR`, so that every worker finds it where it finds other weights."""


def is_here(slug: str) -> bool:
    """Whether there is a built-in agent with this slug, and what it needs to play."""
    return (slug != NANO_BASE or _has_torch()) and Agent.objects.filter(slug=slug, owner=None).exists()


def ensure() -> None:
    """Make the agents that are missing. Without the packages for training there is no policy to play."""
    if not _has_torch() or Agent.objects.filter(owner=None, weights__sha256=_digest()).exists():
        return
    place = Path(settings.RUNS_DIR) / FOLDER / f"{NANO_BASE}-{_digest()[:12]}"
    _copy(_source(), place)
    with transaction.atomic():
        slug = new_slug(NANO_BASE) if Agent.objects.filter(slug=NANO_BASE).exists() else NANO_BASE
        agent = Agent.objects.create(
            slug=slug,
            name=NANO_BASE,
            kind=Agent.Kind.CHECKPOINT,
            about="The policy that trainings start from: it has seen random play, and has not learned to win.",
            colour=8,
            visibility=Visibility.PUBLIC,
        )
        card = {**check_folder(place).model_dump(mode="json"), "parameters": parameters_in(place / WEIGHTS)}
        folder, size = str(place.relative_to(settings.RUNS_DIR)), (place / WEIGHTS).stat().st_size
        Weights.objects.create(agent=agent, folder=folder, size=size, sha256=_digest(), card=card)


def _copy(source: Path, place: Path) -> None:
    """Copy a folder, so that it is there whole or not at all."""
    if place.is_dir():
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=place.parent))
    shutil.copytree(source, draft / "policy")
    try:
        os.rename(draft / "policy", place)
    except OSError:
        if not place.is_dir():  # otherwise another process was faster
            raise
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _source() -> Path:
    return Path(gem.__path__[0]) / "training" / "models" / NANO_BASE


@cache
def _digest() -> str:
    return sha256((_source() / WEIGHTS).read_bytes()).hexdigest()


@cache
def _has_torch() -> bool:
    return find_spec("torch") is not None
