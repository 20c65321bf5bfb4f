"""What `Env.view()` returns: the picture of an episode as plain data, so that a page can draw any environment.

A view carries the action text that a click or a key sends, so a new environment needs no HTML. Each kind has one
template, `templates/boards/<kind>.html`.
"""

from typing import Any, Literal, NotRequired, TypedDict

Tone = Literal[
    "hidden", "open", "floor", "wall", "given", "entry", "mark", "found", "hit", "near", "miss", "bad", "blank",
    "tile", "void",
]  # fmt: skip
Peg = Literal["black", "white", "none"]
Piece = Literal["flag", "mine", "box", "player", "target", "disc", "ring"]


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
    part: NotRequired[str]
    """What picking this cell adds to an action of several picks (see `Compose`)."""
    n: NotRequired[int]
    """A count whose colour helps (Minesweeper)."""
    corner: NotRequired[str]
    """Small text in the corner: the number of a clue."""
    power: NotRequired[int]
    """The exponent of two on a tile (2048)."""
    last: NotRequired[bool]
    """The last action changed this cell."""
    target: NotRequired[bool]


class Key(TypedDict):
    """A button beside or under the board, also reached by the key on a keyboard that `text` names."""

    text: str
    label: str
    """Its name for a screen reader, with its state: "E, in the word"."""
    tone: NotRequired[Tone]
    act: NotRequired[str]
    """The action it sends at once."""
    part: NotRequired[str]
    """What picking it adds to an action of several picks."""


class Compose(TypedDict):
    """An action made of several picks: their parts, put between `before` and `after`.

    `picks` says what is picked, in order: a "place" (a cell of a grid, a tower) or a "key" (an entry of `keys`).
    The last pick sends the action, unless `confirm` is set: then Enter does. Backspace and Escape take picks back.
    """

    picks: list[Literal["place", "key"]]
    prompts: list[str]
    """What to do now, one for each pick: "Choose a cell", "Choose a digit"."""
    before: str
    between: str
    after: str
    keys: NotRequired[list[list[Key]]]
    """Rows of buttons."""
    confirm: NotRequired[bool]
    fewest: NotRequired[int]
    """How many picks Enter sends at least: 1 where a letter is an action as well as a word. Without it, all."""


class GridView(TypedDict):
    """A board of cells, rows of equal length."""

    kind: Literal["grid"]
    name: str
    """What the board is, with its size: "Minesweeper, 8 rows, 8 columns"."""
    rows: list[list[Cell]]
    coords: NotRequired[bool]
    """Show row and column indices (where actions are typed by index)."""
    origin: NotRequired[Literal[0, 1]]
    """What the indices count from, 0 unless told."""
    room: NotRequired[bool]
    """Close the gaps between the cells: walls and floor are one picture."""
    boxes: NotRequired[int]
    size: NotRequired[Literal["xs", "s", "l"]]
    keys: NotRequired[dict[str, str]]
    """Keyboard key (as in `KeyboardEvent.key`) to the action it sends at once."""
    compose: NotRequired[Compose]
    notes: NotRequired[list[tuple[str, list[str]]]]
    """Headed lists beside the board: the clues of a crossword, the words to search."""
    facts: NotRequired[list[tuple[str, str]]]
    """Label and value pairs beside the turn counter: ("Mines left", "10")."""
    legend: NotRequired[list[tuple[str, str]]]
    """Input and meaning pairs under the board: ("F", "flag")."""


class LetterRow(TypedDict):
    """One guess."""

    cells: list[Cell]
    label: str
    """The guess and the answer to it, for a screen reader."""
    pegs: NotRequired[list[Peg]]
    """One for each cell, in no order of the cells (Mastermind)."""
    draft: NotRequired[bool]
    """The empty row that the picks of the next action fill."""


class Gallows(TypedDict):
    """The drawing of Hangman."""

    stage: int
    """0 (nobody hangs) to 6 (all is drawn)."""
    label: str
    """What it says, in words: "4 wrong guesses, 6 turns left"."""


