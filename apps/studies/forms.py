"""The form that starts a study: one that comes with gemweb, or a plan of one's own."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.accounts.models import Viewer, default_visibility
from apps.jobs.errors import JobRefusal
from apps.names import validate_free_name
from apps.spec_forms import JsonObjectField, number_field
from apps.studies import operations
from apps.studies.estimates import Estimate, estimate
from apps.studies.models import MAX_TITLE
from apps.visibility import VisibilityField
from gem.studies.study import Study as Plan
from gem.studies.study import all_studies

OWN = "own"
"""The choice of a plan of one's own."""
MAX_PLAN = 40_000
"""Characters of a plan."""


class StudyForm(forms.Form):
    """A study to start. After validation, `study_plan` and `estimate` are what was asked for."""

    study = forms.CharField(max_length=40, required=False)
    plan = JsonObjectField(
        label="Plan",
        required=False,
        max_length=MAX_PLAN,
        widget=forms.Textarea(attrs={"rows": 18, "class": "input", "spellcheck": "false"}),
        error_messages={
            "broken": "Write the plan as JSON, as in the example: %(error)s.",
            "no_object": "Write the plan as a JSON object, as in the example.",
            "max_length": f"A plan has at most {MAX_PLAN:,} characters.",
        },
    )
    title = forms.CharField(label="Title", max_length=MAX_TITLE, required=False, validators=[validate_free_name])
    seeds = number_field(
        "Seeds",
        help_text="Trainings of each variant in each environment. Fewer than three never show which of two variants is "
        "better; three or four variants take four.",
        invalid="Write the seeds as a whole number.",
    )
    environments = forms.MultipleChoiceField(
        label="Environments",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        error_messages={"invalid_choice": "The study has no environment “%(value)s”."},
    )
    reuses_results = forms.BooleanField(
        label="Use the results that come with gemweb",
        required=False,
        help_text="Runs that have a recorded result with the same settings are not made again.",
    )
    keeps_policies = forms.BooleanField(
        label="Keep the policies",
        required=False,
        help_text="The last policy of each compared run becomes an agent, which you can watch, play against and "
        "evaluate. Policies that come with gemweb take one to five megabytes each.",
    )
    visibility = VisibilityField(help_text="Applies to the study and to the policies that it keeps.")
    idempotency_key = forms.CharField(max_length=70, required=False, widget=forms.HiddenInput)

    study_plan: Plan | None = None
    estimate: Estimate | None = None

    def __init__(self, user: Viewer, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.user = user
        self.fields["visibility"].initial = default_visibility(user)
        plan = self.chosen_plan
        if plan is not None:
            field = self.fields["environments"]
            assert isinstance(field, forms.MultipleChoiceField)
            field.choices = [(name, name) for name in plan.environments]
        else:
            del self.fields["environments"]

    @property
    def chosen(self) -> str:
        """The name of the chosen study, `own` for a plan of one's own."""
        return str(self["study"].value() or "")

    @property
    def chosen_plan(self) -> Plan | None:
        """The chosen study, if it comes with gemweb."""
        return next((plan for plan in all_studies() if plan.name == self.chosen), None)

    def clean(self) -> dict[str, Any]:
        """Read the plan with what was chosen of it. Each refusal is shown at the field that it concerns."""
        values = super().clean() or {}
        if self.errors:
            return values
        try:
            self.study_plan = self._read(values)
        except JobRefusal as refusal:
            self.add_error(refusal.field if refusal.field in self.fields else None, str(refusal))
        else:
            self.estimate = estimate(self.study_plan, reuses_results=values["reuses_results"])
        return values

    def _read(self, values: dict[str, Any]) -> Plan:
        if values["study"] == OWN:
            if not values["plan"]:
                raise operations.Unfit("Write a plan, or choose a study that comes with gemweb.")
            plan = operations.own_plan(self.user, values["plan"])
        else:
            plan = operations.plan_named(values["study"])
        plan = operations.with_choices(plan, seeds=values["seeds"], environments=values.get("environments", ()))
        operations.check_size(plan, keeps_policies=values["keeps_policies"])
        return plan

    @property
    def problems(self) -> int:
        """The number of fields with errors."""
        return len(self.errors)
