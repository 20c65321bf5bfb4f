"""The form that adds a benchmark."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from apps.benchmarks.operations import MAX_BYTES
from apps.visibility import VisibilityField


class BenchmarkForm(forms.Form):
    """A benchmark as a file, or as a text."""

    file = forms.FileField(
        label="File",
        required=False,
        widget=forms.FileInput(attrs={"accept": ".json"}),
        help_text="A JSON file, as gemweb benchmark check reads it.",
    )
    text = forms.CharField(
        label="Or its text",
        required=False,
        strip=False,
        max_length=MAX_BYTES,
        widget=forms.Textarea(attrs={"rows": 18, "spellcheck": "false"}),
    )
    visibility = VisibilityField(help_text="You can make it more visible later, but never less.")

    def clean(self) -> dict[str, Any]:
        """The text of the file, or the text itself."""
        values: dict[str, Any] = super().clean() or {}
        file: UploadedFile[bytes] | None = values.get("file")
        if file is not None:
            if (file.size or 0) > MAX_BYTES:
                raise forms.ValidationError(f"A benchmark has at most {MAX_BYTES:,} bytes.")
            try:
                values["text"] = file.read().decode("utf-8-sig")
            except UnicodeDecodeError as error:
                raise forms.ValidationError("The file is not UTF-8 text.") from error
        if not str(values.get("text") or "").strip():
            raise forms.ValidationError("Choose a file, or write the benchmark as JSON.")
        return values
