"""The tool bench: a control for each tool of the person who plays, and what their tools have answered so far.

A control shows the text that an agent would send, and sends it as a typed action; there is no other way to play a turn.
"""

from __future__ import annotations

from dataclasses import dataclass

from apps.episodes.snapshot import Snapshot
from apps.episodes.tools.calls import ToolCall, tool_calls
from apps.episodes.tools.passages import Passage, passages
from apps.play.bench.trials import can_try
from gem.tools.forms import answer_form, tool_forms
from gem.views.forms import FormField, ToolForm


@dataclass(frozen=True, slots=True)
class Cell:
    """A call of a tool and its answer."""

    number: int
    """The turn."""
    call: ToolCall
    is_last: bool
    passages: list[Passage]
    """What a search found; empty for other tools."""


@dataclass(frozen=True, slots=True)
class Bench:
    """The controls of one moment, and the calls before it."""

    forms: list[ToolForm]
    """The tools, the one that is most at hand first."""
    answer: ToolForm | None
    """The box for the answer to a problem."""
    cells: list[Cell]
    tries: bool = False
    """Whether a program can be tried before it is sent."""

    @property
    def known(self) -> dict[str, list[str]]:
        """Values that arguments may have, by the names of the arguments."""
        return {
            field["name"]: field["suggestions"]
            for form in self.forms
            for field in form["fields"]
            if field.get("suggestions")
        }

    @property
    def code(self) -> ToolForm | None:
        """The tool that takes a program."""
        return next((form for form in self.forms if form["control"] == "code"), None)

    @property
    def search(self) -> ToolForm | None:
        """The tool that searches."""
        return next((form for form in self.forms if form["control"] == "search"), None)

    @property
    def others(self) -> list[ToolForm]:
        """The tools that have a form each."""
        return [form for form in self.forms if form["control"] == "form"]


def bench_of(shot: Snapshot) -> Bench | None:
    """The bench of whoever plays from the viewpoint of `shot`; None where there are no tools and no answer to type."""
    if shot.env is None or shot.viewpoint < 0:
        return None
    cells = _cells(shot)
    if shot.episode.over:
        return Bench([], None, cells) if cells else None
    if shot.view["kind"] == "code":
        return Bench([PROGRAM], None, cells, tries=can_try(shot.episode, shot.env))
    asks_for_answer = shot.view["kind"] in ("text", "image")
    answer = answer_form(shot.env, shot.info) if asks_for_answer else None
    bench = Bench(tool_forms(shot.env, shot.episode.first_info), answer, cells)
    return bench if bench.forms or bench.answer or cells else None


def _cells(shot: Snapshot) -> list[Cell]:
    latest = shot.latest.number if shot.latest else 0
    return [
        Cell(turn.number, call, turn.number == latest, passages(_whole(call)) if call.name == "search" else [])
        for turn in reversed(shot.turns)
        if not turn.concealed
        for call in tool_calls(turn.info)
    ]


def _whole(call: ToolCall) -> str:
    return f"{call.output}\n{call.folded}" if call.folded else call.output


PROGRAM = ToolForm(
    name="program",
    control="code",
    description="",
    fields=[FormField(name="program", type="string", required=True)],
    style="text",
    before="```python\n",
    after="\n```",
)
"""The form of a programming problem, whose answer is a program in a block."""
