"""Checkpoints as files, and what becomes of them when they are uploaded."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

from django.core.files.uploadedfile import SimpleUploadedFile

from apps.accounts.models import User
from apps.agents import uploads
from apps.agents.models import Agent, Upload
from gem.training.built_in_policies import policy_location
from tests.archives import pack

ENV_ID = "game:GuessTheNumber-v0-easy"
BASE = Path(policy_location("nano-base"))


def archive(**card: Any) -> io.BytesIO:
    """A checkpoint as a download gives it."""
    file = io.BytesIO()
    pack(BASE, file, "checkpoint")
    if card:
        plain = io.BytesIO()
        with zipfile.ZipFile(file) as read, zipfile.ZipFile(plain, "w") as bundle:
            for name in read.namelist():
                content = read.read(name)
                if name.endswith("card.json"):
                    content = json.dumps({**json.loads(content), **card}).encode()
                bundle.writestr(name, content)
        return plain
    return file


def sent(file: io.BytesIO, name: str = "checkpoint.zip") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, file.getvalue())


def with_file(name: str, content: bytes = b"x") -> io.BytesIO:
    file = archive()
    with zipfile.ZipFile(file, "a") as bundle:
        bundle.writestr(f"checkpoint/{name}", content)
    return file


def kept(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "uploads").iterdir() if path.is_dir())


def uploaded(owner: User, name: str, file: io.BytesIO) -> Agent:
    """The agent that a file became."""
    accepted = uploads.accept(owner, name, file)
    assert uploads.try_next()
    assert list(Upload.objects.values_list("problem", flat=True)) == []
    return Agent.objects.get(slug=accepted.pk)


def refused(owner: User, file: io.BytesIO) -> str:
    """Why a file was refused."""
    accepted = uploads.accept(owner, "refused", file)
    assert uploads.try_next()
    return Upload.objects.get(pk=accepted.pk).problem
