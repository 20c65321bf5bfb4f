"""What a result depends on, so that it counts only for what was trained and measured."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from gem.studies.study import Run, Study
from gem.training.spec import MACHINE_SETTINGS, TrainingSpec

SETTINGS_OF_PLAY = ("wrappers", "input_mode", "max_tokens", "max_length", "temperature")


def digest(study: Study, run: Run) -> str:
    """What the training of a run depends on, as 16 hexadecimal digits: the settings that are not the defaults, and the
    number of held-out episodes."""
    if run.is_untrained:
        return _hash([run.variant, study.episodes])
    return _hash(
        [_settings_of_training(study.spec_of(run.environment, run.variant, run.seed, run.tuned)), study.episodes]
    )


def measured_digests(study: Study) -> dict[str, str]:
    """What a measurement in each of the study's other environments depends on, which is not how one trains there."""
    return {name: _hash([_settings_of_play(study.measured_spec(name)), study.episodes]) for name in study.measured_in}


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]


def _settings_of_training(spec: TrainingSpec) -> dict[str, Any]:
    return spec.model_dump(mode="json", exclude_defaults=True, exclude=set(MACHINE_SETTINGS) | {"recipe"})


def _settings_of_play(spec: TrainingSpec) -> dict[str, Any]:
    stage, settings = spec.measured_stage, spec.model_dump(mode="json", include=set(SETTINGS_OF_PLAY))
    return {"env_id": stage.env_id, "env_kwargs": stage.env_kwargs, **settings}
