"""The form in which an owner describes a job."""

from __future__ import annotations

from typing import Any

from django import forms

from apps.jobs.form.forms import EvaluationForm
from gem.evaluation.submission import MAX_TAG, MAX_TAGS


class DescriptionForm(forms.Form):
    """The name, the notes and the tags of a job, with the same limits as when it is submitted."""

    name = EvaluationForm.base_fields["name"]
    notes = EvaluationForm.base_fields["notes"]
    tags = EvaluationForm.base_fields["tags"]

    def clean_tags(self) -> list[str]:
        """Refuse too many tags, and too long ones."""
        tags: list[Any] = self.cleaned_data["tags"]
        if len(tags) > MAX_TAGS:
            raise forms.ValidationError(f"A job has at most {MAX_TAGS} tags; you entered {len(tags)}.")
        if any(len(tag) > MAX_TAG for tag in tags):
            raise forms.ValidationError(f"A tag has at most {MAX_TAG} characters.")
        return tags

    def clean_notes(self) -> str:
        """Without white space around them."""
        return str(self.cleaned_data["notes"]).strip()
