"""The plan of a study: environments, variants to compare in each, seeds, and how much each variant may be tuned."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from gem.errors import InvalidArgument
from gem.training import recipes
from gem.training.spec import TrainingSpec, read_spec, read_stored
from gem.validation.messages import error_sentence, refused
from gem.validation.near import did_you_mean
from gem.validation.stored import is_stored
from gem.validation.whole import Whole

FOLDER = Path(__file__).parent / "plans"
TUNING_SEED = 1_000_003
"""The seed of trainings that only choose a value; no compared training has it."""
UNTRAINED = "untrained"
"""What stands in the place of an environment where a policy is measured before any training."""
MOST_ENVIRONMENTS, MOST_VARIANTS, MOST_PLACES = 60, 20, 200
"""Environments and variants of a study, and pairs of them; each pair is checked by making its environment."""
MOST_STAGES = 100
"""Stages of curricula over all pairs, and all tuned values; the environment of each is made as well."""
MOST_VALUES = 12
"""Values that a setting is tuned over."""
QUIET = {"keep_checkpoints": 1, "sample_episodes": 0, "exam_episodes": 0, "checkpoint_seconds": 60}
"""Settings of every run: a study keeps its last checkpoint and no episodes."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,39}$")]
"""A name that is also the name of a file."""


class Variant(BaseModel):
    """One of the things to compare: changes of the specification, under a name for people."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    title: str = Field(min_length=1, max_length=60)
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
    title: str = Field(min_length=1, max_length=100)
    question: str = Field(min_length=1, max_length=400)
    seeds: Whole = Field(ge=2, le=100, description="Trainings of each variant in each environment.")
    episodes: Whole = Field(default=256, ge=32, le=100_000, description="Held-out episodes of an evaluation.")
    environments: dict[Name, dict[str, Any]] = Field(
        min_length=1,
        max_length=MOST_ENVIRONMENTS,
        description="A recipe for each (the entry recipe), and the settings to change in it.",
    )
    variants: dict[Name, Variant] = Field(min_length=1, max_length=MOST_VARIANTS)
    tuning: dict[str, Annotated[list[Any], Field(max_length=MOST_VALUES)]] = Field(
        default={}, max_length=1, description="A setting to tune for each variant, with the values to try."
    )
    measured_in: dict[Name, dict[str, Any]] = Field(
        default={},
        max_length=MOST_ENVIRONMENTS,
        description="Environments in which each trained policy is measured as well, without training.",
    )
    axis: str = Field(default="", max_length=40, description="A setting that has another number in each variant.")
    optimum_turns: dict[Name, float] = Field(
        default={}, description="The mean number of turns of the best strategy, where it is known."
    )
    notes: list[Annotated[str, Field(max_length=400)]] = Field(
        default=[], max_length=12, description="What a reader should know, a sentence each."
    )

    _is_stored: bool = PrivateAttr(default=False)
    """Whether the plan was read from where it was stored, so that its environments may be gone."""

    @model_validator(mode="before")
    @classmethod
    def _expand(cls, data: Any) -> Any:
        return with_every_recipe(data) if isinstance(data, Mapping) and "every_recipe" in data else data

    @model_validator(mode="after")
    def _check_parts(self) -> Self:
        """Check what needs no environment, so that a plan that is too large is refused before any is made."""
        if any(len(values) < 2 for values in self.tuning.values()):
            raise refused("A setting is tuned over two values or more.")
        if any(not isinstance(value, int | float | str) for values in self.tuning.values() for value in values):
            raise refused("A setting is tuned over numbers, words, true and false; null, lists and objects are none.")
        if self.places > MOST_PLACES:
            raise refused(
                f"{len(self.environments)} environments with {len(self.variants)} variants each are more than "
                f"{MOST_PLACES} pairs: leave some out."
            )
        titles = [variant.title for variant in self.variants.values()]
        if same := next((title for title in titles if titles.count(title) > 1), None):
            raise refused(f"Two variants have the title {same!r}, by which tables and figures tell them apart.")
        if UNTRAINED in self.environments:
            raise refused(f"Give the environment {UNTRAINED} another name: results before any training have this one.")
        if self.axis and not all(_is_number(variant.settings.get(self.axis)) for variant in self.variants.values()):
            raise refused(f"The axis is {self.axis}, so each variant has to set {self.axis} to a number.")
        if unknown := [name for name in self.optimum_turns if name not in self.environments]:
            raise refused(f"optimum_turns names {unknown[0]}, which is none of the environments.")
        return self

    @model_validator(mode="after")
    def _check_specifications(self, info: ValidationInfo) -> Self:
        """Check every pair, and the tuned values in the first environment alone: a form checks while somebody types."""
        if is_stored(info):
            self._is_stored = True
            return self
        first = next(iter(self.environments))
        values = itertools.chain.from_iterable(self.tuning.values())
        try:
            self._check_stages()
            for environment, variant in itertools.product(self.environments, self.variants):
                self.spec_of(environment, variant, 0)
            for value, variant in itertools.product(values, self.variants):
                self.spec_of(first, variant, TUNING_SEED, value)
            for name in self.measured_in:
                self.measured_spec(name)
        except InvalidArgument as error:
            raise refused(str(error)) from error
        return self

    def _check_stages(self) -> None:
        """Check the number of stages, before any environment is made.

        Raises:
            InvalidArgument: if there are too many, or if a recipe is unknown.
        """
        pairs = itertools.product(self.environments.values(), self.variants.values())
        settings = [_with_recipe(own) | variant.settings for own, variant in pairs]
        settings += [_with_recipe(own) for own in self.measured_in.values()]
        curricula = [one.get("curriculum", ()) for one in settings]
        stages = sum(len(curriculum) for curriculum in curricula if isinstance(curriculum, Sequence))
        if stages > MOST_STAGES:
            raise InvalidArgument(
                f"The curricula of all pairs of an environment and a variant have {stages:,} stages together, more "
                f"than {MOST_STAGES}: leave some out."
            )

    def spec_of(self, environment: str, variant: str, seed: int, tuned: Any = None) -> TrainingSpec:
        """The specification of one training.

        Args:
            tuned: the value of the setting that is tuned; None where nothing is, or for the value of the recipe.

        Raises:
            InvalidArgument: if it is invalid, which that of a plan can be with a tuned value, and after an upgrade.
        """
        data = _with_recipe(self.environments[environment])
        data |= self.variants[variant].settings | QUIET | {"seed": seed}
        if tuned is not None:
            data |= dict.fromkeys(self.tuning, tuned)
        return self._spec(data, f"environments.{environment} with variants.{variant}")

    def measured_spec(self, name: str) -> TrainingSpec:
        """How a policy plays in one of the environments in which it is measured without training."""
        return self._spec({**_with_recipe(self.measured_in[name]), "seed": 0}, f"measured_in.{name}")

    def _spec(self, data: Mapping[str, Any], place: str) -> TrainingSpec:
        """A specification of the plan. Raises InvalidArgument if it is invalid; the message names the place."""
        try:
            return read_stored(data) if self._is_stored else read_spec(data)
        except InvalidArgument as error:
            raise InvalidArgument(f"{place}: {error}") from error

    def pinned(self) -> Study:
        """The same plan with the settings of its recipes written out: it stays what it is when a recipe changes."""
        environments = {name: _settings_of_recipe(own) for name, own in self.environments.items()}
        measured_in = {name: _settings_of_recipe(own) for name, own in self.measured_in.items()}
        return self.model_copy(update={"environments": environments, "measured_in": measured_in})

    @property
    def env_ids(self) -> list[str]:
        """The environments in which it trains and measures, each once."""
        pairs = itertools.product(self.environments, self.variants)
        specs = [*itertools.starmap(self._first_spec, pairs), *map(self.measured_spec, self.measured_in)]
        return list(dict.fromkeys(env_id for spec in specs for env_id in spec.env_ids))

    def _first_spec(self, environment: str, variant: str) -> TrainingSpec:
        return self.spec_of(environment, variant, 0)

    @property
    def places(self) -> int:
        """Number of pairs of an environment and a variant."""
        return len(self.environments) * len(self.variants)

    @property
    def total(self) -> int:
        """How many runs it has, with trials and with those that need no training."""
        values = sum(map(len, self.tuning.values()))
        return self.places * (self.seeds + values) + len(self.first_policies)

    @property
    def first_policies(self) -> list[str]:
        """The policies that trainings begin with, if what they solve untrained is measured elsewhere."""
        if not self.measured_in:
            return []
        specs = (self.spec_of(name, variant, 0) for name in self.environments for variant in self.variants)
        return list(dict.fromkeys(spec.model for spec in specs))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def with_every_recipe(data: Mapping[str, Any]) -> dict[str, Any]:
    """A plan with every recipe that was measured here, where its entry `every_recipe` says so.

    Each of them becomes an environment, in which is also measured, unless the plan has an entry of its name. The entry
    holds the settings to change in all of them.
    """
    changes = data["every_recipe"]
    if not isinstance(changes, Mapping):
        raise refused("every_recipe holds the settings to change in every recipe, such as {}.")
    names = [recipe.name for recipe in recipes.all_recipes() if recipe.result is not None and recipe.result.rises]
    own: dict[str, Any] = {key: value for key, value in data.items() if key != "every_recipe"}
    trained = {name: {"recipe": name, **changes} for name in names}
    measured = {name: {"recipe": name} for name in names}
    return {
        **own,
        "environments": {**trained, **_mapping(own, "environments")},
        "measured_in": {**measured, **_mapping(own, "measured_in")},
    }


def _mapping(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name, {})
    if not isinstance(value, Mapping):
        raise refused(f"{name} has to be an object.")
    return value


def _with_recipe(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings, on top of those of the recipe that they name."""
    changes = dict(settings)
    return recipes.data(str(changes.pop("recipe"))) | changes if "recipe" in changes else changes


