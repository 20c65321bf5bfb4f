"""The plan of a study: environments, variants to compare in each, seeds, and how much each variant may be tuned."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator

from gem.errors import InvalidArgument
from gem.training import recipes
from gem.training.spec import MACHINE_SETTINGS, TrainingSpec, read_spec
from gem.validation.messages import error_sentence
from gem.validation.near import did_you_mean

FOLDER = Path(__file__).parent / "plans"
TUNING_SEED = 1_000_003
"""The seed of trainings that only choose a value; no compared training has it."""
QUIET = {"keep_checkpoints": 1, "sample_episodes": 0, "exam_episodes": 0, "checkpoint_seconds": 60}
"""Settings of every run: a study keeps its last checkpoint and no episodes."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$")]
"""A name that is also the name of a file."""


class Variant(BaseModel):
    """One of the things to compare: changes of the specification, under a name for people."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(max_length=60)
    settings: dict[str, Any] = {}


class Study(BaseModel):
    """A question about training, and the trainings that answer it.

    Every variant is trained in every environment with the seeds from 0, from the same first policy and with the same
    number of episodes. Each variant may be tuned as much as every other: it is trained once with each value of
    `tuning`, with a seed of its own, and the compared trainings have the best value. Success is then measured on
    held-out seeds, which no training meets.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    title: str = Field(max_length=100)
    question: str = Field(max_length=400)
    seeds: int = Field(ge=2, le=100, description="Trainings of each variant in each environment.")
    episodes: int = Field(default=256, ge=32, le=100_000, description="Held-out episodes of an evaluation.")
    environments: dict[Name, dict[str, Any]] = Field(
        min_length=1, description="A recipe for each (the entry recipe), and the settings to change in it."
    )
    variants: dict[Name, Variant] = Field(min_length=1)
    tuning: dict[str, list[Any]] = Field(
        default={}, max_length=1, description="A setting to tune for each variant, with the values to try."
    )
    measured_in: dict[Name, dict[str, Any]] = Field(
        default={}, description="Environments in which each trained policy is measured as well, without training."
    )
    optimum_turns: dict[Name, float] = Field(
        default={}, description="The mean number of turns of the best strategy, where it is known."
    )
    notes: list[str] = Field(default=[], description="What a reader should know, a sentence each.")

    @model_validator(mode="after")
    def _check_specifications(self) -> Self:
        for values in self.tuning.values():
            if len(values) < 2:
                raise ValueError("A setting is tuned over two values or more.")
        for environment in self.environments:
            for variant in self.variants:
                self.spec_of(environment, variant, 0)
        return self

    def spec_of(self, environment: str, variant: str, seed: int, tuned: Any = None) -> TrainingSpec:
        """The specification of one training.

        Args:
            tuned: the value of the setting that is tuned; None where nothing is, or for the value of the recipe.
        """
        data = _with_recipe(self.environments[environment])
        data |= self.variants[variant].settings | QUIET | {"seed": seed}
        if tuned is not None:
            data |= dict.fromkeys(self.tuning, tuned)
        return read_spec(data)

    def measured_spec(self, name: str) -> TrainingSpec:
        """How a policy plays in one of the environments in which it is measured without training."""
        return read_spec(_with_recipe(self.measured_in[name]))


def _with_recipe(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, on top of those of the recipe that they name."""
    changes = dict(settings)
    return recipes.data(str(changes.pop("recipe"))) | changes if "recipe" in changes else changes


class Run(NamedTuple):
    """One training of a study."""

    environment: str
    variant: str
    seed: int
    tuned: Any
    """The value of the tuned setting; None if nothing is tuned."""

    @property
    def is_trial(self) -> bool:
        """Whether it only serves to choose a value."""
        return self.seed == TUNING_SEED

    @property
    def file(self) -> str:
        """The name of the file of its result."""
        kind = f"trial-{self.tuned}" if self.is_trial else f"{self.seed}"
        return f"{self.environment}/{self.variant}.{kind}.json"


def digest(spec: TrainingSpec, episodes: int) -> str:
    """What a result depends on, as 16 hexadecimal digits: the settings that are not the defaults, and the episodes."""
    settings = spec.model_dump(mode="json", exclude_defaults=True, exclude=set(MACHINE_SETTINGS) | {"recipe"})
    return hashlib.sha256(json.dumps([settings, episodes], sort_keys=True).encode()).hexdigest()[:16]


def trials(study: Study) -> Iterator[Run]:
    """The trainings that choose a value for each variant in each environment."""
    for values in study.tuning.values():
        for environment in study.environments:
            for variant in study.variants:
                yield from (Run(environment, variant, TUNING_SEED, value) for value in values)


def compared(study: Study, chosen: Mapping[tuple[str, str], Any]) -> Iterator[Run]:
    """The trainings that are compared, one seed after the other, so that a study that is stopped early is balanced.

    Args:
        chosen: the value of the tuned setting by environment and variant; where it is missing, so are the runs.
    """
    for seed in range(study.seeds):
        for environment in study.environments:
            for variant in study.variants:
                if not study.tuning:
                    yield Run(environment, variant, seed, None)
                elif (environment, variant) in chosen:
                    yield Run(environment, variant, seed, chosen[environment, variant])


def read(path: Path) -> Study:
    """The study in a file; its name is that of the file.

    Raises:
        InvalidArgument: if the file cannot be read or is no study, with a sentence for each field.
    """
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path} cannot be read as JSON: {error}.") from error
    if not isinstance(data, dict):
        raise InvalidArgument(f"{path} is no study: it holds no JSON object.")
    try:
        return Study.model_validate({"name": re.sub(r"[^a-z0-9._-]", "-", path.stem.lower()), **data})
    except ValidationError as error:
        raise InvalidArgument(f"{path}: {error_sentence(error, Study)}") from error


@cache
def all_studies() -> tuple[Study, ...]:
    """The studies that come with the engine, in the order of their names."""
    return tuple(read(path) for path in sorted(FOLDER.glob("*.json")))


def find(name: str) -> Study:
    """A study that comes with the engine, by its name, or one of your own, by the path of its file.

    Raises:
        InvalidArgument: if there is none; the nearest is named.
    """
    if name.endswith(".json"):
        return read(Path(name))
    by_name = {study.name: study for study in all_studies()}
    if name not in by_name:
        hint = did_you_mean(name, by_name, "gemweb study list shows them; a study of your own is a file NAME.json.")
        raise InvalidArgument(f"There is no study {name!r}. {hint}")
    return by_name[name]
