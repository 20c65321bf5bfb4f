"""Forms whose values become one Pydantic model, such as the request for a job or the set-up of an agent.

The form only converts text into values. The model alone validates them, and each of its errors is shown at the form
field that the value came from.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from django import forms
from pydantic import BaseModel, ValidationError

from gem.validation.messages import field_errors
from gem.validation.whole import typed

MAX_JSON_DEPTH = 20
UNSTORABLE = re.compile("[\\0\\ud800-\\udfff]")
"""The characters that Postgres stores neither in a text nor in JSON: NUL and lone surrogates."""

Spec = TypeVar("Spec", bound=BaseModel)


class SpecForm(forms.Form, Generic[Spec]):
    """A form for one Pydantic model. After validation, `spec` is the model, or None if there are errors."""

    spec_model: type[Spec]
    sentences: ClassVar[Mapping[str, str]] = {}
    """Error sentences by model field. They replace the model's own for values that people choose and do not type."""

    spec: Spec | None = None

    def validate_spec(self, values: Mapping[str, Any]) -> None:
        """Build the model from these values. A field whose text could not be read gets no second error."""
        unreadable_fields = set(self.errors)
        try:
            spec = self.spec_model.model_validate(values)
        except ValidationError as error:
            for place, sentence in field_errors(error, self.spec_model, self.labels()):
                name = self.field_of(place)
                if name not in unreadable_fields:
                    self.add_error(name, self.sentences.get(place, sentence))
        else:
            self.spec = None if unreadable_fields else spec

    def field_of(self, place: str) -> str | None:
        """The form field for this part of the model (a dotted path); None if an error concerns the whole form."""
        name = place.partition(".")[0]
        return name if name in self.fields else None

    def labels(self) -> dict[str, str]:
        """The form's labels by model field, for the sentences about errors."""
        return {name: str(self[name].label) for name in self.fields}

    @property
    def problems(self) -> int:
        """The number of fields with errors."""
        return len(self.errors)


def number_field(
    label: str,
    *,
    whole: bool = True,
    required: bool = False,
    initial: float | None = None,
    help_text: str = "",
    inputmode: str = "numeric",
    invalid: str,
    **attributes: int,
) -> forms.Field:
    """A number field with a text input, so that the error sentence is ours and not the browser's."""
    kind = forms.IntegerField if whole else forms.FloatField
    return kind(
        label=label,
        required=required,
        initial=initial,
        help_text=help_text,
        widget=forms.TextInput(attrs={"inputmode": inputmode, "autocomplete": "off", **attributes}),
        error_messages={"invalid": invalid, "required": invalid},
    )


def plain_field(
    model: type[BaseModel], name: str, label: str, choices: Sequence[tuple[str, str]] = (), **attributes: str
) -> forms.Field:
    """A form field for one field of the model, as a text input or a select, with the model's description as its hint.

    `value_of` converts its text.
    """
    hint = model.model_fields[name].description or ""
    if choices:
        select = forms.Select(attrs={"class": "input"})
        return forms.ChoiceField(label=label, choices=choices, required=False, help_text=hint, widget=select)
    typed = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", **attributes})
    return forms.CharField(label=label, required=False, max_length=120, help_text=hint, widget=typed)


def value_of(text: str) -> Any:
    """The text parsed as JSON, for example a number; the text itself if it is no JSON. The model checks the type."""
    try:
        return typed(read_json(text))
    except ValueError:
        return text.strip()


def read_json(text: str) -> Any:
    """The value of a JSON text that can be stored and processed.

    Raises:
        ValueError: if it is no JSON, is nested more than `MAX_JSON_DEPTH` deep, or has an infinite number or characters
            that Postgres cannot store. The message ends a sentence.
    """
    try:
        value = json.loads(text)
    except RecursionError as error:
        raise ValueError(f"it is nested more than {MAX_JSON_DEPTH} deep") from error
    _check_storable(value, MAX_JSON_DEPTH)
    return value


def _check_storable(value: Any, depth: int) -> None:
    if depth < 0:
        raise ValueError(f"it is nested more than {MAX_JSON_DEPTH} deep")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("it has a number that is not finite")
    if isinstance(value, str) and UNSTORABLE.search(value):
        raise ValueError("it has a character that cannot be stored, such as NUL")
    if isinstance(value, dict | list):
        for part in [*value, *value.values()] if isinstance(value, dict) else value:
            _check_storable(part, depth - 1)


class JsonObjectField(forms.CharField):
    """Further fields of a model as a JSON object. Empty text is an empty object."""

    def clean(self, value: Any) -> dict[str, Any]:
        """Parse the text into a dictionary."""
        text = str(super().clean(value)).strip()
        try:
            parsed = read_json(text) if text else {}
        except ValueError as error:
            message = self.error_messages["broken"]
            raise forms.ValidationError(message, params={"error": error}) from error
        if not isinstance(parsed, dict):
            raise forms.ValidationError(self.error_messages["no_object"])
        return parsed
