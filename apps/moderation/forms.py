"""The form with a reason, to report content or to hide it."""

from __future__ import annotations

from django import forms

from apps.moderation.operations import MAX_REASON


class ReasonForm(forms.Form):
    """A reason in words."""

    reason = forms.CharField(
        label="What is wrong with it?",
        max_length=MAX_REASON,
        widget=forms.Textarea(attrs={"rows": 4}),
        error_messages={
            "required": "Say in a few words what is wrong.",
            "max_length": f"Use at most {MAX_REASON:,} characters.",
        },
    )
