"""Whole numbers and truth values of what is sent as JSON: another type is refused, and the field is named."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from importlib import import_module
from typing import Any, get_args

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from gem.agents.endpoint import EndpointSpec
from gem.client import schemas
from gem.client.schemas.base import Body
from gem.errors import InvalidArgument
from gem.evaluation.spec import EvaluationSpec
from gem.studies.study import Study
from gem.training.spec import Stage, TrainingSpec, read_spec, with_settings
from gem.validation.messages import field_errors
from gem.validation.whole import Whole
from gem.vector.mixture import Curriculum

ENV_ID = "game:GuessTheNumber-v0-easy"
SPECIFICATIONS = (EvaluationSpec, TrainingSpec, Stage, EndpointSpec, Curriculum, Study)
WRONG: dict[type, list[Any]] = {int: ["5", 5.0, True], bool: ["true", 1, 0.0]}
"""What Pydantic would take for a value of this type."""


def kinds_in(annotation: Any) -> set[type]:
    """The types of numbers and truth values that an annotation allows."""
    arguments = get_args(annotation)
    return {annotation} & {int, float, bool} if not arguments else set().union(*map(kinds_in, arguments))


def bodies() -> Iterator[type[BaseModel]]:
    """The bodies of all requests."""
    for module in pkgutil.iter_modules(schemas.__path__):
        import_module(f"{schemas.__name__}.{module.name}")
    waiting = [Body]
    while waiting:
        waiting += (one := waiting.pop()).__subclasses__()
        yield one


FIELDS = [
    pytest.param(model, name, kind, id=f"{model.__name__}.{name}")
    for model in (*SPECIFICATIONS, *bodies())
    for name, field in model.model_fields.items()
    if len(kinds := kinds_in(field.annotation)) == 1 and (kind := kinds.copy().pop()) is not float
]


@pytest.mark.parametrize(("model", "name", "kind"), FIELDS)
def test_no_field_takes_another_type_for_its_own(model: type[BaseModel], name: str, kind: type) -> None:
    field = TypeAdapter(model.model_fields[name].rebuild_annotation())
    for value in WRONG[kind]:
        with pytest.raises(ValidationError) as refused:
            field.validate_python(value)
        assert {error["type"] for error in refused.value.errors()} & {"int_type", "bool_type"}, value


def test_the_sentence_names_the_field_and_what_it_takes() -> None:
    with pytest.raises(ValidationError) as refused:
        EvaluationSpec.model_validate({"agent": "random", "env_ids": [ENV_ID], "num_envs": "5", "hidden_seeds": 1})
    said = field_errors(refused.value, EvaluationSpec)
    assert said == [
        ("hidden_seeds", "hidden_seeds has to be true or false, not 1."),
        ("num_envs", "num_envs has to be a whole number, not '5'."),
    ]


def test_numbers_of_numpy_are_whole_numbers() -> None:
    numpy = pytest.importorskip("numpy")
    assert TypeAdapter(Whole).validate_python(numpy.int64(5)) == 5
    for value in (numpy.float64(5), numpy.bool_(True)):
        with pytest.raises(ValidationError):
            TypeAdapter(Whole).validate_python(value)


def test_what_is_typed_on_a_command_line_may_be_written_in_other_ways() -> None:
    data = {"env_id": ENV_ID, "algorithm": "rebn"}
    assert read_spec(with_settings(data, ["updates=1e3", "learning_rate=1e-3", "self_play=false"])).updates == 1000
    with pytest.raises(InvalidArgument, match="updates has to be a whole number"):
        read_spec(with_settings(data, ['updates="5"']))
