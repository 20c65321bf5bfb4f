"""The page of one run."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from apps.accounts.models import Viewer
from apps.agents.models import Agent
from apps.studies.models import Study, StudyRun
from apps.studies.pages.progress import cell_of, name_of
from apps.trainings.forms import initial
from gem.errors import InvalidArgument
from gem.evaluation.scores import wilson
from gem.studies.study import QUIET
from gem.training.spec import TrainingSpec


def one_run(study: Study, number: int, viewer: Viewer) -> dict[str, Any] | None:
    """The context of the page of a run; None if there is none of this number."""
    row = StudyRun.objects.filter(study=study, number=number).first() if number < 2**31 else None
    if row is None:
        return None
    plan, result = study.plan, row.result
    spec = None
    if not row.run.is_untrained:
        with suppress(InvalidArgument):  # with this tuned value, or since an upgrade of gemweb
            spec = plan.spec_of(row.environment, row.variant, row.seed, row.tuned)
    is_measured = result is not None and not row.is_trial and not row.run.is_untrained
    elsewhere = []
    if result is not None:
        elsewhere = [(name, wilson(solved, result.episodes)) for name, solved in result.elsewhere.items()]
    agent = Agent.objects.visible_to(viewer).filter(study_run=row).select_related("weights").first()
    return {
        "row": row,
        "cell": cell_of(row, plan),
        "name": name_of(row, plan),
        "result": result,
        "solved": wilson(result.solved, result.episodes) if result is not None and is_measured else None,
        "elsewhere": elsewhere,
        "agent": agent,
        "spec": spec,
        "spec_text": "" if spec is None else json.dumps(spec.model_dump(mode="json", exclude_defaults=True), indent=2),
        "train_address": "" if spec is None else _train_address(spec),
        "curve": list(enumerate(row.curve or (result.curve if result else ()), 1)),
    }


def _train_address(spec: TrainingSpec) -> str:
    """The form of trainings with the settings of a run, but with the checkpoints and episodes that trainings keep."""
    data = {name: value for name, value in spec.model_dump(mode="json").items() if name not in (*QUIET, "recipe")}
    entries = {name: value for name, value in initial(data).items() if value not in ("", False, None)}
    return f"{reverse('trainings:train')}?{urlencode({**entries, 'recipe': ''})}"
