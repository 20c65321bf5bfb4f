"""Files of other programs' evaluations, which are read in a confined process."""

from __future__ import annotations

from celery import current_app

from apps.reported import reading_files


@current_app.task(name=reading_files.TASK)
def read(evaluation_id: str) -> None:
    """Read the file of a reported evaluation."""
    reading_files.read(evaluation_id)
