"""The form that becomes a `TrainingSpec`: a recipe, and in expert mode all other settings."""

from __future__ import annotations

import json
from typing import Any

from django import forms

from apps.accounts.models import Viewer, default_visibility
from apps.names import validate_free_name
from apps.spec_forms import JsonObjectField, SpecForm, plain_field, value_of
from apps.trainings import permissions
from apps.visibility import VisibilityField
from gem.credit import ALGORITHMS
from gem.errors import InvalidArgument
from gem.training import recipes
from gem.training.spec import TrainingSpec, read_stored

PLAIN = ("algorithm", "discount", "learning_rate", "episodes", "updates", "seed")
"""Fields of the specification that are always shown in the form."""
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
"""Fields of the specification that are shown in expert mode."""
LABELS = {
    "env_id": "Environment",
    "algorithm": "Algorithm",
    "discount": "Discount \u03b3",
    "learning_rate": "Learning rate",
    "episodes": "Episodes per update",
    "updates": "Updates",
    "seed": "Seed",
    "input_mode": "What the policy reads",
    "epochs": "Epochs",
    "entropy_bonus": "Entropy bonus",
    "kl_coefficient": "KL penalty",
    "target_kl": "KL limit per update",
    "clip_range": "Clip range",
    "clip_range_high": "Upper clip range",
    "schedule": "Schedule",
    "max_tokens": "Token limit per response",
    "held_out_every": "Held-out interval",
}
CHOICES: dict[str, list[tuple[str, str]]] = {
    "algorithm": [(name, info.description) for name, info in ALGORITHMS.items()],
    "input_mode": [("transcript", "the whole episode"), ("markov", "the board of the turn")],
    "schedule": [("constant", "constant"), ("linear", "linear"), ("cosine", "cosine")],
}
COLLAPSE = "collapse"
"""What `TrainingSpec.stop_on` calls the alarms of a policy that lost what it could do."""
OWN = (
    "more",
    "name",
    "visibility",
    "seeds",
    "all_algorithms",
    "evaluate_best",
    "stop_on_collapse",
    "parent",
    "parent_update",
    "agent",
)
"""Form fields that are not fields of the specification."""
SEEDS = [("1", "one"), ("3", "three, compared"), ("5", "five, compared")]


class TrainingForm(SpecForm[TrainingSpec]):
    """The form of a training. After validation, `spec` is the request; the views add the further seeds of `seeds`."""

    spec_model = TrainingSpec

    recipe = forms.CharField(max_length=80, required=False)
    name = forms.CharField(max_length=120, required=False, strip=True, validators=[validate_free_name])
    more = JsonObjectField(
        label="Other settings",
        required=False,
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 3, "class": "input", "spellcheck": "false"}),
        error_messages={
            "broken": 'Write other settings as JSON, for example {"minibatches": 2}: %(error)s.',
            "no_object": 'Write other settings as a JSON object, for example {"minibatches": 2}.',
        },
    )
    parent = forms.CharField(max_length=80, required=False, widget=forms.HiddenInput)
    parent_update = forms.IntegerField(required=False, min_value=0, widget=forms.HiddenInput)
    evaluate_best = forms.BooleanField(
        label="Evaluate the best checkpoint at the end",
        required=False,
        help_text="On the benchmark that includes its environment, or on 100 episodes if there is none. "
        "The best checkpoint has the highest mean return over ten updates, clearly above the start.",
    )
    stop_on_collapse = forms.BooleanField(
        label="Stop by itself if the policy collapses",
        required=False,
        help_text="When most actions cannot be parsed, or return or share solved fall clearly below the start. The "
        "checkpoints are kept, and you can resume it.",
    )
    visibility = VisibilityField(
        help_text="Of the training, its episodes and its checkpoints. Only public evaluations are on the leaderboard."
    )
    seeds = forms.ChoiceField(
        choices=SEEDS,
        required=False,
        help_text="Several seeds are drawn as a mean curve with a band.",
        error_messages={"invalid_choice": "Choose one, three or five seeds."},
    )
    all_algorithms = forms.BooleanField(label="Train all four algorithms with the same budget", required=False)
    idempotency_key = forms.CharField(max_length=70, required=False, widget=forms.HiddenInput)

    def __init__(self, user: Viewer, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.user = user
        self.fields["visibility"].initial = default_visibility(user)
        for name in (*PLAIN, *FINE):
            attributes = {"list": "environments"} if name == "env_id" else {}
            self.fields[name] = plain_field(TrainingSpec, name, LABELS[name], CHOICES.get(name, ()), **attributes)

    def clean(self) -> dict[str, Any]:
        """Validate the values with the specification. Each of its errors is shown at the field that it concerns."""
        values = super().clean() or {}
        if self.errors:
            return values
        try:
            base = recipes.data(values["recipe"]) if values["recipe"] else {}
        except InvalidArgument as error:
            self.add_error("more", str(error))
            return values
        spec_data = {**base, **values["more"]}
        for name in (*PLAIN, *FINE):
            if values.get(name, "") != "":
                spec_data[name] = value_of(values[name])
        if values["stop_on_collapse"]:
            spec_data["stop_on"] = _with_collapse(spec_data.get("stop_on", ()))
        for sentence in permissions.refusals(self.user, spec_data):
            self.add_error("more", sentence)
        if self.errors:
            return values
        self.validate_spec(spec_data)
        return values

    def field_of(self, place: str) -> str | None:
        """Errors about settings without a field of their own are shown at the other settings."""
        name = place.partition(".")[0]
        if name in (*PLAIN, *FINE):
            return name
        return "more" if name else None


def initial(data: dict[str, Any]) -> dict[str, Any]:
    """The initial form values for a specification as JSON data."""
    spec = read_stored(data)
    changed = spec.model_dump(mode="json", exclude_defaults=True)
    fields = {name: getattr(spec, name) for name in (*PLAIN, *FINE)}
    others = {name: value for name, value in changed.items() if name not in {*PLAIN, *FINE, "recipe"}}
    stop_on = [name for name in others.pop("stop_on", []) if name != COLLAPSE]
    others |= {"stop_on": stop_on} if stop_on else {}
    return {
        **fields,
        "recipe": spec.recipe,
        "stop_on_collapse": COLLAPSE in spec.stop_on,
        "more": json.dumps(others, indent=1) if others else "",
    }


def _with_collapse(stop_on: Any) -> Any:
    """The alarms to stop for, and `collapse`. What is no list stays as it is, for the specification to refuse."""
    names = [stop_on] if isinstance(stop_on, str) else stop_on
    return [*(name for name in names if name != COLLAPSE), COLLAPSE] if isinstance(names, (list, tuple)) else stop_on
