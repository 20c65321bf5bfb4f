"""How many studies one person may have, how large one may be, and how much its policies take."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

from apps.accounts.models import User
from apps.accounts.quotas import Quota
from apps.agents.uploads import bytes_in
from apps.studies.models import Study

STUDIES = "studies"
MOST_RUNS = 1_000
"""Runs of one study."""
MOST_COMPARED = 8
"""Variants of one study: as many as there are colours. Every pair of them is compared while a page waits."""
MOST_POLICIES = 100
"""Compared runs of a study that keeps its policies."""
MOST_FAILURES = 3
"""After so many failed runs a study has failed: what is wrong with one is mostly wrong with the others."""


def folder_of(study_id: str) -> Path:
    """The folder of a study: of its runs under way, and of the policies that it keeps."""
    return Path(settings.RUNS_DIR) / f"study-{study_id}"


def bytes_of_studies(user: User) -> int:
    """The size of the files of a person's studies."""
    return sum(bytes_in(folder_of(pk)) for pk in Study.objects.filter(owner=user).values_list("pk", flat=True))


def _open_studies(user: User) -> int:
    return Study.objects.open().filter(owner=user).count()


QUOTA = Quota(
    STUDIES,
    "Studies that wait or run",
    "STUDIES_PER_USER",
    _open_studies,
    at_limit="You cannot start another one until one ends, or you pause or cancel one.",
    refusal="You have {used} waiting or running; one person may have at most {limit} studies. "
    "Wait until one ends, pause one, or cancel one.",
    unit="at a time",
)