def _settings_of_recipe(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in _with_recipe(settings).items() if name != "recipe"}


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
    def is_untrained(self) -> bool:
        """Whether it measures a policy before any training; `variant` then is the policy's name."""
        return self.environment == UNTRAINED

    @property
    def file(self) -> str:
        """The name of the file of its result."""
        kind = f"trial-{self.tuned}" if self.is_trial else f"{self.seed}"
        return f"{self.environment}/{_as_file_name(self.variant)}.{_as_file_name(kind)}.json"


def _as_file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]", "-", text)[:80]


def untrained(study: Study) -> Iterator[Run]:
    """The runs that measure the first policies in the environments of `measured_in`, before any training."""
    yield from (Run(UNTRAINED, policy, 0, None) for policy in study.first_policies)


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
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise InvalidArgument(f"{path} cannot be read as JSON: {error}.") from error
    try:
        return read_plan(plan_data(text), re.sub(r"[^a-z0-9._-]", "-", path.stem.lower()))
    except InvalidArgument as error:
        raise InvalidArgument(f"{path}: {error}") from error


def plan_data(text: str) -> dict[str, Any]:
    """The plan that is written as JSON, before it is checked.

    Raises:
        InvalidArgument: if the text is no JSON object.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidArgument(f"The plan cannot be read as JSON: {error}.") from error
    if not isinstance(data, dict):
        raise InvalidArgument("The plan is no JSON object, such as those in gem/studies/plans.")
    return data


def read_plan(data: Mapping[str, Any], name: str) -> Study:
    """The study that plain data describe.

    Args:
        name: of the study, if the data have none.

    Raises:
        InvalidArgument: if it is no study, with a sentence for each field.
    """
    try:
        return Study.model_validate({"name": name, **data})
    except ValidationError as error:
        raise InvalidArgument(error_sentence(error, Study)) from error


@cache
def all_studies() -> tuple[Study, ...]:
    """The studies that come with the engine, in the order of their names."""
    return tuple(read(path) for path in sorted(FOLDER.glob("*.json")))


def find(name: str) -> Study:
    """A study that comes with the engine, by its name, or one of your own, by the path of its file.

    Raises:
        InvalidArgument: if there is none; the nearest is named.
    """
    return read(Path(name)) if name.endswith(".json") else find_ours(name)


def find_ours(name: str) -> Study:
    """A study that comes with the engine, by its name. No file is read.

    Raises:
        InvalidArgument: if there is none; the nearest is named.
    """
    by_name = {study.name: study for study in all_studies()}
    if name not in by_name:
        hint = did_you_mean(name, by_name, "gemweb study list shows them; a study of your own is a file NAME.json.")
        raise InvalidArgument(f"There is no study {name!r}. {hint}")
    return by_name[name]
