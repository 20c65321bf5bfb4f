"""The forms of the pages, filled in with the body of a request, so that both refuse with the same sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.core.exceptions import ValidationError as FormError
from django.utils.datastructures import MultiValueDict
from pydantic import BaseModel, ValidationError

from apps.api.problems import Invalid
from gem.validation.messages import field_errors

Form = TypeVar("Form", bound=forms.BaseForm)
Model = TypeVar("Model", bound=BaseModel)


def entries(values: Mapping[str, Any]) -> MultiValueDict[str, str]:
    """Values as a browser would send them; what is None is left out."""
    sent: MultiValueDict[str, str] = MultiValueDict()
    for name, value in values.items():
        if isinstance(value, list | tuple):
            sent.setlist(name, [str(each) for each in value])
        elif value is not None:
            sent[name] = str(value)
    return sent


def checked(form: Form, names: Mapping[str, str] | None = None) -> Form:
    """The form, if it is valid.

    Args:
        names: the fields of the request by those of the form, where the names differ.

    Raises:
        Invalid: with every error.
    """
    if form.is_valid():
        return form
    errors = []
    for name, sentences in form.errors.items():
        field = "" if name == NON_FIELD_ERRORS else (names or {}).get(name, name)
        errors += [(field, str(sentence)) for sentence in sentences]
    raise Invalid(errors)


class Checks:
    """Collects what is wrong with a request, so that all of it is reported at once."""

    def __init__(self) -> None:
        self.errors: list[tuple[str, str]] = []

    def add(self, field: str, sentences: Iterable[str]) -> None:
        """Add sentences about a field."""
        self.errors += [(field, sentence) for sentence in sentences]

    def value(self, field: str, clean: Callable[[Any], Any], value: Any) -> Any:
        """The value as a form field or a validator returns it; None if it is refused."""
        try:
            return clean(value)
        except FormError as error:
            self.add(field, error.messages)
            return None

    def model(self, field: str, model: type[Model], data: Mapping[str, Any]) -> Model | None:
        """The Pydantic model of these data; None if they are invalid."""
        try:
            return model.model_validate(data)
        except ValidationError as error:
            for place, sentence in field_errors(error, model):
                self.errors.append((f"{field}.{place}" if place else field, sentence))
            return None

    def finish(self) -> None:
        """Refuse the request if anything is wrong with it.

        Raises:
            Invalid: with every error.
        """
        if self.errors:
            raise Invalid(self.errors)
