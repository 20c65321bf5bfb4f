"""The forms of results from elsewhere, which the API fills in as the pages do."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.conf import settings

from apps.agents.models import Agent
from apps.names import validate_free_name
from apps.visibility import VisibilityField
from gem.registry import DEFAULT_MAX_TOOL_USES
from gem.tools.tool_catalog import MAX_USES

KINDS = [
    (Agent.Nature.MODEL, "A model"),
    (Agent.Nature.PROGRAM, "A program"),
    (Agent.Nature.PERSON, "A person"),
]
MAX_TOOLS = 10


class WhoField(forms.CharField):
    """The name that a row from elsewhere has."""

    def __init__(self) -> None:
        super().__init__(
            label="Name of the agent",
            max_length=80,
            help_text="Shown in its row, such as the name and the size of the model.",
            validators=[validate_free_name],
            error_messages={"required": "Give the agent a name of 1 to 80 characters."},
        )


class KindField(forms.ChoiceField):
    """What somebody says that their agent is."""

    def __init__(self) -> None:
        sentence = "Say whether the agent is a model, a program or a person."
        super().__init__(
            label="What it is",
            choices=KINDS,
            help_text="Shown in its row as declared by you: nothing proves it.",
            error_messages={"required": sentence, "invalid_choice": sentence},
        )


class ChallengeForm(forms.Form):
    """Who will play, and with which tools."""

    agent = WhoField()
    kind = KindField()
    tools = forms.CharField(
        label="Tools",
        required=False,
        max_length=400,
        help_text="Tools between its actions, such as python or search:wikigame, with commas between them. Empty for "
        "none; a row with tools is ranked apart.",
    )
    max_tool_uses = forms.IntegerField(
        label="Uses of tools in an episode", required=False, min_value=1, max_value=MAX_USES
    )
    tool_format = forms.ChoiceField(
        label="Tool calls", required=False, choices=[("tags", "tags of each tool"), ("native", "function calls")]
    )
    visibility = VisibilityField(help_text="Who sees the row and its episodes once they are verified.")

    def clean_tools(self) -> tuple[str, ...]:
        """The names of the tools."""
        names = tuple(filter(None, re.split(r"[,\s]+", self.cleaned_data["tools"])))
        if len(names) > MAX_TOOLS:
            raise forms.ValidationError(f"Name at most {MAX_TOOLS} tools.")
        return names

    def clean_max_tool_uses(self) -> int:
        """The uses, or as many as episodes have unless somebody says otherwise."""
        return self.cleaned_data["max_tool_uses"] or DEFAULT_MAX_TOOL_USES


class ReportForm(forms.Form):
    """Who has reached what is reported, and where one can read of it."""

    agent = WhoField()
    kind = KindField()
    tools = forms.CharField(
        label="Tools", required=False, max_length=200, help_text="The tools that it used, in words. Empty for none."
    )
    link = forms.URLField(
        label="Published at",
        required=False,
        max_length=400,
        assume_scheme="https",
        help_text="The address of a paper or a page about this result.",
    )
    notes = forms.CharField(
        label="Notes",
        required=False,
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 4}),
        help_text="How it was played: seeds, prompt, limits.",
    )
    visibility = VisibilityField(help_text="Who sees the row.")

    def clean_link(self) -> str:
        """An address of the web, and nothing else that a browser could open."""
        link = str(self.cleaned_data["link"])
        if link and not link.startswith(("https://", "http://")):
            raise forms.ValidationError("Give an address that begins with https:// or http://.")
        return link


class NumbersForm(ReportForm):
    """The same, with the numbers as a text: what the page asks for."""

    numbers = forms.CharField(
        label="Numbers",
        max_length=100_000,
        widget=forms.Textarea(attrs={"rows": 10, "spellcheck": "false"}),
        help_text="A line for each environment of the benchmark: its id, the mean return, the number of episodes, and "
        "the share of solved ones from 0 to 1, with commas between them.",
        error_messages={"required": "Give a line for each environment of the benchmark."},
    )

    def clean_numbers(self) -> list[dict[str, Any]]:
        """The numbers of each line."""
        lines = [line.strip() for line in str(self.cleaned_data["numbers"]).splitlines() if line.strip()]
        return [self._read(number, line) for number, line in enumerate(lines, start=1)]

    @staticmethod
    def _read(number: int, line: str) -> dict[str, Any]:
        parts = [part.strip() for part in line.split(",")]
        try:
            env_id, mean, episodes, solved = parts
            values = {"mean_return": float(mean), "episodes": int(episodes), "success_rate": float(solved)}
        except ValueError as error:
            raise forms.ValidationError(
                f"Line {number}: write an id, a mean return, a whole number of episodes and a share of solved ones, "
                "with commas between them."
            ) from error
        return {"env_id": env_id, **values}


class EpisodesForm(forms.Form):
    """The episodes of a challenge as a file. A worker reads what is in it."""

    challenge = forms.CharField(
        max_length=20, widget=forms.HiddenInput, error_messages={"required": "Say which challenge this file is for."}
    )
    file = forms.FileField(
        label="Episodes",
        allow_empty_file=True,
        widget=forms.FileInput(attrs={"accept": ".jsonl,.gz"}),
        error_messages={"required": "Choose the file that gemweb eval wrote, optionally packed with gzip."},
    )

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        most = f"{settings.RESULT_MEGABYTES:,} MB"
        self.fields["file"].help_text = f"One episode on each line, optionally packed with gzip; at most {most}."