class LettersView(TypedDict):
    """Guesses made of letters or digits: rows of toned cells or the slots of one word, and the keys to type on."""

    kind: Literal["letters"]
    name: str
    rows: list[LetterRow]
    slots: NotRequired[list[Cell]]
    """The word as far as it is known (Hangman)."""
    gallows: NotRequired[Gallows]
    keys: list[list[Key]]
    """Rows of keys with what is known of each; those of the next action have a `part`."""
    compose: NotRequired[Compose]
    """Absent once the episode is over."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Tower(TypedDict):
    """One tower of disks."""

    text: str
    """Its letter, which is also its key."""
    label: str
    """Its name for a screen reader: "Tower A: disks 3, 2"."""
    disks: list[int]
    """Sizes from the bottom to the top, 1 for the smallest."""
    part: NotRequired[str]
    """What choosing it adds to the action; absent once the episode is over."""
    last: NotRequired[bool]
    """Its top disk moved last."""


class TowersView(TypedDict):
    """Towers of disks: choose one to lift from, then one to put on."""

    kind: Literal["towers"]
    name: str
    towers: list[Tower]
    compose: NotRequired[Compose]
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Link(TypedDict):
    """A way out of a page."""

    text: str
    act: NotRequired[str]
    """The action that following it sends; absent once the episode is over."""
    seen: NotRequired[bool]
    """It leads to a page that was visited before."""
    chosen: NotRequired[bool]
    """It is a choice that has been made."""
    group: NotRequired[str]
    """What it is one choice of: links of one group stand together, under this heading."""
    note: NotRequired[str]
    """What stands beside it."""


class LinksView(TypedDict):
    """A page of text and the links on it."""

    kind: Literal["links"]
    name: str
    title: str
    """The page's own title."""
    text: str
    links: list[Link]
    trail: list[str]
    """The pages visited so far, this one last; empty where the way does not matter."""
    goal: NotRequired[str]
    """Where the way should lead."""
    task: NotRequired[str]
    """What is asked for, in words."""
    say: NotRequired[tuple[str, str]]
    """What a typed text is put between to be an action; absent where nothing is typed."""
    ask: NotRequired[str]
    """What the field for it asks for: "Words to search for"."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Message(TypedDict):
    """One contribution to a conversation."""

    who: str
    """Who it comes from, in words: "You", "The customer", "find_order"."""
    side: Literal["own", "other", "tool", "note"]
    """The own seat, another party, the answer of a tool, or a remark of the environment."""
    text: str
    last: NotRequired[bool]
    """It came with the last action."""


class ChatView(TypedDict):
    """A conversation, what there is to know beside it, and what can be said."""

    kind: Literal["chat"]
    name: str
    messages: list[Message]
    """The oldest first."""
    say: NotRequired[tuple[str, str]]
    """What a typed text is put between to be said; absent where nothing can be said."""
    ask: NotRequired[str]
    """What the field for it asks for: "A message to the customer"."""
    keys: NotRequired[list[list[Key]]]
    """Rows of buttons that act at once; absent once the episode is over."""
    compose: NotRequired[Compose]
    notes: NotRequired[list[tuple[str, list[str]]]]
    """Headed lists beside the conversation: the policy, the tools, the own values."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Run(TypedDict):
    """A piece of what a program wrote, in one style."""

    text: str
    style: NotRequired[str]
    """Words of `gem.views.ansi.STYLES` with spaces between."""


class Exchange(TypedDict):
    """A command and what it wrote."""

    prompt: str
    command: str
    output: list[Run]
    failed: NotRequired[bool]
    """It ended with an exit code other than 0."""
    last: NotRequired[bool]
    """It was the last action."""


class TerminalView(TypedDict):
    """The screen of a shell, the oldest command first, and the prompt for the next one."""

    kind: Literal["terminal"]
    name: str
    task: str
    """What is to be done, in words."""
    exchanges: list[Exchange]
    prompt: NotRequired[str]
    """Absent once the episode is over."""
    say: NotRequired[tuple[str, str]]
    """What a typed text is put between to be an action."""
    ask: NotRequired[str]
    """What the field for it asks for: "A command"."""
    keys: NotRequired[list[list[Key]]]
    """Rows of buttons that act at once; absent once the episode is over."""
    notes: NotRequired[list[tuple[str, list[str]]]]
    """Headed lists beside the screen: which checks hold."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class TextView(TypedDict):
    """Plain text: the fallback for an environment that draws nothing."""

    kind: Literal["text"]
    name: str
    text: str
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Picture(TypedDict):
    """One picture."""

    src: str
    """A `data:` address of a PNG, JPEG, GIF or WebP (see `gem.views.images`)."""
    label: str
    """What it is, for a screen reader."""


class ImageView(TypedDict):
    """Pictures and a text that belong together."""

    kind: Literal["image"]
    name: str
    pictures: list[Picture]
    text: str
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class CodeTest(TypedDict):
    """How a program did in one test."""

    label: str
    """For a screen reader and as a heading: "Test 3: wrong answer"."""
    status: Literal["passed", "failed", "left"]
    """`left`: it was not run."""
    words: str
    """The status in words: "out of time"."""
    given: str
    """Its input, or the call."""
    wanted: str
    got: str
    said: str
    """What the program wrote to its standard error, or why the test failed."""


class CodeView(TypedDict):
    """A programming problem, the program, and how it did in each test."""

    kind: Literal["code"]
    name: str
    text: str
    """The problem."""
    code: str
    """The program; empty before there is one."""
    tests: list[CodeTest]
    verdict: NotRequired[str]
    """What came of it, in words; absent before."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


View = GridView | LettersView | TowersView | LinksView | ChatView | CodeView | ImageView | TerminalView | TextView

_ACTS = {"act", "alt", "part", "compose"}


def without_acts(view: View) -> View:
    """The same picture with nothing left to act on: what there is to see once an episode is over."""
    bare: Any = _without_acts(view)
    bare.pop("say", None)
    bare.pop("ask", None)
    bare.pop("prompt", None)
    if bare["kind"] in ("grid", "chat", "terminal"):
        bare.pop("keys", None)  # those of other kinds show what is known
    picture: View = bare
    return picture


def _without_acts(part: Any) -> Any:
    if isinstance(part, dict):
        return {name: _without_acts(value) for name, value in part.items() if name not in _ACTS}
    return [_without_acts(value) for value in part] if isinstance(part, list) else part
