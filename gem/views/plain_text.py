"""Views as lines of text, for the command line, which colours them, and for small models, which read them plain.

    for line in draw(env.view()):
        print("".join(span.text for span in line))

Of a view with an unknown kind, the text or else the name is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gem.views import View


class Span(NamedTuple):
    """A piece of a line with its tone, which is one of `gem.views.Tone` or of `EXTRA_TONES`."""

    text: str
    tone: str = ""


Line = list[Span]
EXTRA_TONES = ("title", "dim", "box", "player", "target", "flag", "mine", "disc", "ring", "black", "white")

PIECES = {"flag": "F", "mine": "*", "box": "$", "player": "@", "target": ".", "disc": "●", "ring": "○"}
BLANKS = {"hidden": "#", "wall": "█", "floor": " ", "blank": "_", "open": ".", "void": " "}
"""The character for a cell without text, by its tone. An unopened cell differs from an empty one."""
PEGS = {"black": "●", "white": "○", "none": "·"}


def text_of(view: View) -> str:
    """Return the view as plain text."""
    return "\n".join("".join(span.text for span in line).rstrip() for line in draw(view))


def draw(view: View) -> list[Line]:
    """Return the lines of the view, without the actions that it offers."""
    fields: Mapping[str, Any] = view
    render = RENDERERS.get(fields["kind"], _text)
    lines = list(render(fields))
    for heading, entries in fields.get("notes", ()):
        lines += [[Span(heading, "title")], *([Span(f"  {entry}")] for entry in entries)]
    facts = fields.get("facts", ())
    if facts:
        lines.append([Span("   ".join(f"{label}: {value}" for label, value in facts), "dim")])
    return lines


def _grid(view: Mapping[str, Any]) -> Iterator[Line]:
    rows = view["rows"]
    texts = [[_cell(cell) for cell in row] for row in rows]
    width = max((len(text) for row in texts for text in row), default=1)
    gap = "" if view.get("room") and width == 1 else " "
    origin, margin = view.get("origin", 0), ""
    if view.get("coords"):
        width = max(width, len(str(origin + len(rows[0]) - 1)))
        margin = " " * (len(str(origin + len(rows) - 1)) + 1)
        columns = gap.join(str(origin + i).rjust(width) for i in range(len(rows[0])))
        yield [Span(margin + columns, "dim")]
    for number, (row, cells) in enumerate(zip(rows, texts, strict=True)):
        line: Line = [Span(str(origin + number).rjust(len(margin) - 1) + " ", "dim")] if margin else []
        for i, (cell, text) in enumerate(zip(row, cells, strict=True)):
            line += [Span(gap if i else ""), Span(text.rjust(width), cell.get("piece") or cell["tone"])]
        yield line


def _cell(cell: Mapping[str, Any]) -> str:
    piece = cell.get("piece")
    if piece is not None:
        on_target = cell.get("target")
        return {"box": "*", "player": "+"}.get(piece, PIECES[piece]) if on_target else PIECES[piece]
    if cell.get("text"):
        return str(cell["text"])
    if cell.get("target"):
        return PIECES["target"]
    return BLANKS.get(cell["tone"], ".")


def _letters(view: Mapping[str, Any]) -> Iterator[Line]:
    gallows = view.get("gallows")
    if gallows:
        yield [Span(gallows["label"], "bad" if gallows["stage"] else "dim")]
    if view.get("slots"):
        yield _letter_row(view["slots"])
    for row in view["rows"]:
        line = _letter_row(row["cells"])
        if row.get("pegs"):
            line += [Span("  ")] + [Span(PEGS[peg], "dim" if peg == "none" else peg) for peg in row["pegs"]]
        yield line
    for keys in view["keys"]:
        yield [part for key in keys for part in (Span(key["text"], key.get("tone", "")), Span(" "))]


def _letter_row(cells: Sequence[Mapping[str, Any]]) -> Line:
    return [part for cell in cells for part in (Span(cell.get("text") or "_", cell["tone"]), Span(" "))]


def _towers(view: Mapping[str, Any]) -> Iterator[Line]:
    towers = view["towers"]
    height = max(3, *(len(tower["disks"]) for tower in towers))
    widest = max((disk for tower in towers for disk in tower["disks"]), default=1)
    for level in reversed(range(height)):
        line: Line = []
        for tower in towers:
            disks = tower["disks"]
            size = disks[level] if level < len(disks) else 0
            text = "▄" * (2 * size - 1) if size else "│"
            line += [Span(text.center(2 * widest + 1), "tile" if size else "dim")]
        yield line
    yield [Span(tower["text"].center(2 * widest + 1), "title") for tower in towers]


def _links(view: Mapping[str, Any]) -> Iterator[Line]:
    goal = view.get("goal")
    if view.get("task"):
        yield [Span(view["task"], "target")]
    yield [Span(view["title"], "title"), *([Span(f"   goal: {goal}", "target")] if goal else [])]
    yield from ([Span(line)] for line in view["text"].splitlines())
    links_with_notes = [link for link in view["links"] if link.get("note")]
    yield from (
        [Span(link["text"], "dim" if link.get("seen") else "mark"), Span(f"  {link['note']}")]
        for link in links_with_notes
    )
    yield [Span("Links: ", "dim"), *_link_list(link for link in view["links"] if not link.get("note"))]
    if view["trail"]:
        yield [Span("Way: " + " > ".join(view["trail"]), "dim")]


def _link_list(links: Iterable[Mapping[str, Any]]) -> Iterator[Span]:
    for i, link in enumerate(links):
        yield Span(", " if i else "")
        if link.get("chosen"):
            yield Span(f"[{link['text']}]", "found")
        else:
            yield Span(link["text"], "dim" if link.get("seen") else "mark")


def _chat(view: Mapping[str, Any]) -> Iterator[Line]:
    for message in view["messages"]:
        first, *rest = str(message["text"]).splitlines() or [""]
        yield [Span(f"{message['who']}: ", "title"), Span(first)]
        yield from ([Span(f"  {line}")] for line in rest)


def _terminal(view: Mapping[str, Any]) -> Iterator[Line]:
    yield [Span(view["task"], "target")]
    for exchange in view["exchanges"]:
        yield [Span(f"{exchange['prompt']} ", "dim"), Span(exchange["command"], "title")]
        text = "".join(run["text"] for run in exchange["output"])
        yield from ([Span(line)] for line in text.splitlines())
    if view.get("prompt"):
        yield [Span(view["prompt"], "dim")]


def _text(view: Mapping[str, Any]) -> Iterator[Line]:
    for line in str(view.get("text") or view.get("name", "")).splitlines():
        yield [Span(line)]


def _image(view: Mapping[str, Any]) -> Iterator[Line]:
    for picture in view["pictures"]:
        yield [Span(f"[{picture['label']}]", "dim")]
    yield from _text(view)


def _code(view: Mapping[str, Any]) -> Iterator[Line]:
    yield from _text(view)
    for line in view["code"].splitlines():
        yield [Span("    " + line, "found")]
    for test in view["tests"]:
        yield [Span(test["label"], {"passed": "found", "failed": "bad"}.get(test["status"], "dim"))]
    if "verdict" in view:
        yield from ([Span(line, "title")] for line in view["verdict"].splitlines())


RENDERERS = {
    "grid": _grid,
    "letters": _letters,
    "towers": _towers,
    "links": _links,
    "chat": _chat,
    "code": _code,
    "image": _image,
    "terminal": _terminal,
    "text": _text,
}
"""The kind of a view to the function that draws it."""
