"""A form whose values become one Pydantic model: a request, or how something is set up.

The form only turns text into values. The model alone decides what is possible, and what it refuses becomes an error of
the field that asks for it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, TypeVar

from django import forms
from pydantic import BaseModel, ValidationError

from gem.validation.messages import field_errors

Spec = TypeVar("Spec", bound=BaseModel)


class SpecForm(forms.Form, Generic[Spec]):
    """A form that asks for a model. After validation, `spec` is the model if nothing was refused."""

    spec_model: type[Spec]
    sentences: ClassVar[Mapping[str, str]] = {}
    """What is said of parts of the model, whatever it has against them: for those that people do not type."""

    spec: Spec | None = None

    def validate_spec(self, wanted: Mapping[str, Any]) -> None:
        """Make the model of these values. A field that could not be read has said so itself, and says nothing more."""
        unread = set(self.errors)
        try:
            spec = self.spec_model.model_validate(wanted)
        except ValidationError as error:
            for place, sentence in field_errors(error, self.spec_model, self.labels()):
                name = self.field_of(place)
                if name not in unread:
                    self.add_error(name, self.sentences.get(place, sentence))
        else:
            self.spec = None if unread else spec

    def field_of(self, place: str) -> str | None:
        """The field that asks for this part of the model (dots lead inside it); None for the form as a whole."""
        name = place.partition(".")[0]
        return name if name in self.fields else None

    def labels(self) -> dict[str, str]:
        """What sentences call the parts of the model: as the form does."""
        return {name: str(self[name].label) for name in self.fields}

    @property
    def problems(self) -> int:
        """How many fields have something to correct."""
        return len(self.errors)


def number_field(
    label: str,
    *,
    whole: bool = True,
    required: bool = False,
    initial: int | None = None,
    help_text: str = "",
    inputmode: str = "numeric",
    invalid: str,
    **attributes: int,
) -> forms.Field:
    """A number that is typed as text, so that the sentence about what is no number is ours and not the browser's."""
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
    """A field of the model as text or as one of `choices`, with what the model says of it; `value_of` reads it."""
    hint = model.model_fields[name].description or ""
    if choices:
        select = forms.Select(attrs={"class": "input"})
        return forms.ChoiceField(label=label, choices=choices, required=False, help_text=hint, widget=select)
    typed = forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false", **attributes})
    return forms.CharField(label=label, required=False, max_length=120, help_text=hint, widget=typed)


def value_of(text: str) -> Any:
    """A number where the text is one, else the text: the model says what is wanted."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()


class JsonObjectField(forms.CharField):
    """Further fields of a model as a JSON object; an empty text is an empty object."""

    def clean(self, value: Any) -> dict[str, Any]:
        """The object."""
        text = str(super().clean(value)).strip()
        try:
            found = json.loads(text) if text else {}
        except (ValueError, RecursionError) as error:
            message = self.error_messages["broken"]
            raise forms.ValidationError(message, params={"error": error}) from error
        if not isinstance(found, dict):
            raise forms.ValidationError(self.error_messages["no_object"])
        return found
