"""The form that becomes a `TrainingSpec`: a recipe, and in expert mode whatever the specification has."""

from __future__ import annotations

import json
from typing import Any

from django import forms
from pydantic import ValidationError

from apps.accounts.models import Viewer
from apps.jobs.training import reach
from gem.credit import ALGORITHMS
from gem.errors import InvalidArgument
from gem.training import recipes
from gem.training.spec import TrainingSpec, read_spec
from gem.validation.messages import field_errors

PLAIN = ("algorithm", "discount", "learning_rate", "episodes", "updates", "seed")
"""Fields of the specification that have a field of their own in the form."""
FINE = (
    "env_id",
    "input_mode",
    "epochs",
    "entropy_bonus",
    "kl_coefficient",
    "target_kl",
    "clip_range",
    "clip_range_high",
    "schedule",
    "max_tokens",
    "held_out_every",
)
"""The same, for experts."""
LABELS = {
    "env_id": "Environment",
    "algorithm": "Algorithm",
    "discount": "Discount \u03b3",
    "learning_rate": "Learning rate",
    "episodes": "Episodes of an update",
    "updates": "Updates",
    "seed": "Seed",
    "input_mode": "What it reads",
    "epochs": "Epochs",
    "entropy_bonus": "Entropy bonus",
    "kl_coefficient": "KL penalty",
    "target_kl": "Largest KL of an update",
    "clip_range": "Clip range",
    "clip_range_high": "Clip range upwards",
    "schedule": "Schedule",
    "max_tokens": "Longest response",
    "held_out_every": "Held-out seeds, every",
}
CHOICES = {
    "algorithm": [(name, info.description) for name, info in ALGORITHMS.items()],
    "input_mode": [("transcript", "the whole episode"), ("markov", "the board of the turn")],
    "schedule": [("constant", "constant"), ("linear", "linear"), ("cosine", "cosine")],
}
OWN = ("more", "name", "seeds", "all_algorithms", "evaluate_best", "parent", "parent_update", "agent")
"""What is asked for besides the recipe and its settings."""
SEEDS = [("1", "one"), ("3", "three, side by side"), ("5", "five, side by side")]


class TrainingForm(forms.Form):
    """What is trained, on what, and how. After validation, `spec` is the request; other seeds follow from `seeds`."""

    recipe = forms.CharField(max_length=80, required=False)
    name = forms.CharField(max_length=120, required=False, strip=True)
    more = forms.CharField(
        label="Other settings",
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3, "class": "input", "spellcheck": "false"}),
    )
    parent = forms.CharField(max_length=80, required=False, widget=forms.HiddenInput)
    parent_update = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)
    evaluate_best = forms.BooleanField(
        label="Evaluate the best checkpoint at the end",
        required=False,
        help_text="On the benchmark that its environment belongs to, otherwise 100 episodes of it. "
        "The best one has the highest mean return over ten updates.",
    )
    seeds = forms.ChoiceField(
        choices=SEEDS,
        required=False,
        help_text="Several are compared as a mean with a band.",
        error_messages={"invalid_choice": "Choose one, three or five seeds."},
    )
    all_algorithms = forms.BooleanField(label="All four algorithms, on the same budget", required=False)
    idempotency_key = forms.CharField(max_length=70, required=False, widget=forms.HiddenInput)

    spec: TrainingSpec | None = None

    def __init__(self, user: Viewer, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.user = user
        for name in (*PLAIN, *FINE):
            self.fields[name] = _field(name)

    def clean(self) -> dict[str, Any]:
        """Hand the values to the specification; what it refuses is an error of the field that it names."""
        values = super().clean() or {}
        if self.errors:
            return values
        try:
            wanted = {**self._base(values), **self._more(values)}
        except ValueError as error:
            self.add_error("more", str(error))
            return values
        for name in (*PLAIN, *FINE):
            if values.get(name, "") != "":
                wanted[name] = _value(values[name])
        for sentence in reach.refusals(self.user, wanted):
            self.add_error("more", sentence)
        if self.errors:
            return values
        try:
            self.spec = TrainingSpec.model_validate(wanted)
        except ValidationError as errors:
            for place, sentence in field_errors(errors, TrainingSpec, LABELS):
                self.add_error(self._field_of(place), sentence)
        return values

    @property
    def problems(self) -> int:
        """How many fields have something to correct."""
        return len(self.errors)

    def _field_of(self, place: str) -> str | None:
        """The field of the form that asks for this part of the specification."""
        name = place.partition(".")[0]
        if name in (*PLAIN, *FINE):
            return name
        return "more" if name else None

    def _base(self, values: dict[str, Any]) -> dict[str, Any]:
        if not values["recipe"]:
            return {}
        try:
            return recipes.data(values["recipe"])
        except InvalidArgument as error:
            raise ValueError(str(error)) from error

    def _more(self, values: dict[str, Any]) -> dict[str, Any]:
        if not values["more"].strip():
            return {}
        try:
            found = json.loads(values["more"])
        except ValueError as error:
            raise ValueError(f'Write other settings as JSON, for example {{"minibatches": 2}}: {error}.') from error
        if not isinstance(found, dict):
            raise ValueError('Write other settings as a JSON object, for example {"minibatches": 2}.')
        return found


def initial(data: dict[str, Any]) -> dict[str, Any]:
    """A form's first values from a specification as plain data."""
    spec = read_spec(data)
    plain = spec.model_dump(mode="json", exclude_defaults=True)
    own = {name: getattr(spec, name) for name in (*PLAIN, *FINE)}
    rest = {name: value for name, value in plain.items() if name not in {*PLAIN, *FINE, "recipe"}}
    return {**own, "recipe": spec.recipe, "more": json.dumps(rest, indent=1) if rest else ""}


def _field(name: str) -> forms.Field:
    hint = TrainingSpec.model_fields[name].description or ""
    if name in CHOICES:
        return forms.ChoiceField(
            label=LABELS[name],
            choices=CHOICES[name],
            required=False,
            help_text=hint,
            widget=forms.Select(attrs={"class": "input"}),
        )
    attributes = {"autocomplete": "off", "spellcheck": "false"}
    if name == "env_id":
        attributes["list"] = "environments"
    return forms.CharField(
        label=LABELS[name], required=False, max_length=120, help_text=hint, widget=forms.TextInput(attrs=attributes)
    )


def _value(text: str) -> Any:
    """A number where it is one, else the text: the specification says what is wanted."""
    try:
        return json.loads(text)
    except ValueError:
        return text.strip()
