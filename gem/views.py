"""What `Env.view()` returns: the picture of an episode as plain data, so that a page can draw any environment.

A view carries the action text that a click or a key sends, so a new environment needs no HTML. Each kind has one
template, `templates/boards/<kind>.html`.
"""

from typing import Literal, NotRequired, TypedDict

Tone = Literal[
    "hidden", "open", "floor", "wall", "given", "entry", "mark", "found", "hit", "near", "miss", "bad", "blank",
    "tile", "void",
]  # fmt: skip
Piece = Literal["flag", "mine", "box", "player", "target"]


class Cell(TypedDict):
    """One cell of a grid. `tone` is what the cell is; the flags say what is the matter with it."""

    tone: Tone
    label: str
    """Its name for a screen reader: "Row 7, column 2: unopened"."""
    text: NotRequired[str]
    piece: NotRequired[Piece]
    act: NotRequired[str]
    """The action that a click or Enter sends; a cell without one cannot be acted on."""
    alt: NotRequired[str]
    """The action of the second verb (right click, or the key F)."""
    n: NotRequired[int]
    """A count whose colour helps (Minesweeper)."""
    power: NotRequired[int]
    """The exponent of two on a tile (2048)."""
    last: NotRequired[bool]
    """The last action changed this cell."""
    target: NotRequired[bool]


class GridView(TypedDict):
    """A board of cells, rows of equal length."""

    kind: Literal["grid"]
    name: str
    """What the board is, with its size: "Minesweeper, 8 rows, 8 columns"."""
    rows: list[list[Cell]]
    coords: NotRequired[bool]
    """Show row and column indices (where actions are typed by index)."""
    room: NotRequired[bool]
    """Close the gaps between the cells: walls and floor are one picture."""
    boxes: NotRequired[int]
    size: NotRequired[Literal["xs", "s", "l"]]
    keys: NotRequired[dict[str, str]]
    """Keyboard key (as in `KeyboardEvent.key`) to the action it sends at once."""
    facts: NotRequired[list[tuple[str, str]]]
    """Label and value pairs beside the turn counter: ("Mines left", "10")."""
    legend: NotRequired[list[tuple[str, str]]]
    """Input and meaning pairs under the board: ("F", "flag")."""


class TextView(TypedDict):
    """Plain text: the fallback for an environment that draws nothing."""

    kind: Literal["text"]
    name: str
    text: str
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


View = GridView | TextView
