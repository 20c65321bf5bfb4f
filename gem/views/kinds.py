"""The types that `Env.view()` may return: pictures of an episode as plain data, from which a page draws the board.

A view contains the actions that clicks and keys send, so a new environment needs no HTML. Each kind has one template,
`templates/boards/<kind>.html`.
"""

from typing import Any, Literal, NotRequired, TypedDict

from gem.views.cube import Cube

Tone = Literal[
    "hidden", "open", "floor", "wall", "given", "entry", "mark", "found", "hit", "near", "miss", "bad", "blank",
    "tile", "void",
]  # fmt: skip
Peg = Literal["black", "white", "none"]
Piece = Literal["flag", "mine", "box", "player", "target", "disc", "ring"]


class Cell(TypedDict):
    """One cell of a grid."""

    tone: Tone
    """What the cell is, which decides its colour."""
    label: str
    """The name for screen readers: "Row 7, column 2: unopened"."""
    text: NotRequired[str]
    piece: NotRequired[Piece]
    act: NotRequired[str]
    """The action that a click or Enter sends."""
    alt: NotRequired[str]
    """The action that a right click or the key F sends."""
    part: NotRequired[str]
    """What this cell adds to a composed action (see `Compose`)."""
    n: NotRequired[int]
    """A number that is shown in a colour of its own (Minesweeper)."""
    corner: NotRequired[str]
    """A small text in the corner: the number of a clue."""
    power: NotRequired[int]
    """The exponent of two on a tile (2048)."""
    last: NotRequired[bool]
    """Whether the last action changed this cell."""
    target: NotRequired[bool]
    """Whether the cell is a target (Sokoban)."""


class Key(TypedDict):
    """A button beside or under the board; the key of the keyboard that `text` names works as well."""

    text: str
    label: str
    """The name for screen readers, with the state of the key: "E, in the word"."""
    tone: NotRequired[Tone]
    act: NotRequired[str]
    """The action that it sends at once."""
    part: NotRequired[str]
    """What it adds to a composed action (see `Compose`)."""


class Compose(TypedDict):
    """An action that is composed of several picks: `before`, their parts joined by `between`, and `after`.

    The last pick sends the action, or Enter if `confirm` is set. Backspace and Escape take picks back.
    """

    picks: list[Literal["place", "key"]]
    """What is picked, in order: a "place" (a cell of a grid, a tower) or a "key" (an entry of `keys`)."""
    prompts: list[str]
    """An instruction for each pick: "Choose a cell", "Choose a digit"."""
    before: str
    between: str
    after: str
    keys: NotRequired[list[list[Key]]]
    """Rows of buttons."""
    confirm: NotRequired[bool]
    fewest: NotRequired[int]
    """The least number of picks that Enter sends, such as 1 where a letter is as good as a word; by default all."""
    most: NotRequired[list[int]]
    """For picks that are numbers, the largest that each of them may be; larger keys cannot be pressed."""
    steps_on: NotRequired[bool]
    """Whether the next free place in the same direction is chosen after a turn, as one fills in a word."""


class GridView(TypedDict):
    """A board of cells in rows of equal length."""

    kind: Literal["grid"]
    name: str
    """What the board is, with its size: "Minesweeper, 8 rows, 8 columns"."""
    rows: list[list[Cell]]
    coords: NotRequired[bool]
    """Whether to show row and column indices, for actions that contain them."""
    origin: NotRequired[Literal[0, 1]]
    """The index of the first row and column, by default 0."""
    room: NotRequired[bool]
    """Whether to leave no gaps between the cells, so that walls and floor form one picture."""
    boxes: NotRequired[int]
    """The side of the boxes with thick borders (Sudoku)."""
    size: NotRequired[Literal["xs", "s", "l"]]
    keys: NotRequired[dict[str, str]]
    """A key (as in `KeyboardEvent.key`) to the action that it sends at once."""
    compose: NotRequired[Compose]
    notes: NotRequired[list[tuple[str, list[str]]]]
    """Lists with headings beside the board: the clues of a crossword, the words to search."""
    facts: NotRequired[list[tuple[str, str]]]
    """Label and value pairs beside the turn counter: ("Mines left", "10")."""
    legend: NotRequired[list[tuple[str, str]]]
    """Input and meaning pairs under the board: ("F", "flag")."""


class LetterRow(TypedDict):
    """One guess."""

    cells: list[Cell]
    label: str
    """The guess and its result, for screen readers."""
    pegs: NotRequired[list[Peg]]
    """One peg for each cell, in an order of their own (Mastermind)."""
    draft: NotRequired[bool]
    """Whether this is the empty row that the picks of the next action fill."""


class Gallows(TypedDict):
    """The drawing of Hangman."""

    stage: int
    """How much is drawn, from 0 (only the gallows) to 6 (everything)."""
    label: str
    """The state in words: "4 wrong guesses, 6 turns left"."""


class LettersView(TypedDict):
    """Guesses of letters or digits: rows of coloured cells or the slots of one word, and the keys to type on."""

    kind: Literal["letters"]
    name: str
    rows: list[LetterRow]
    slots: NotRequired[list[Cell]]
    """The letters of the word that are known (Hangman)."""
    gallows: NotRequired[Gallows]
    keys: list[list[Key]]
    """Rows of keys, coloured by what is known of each; those of the next action have a `part`."""
    compose: NotRequired[Compose]
    """Absent once the episode is over."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Tower(TypedDict):
    """One tower of disks."""

    text: str
    """The letter of the tower, which is also its key."""
    label: str
    """The name for screen readers: "Tower A: disks 3, 2"."""
    disks: list[int]
    """The sizes of the disks from bottom to top, 1 for the smallest."""
    part: NotRequired[str]
    """What choosing the tower adds to the action; absent once the episode is over."""
    last: NotRequired[bool]
    """Whether the last action moved its top disk."""


class TowersView(TypedDict):
    """Towers of disks. An action is composed of the tower to lift from and the tower to put on."""

    kind: Literal["towers"]
    name: str
    towers: list[Tower]
    compose: NotRequired[Compose]
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Link(TypedDict):
    """A link on a page."""

    text: str
    act: NotRequired[str]
    """The action that following the link sends; absent once the episode is over."""
    seen: NotRequired[bool]
    """Whether it leads to a page that was visited before."""
    chosen: NotRequired[bool]
    """Whether it is a choice that has been made."""
    group: NotRequired[str]
    """The heading of the group of choices that the link belongs to."""
    note: NotRequired[str]
    """A remark beside the link."""


class LinksView(TypedDict):
    """A page of text and the links on it."""

    kind: Literal["links"]
    name: str
    title: str
    """The title of the page."""
    text: str
    links: list[Link]
    trail: list[str]
    """The pages visited so far, this one last; empty if the path does not matter."""
    cards: NotRequired[bool]
    """Whether the links with a note are things to choose from, such as products, with a price behind a dot."""
    goal: NotRequired[str]
    """The page that should be reached."""
    task: NotRequired[str]
    """The task in words."""
    say: NotRequired[tuple[str, str]]
    """What stands before and after a typed text in an action; absent if nothing is typed."""
    ask: NotRequired[str]
    """The label of the text field: "Words to search for"."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Message(TypedDict):
    """One message of a conversation."""

    who: str
    """The sender in words: "You", "The customer", "find_order"."""
    side: Literal["own", "other", "tool", "note"]
    """The seat that the view is for, another party, the output of a tool, or a remark of the environment."""
    text: str
    last: NotRequired[bool]
    """Whether it came with the last action."""


class ChatView(TypedDict):
    """A conversation, facts beside it, and ways to send a message."""

    kind: Literal["chat"]
    name: str
    messages: list[Message]
    """The messages, the oldest first."""
    say: NotRequired[tuple[str, str]]
    """What stands before and after a typed text in an action; absent if nothing is typed."""
    ask: NotRequired[str]
    """The label of the text field: "A message to the customer"."""
    keys: NotRequired[list[list[Key]]]
    """Rows of buttons that send an action at once; absent once the episode is over."""
    compose: NotRequired[Compose]
    notes: NotRequired[list[tuple[str, list[str]]]]
    """Lists with headings beside the conversation: the policy, the tools, the own values."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class StyledText(TypedDict):
    """A piece of the output of a program in one style."""

    text: str
    style: NotRequired[str]
    """Names of `gem.views.ansi.STYLES`, separated by spaces."""


class TerminalExchange(TypedDict):
    """A command and its output."""

    prompt: str
    command: str
    output: list[StyledText]
    failed: NotRequired[bool]
    """Whether it ended with an exit code other than 0."""
    last: NotRequired[bool]
    """Whether it was the last action."""


class TerminalView(TypedDict):
    """The screen of a shell: the commands so far, the oldest first, and the prompt for the next one."""

    kind: Literal["terminal"]
    name: str
    task: str
    """The task in words."""
    exchanges: list[TerminalExchange]
    prompt: NotRequired[str]
    """The prompt of the shell; absent once the episode is over."""
    say: NotRequired[tuple[str, str]]
    """What stands before and after a typed text in an action."""
    ask: NotRequired[str]
    """The label of the text field: "A command"."""
    keys: NotRequired[list[list[Key]]]
    """Rows of buttons that send an action at once; absent once the episode is over."""
    notes: NotRequired[list[tuple[str, list[str]]]]
    """Lists with headings beside the screen: which checks hold."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class TextView(TypedDict):
    """Plain text, for environments without a picture."""

    kind: Literal["text"]
    name: str
    text: str
    cube: NotRequired[Cube]
    """The cube that the text describes."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class Picture(TypedDict):
    """One picture."""

    src: str
    """A `data:` URL of a PNG, JPEG, GIF or WebP (see `gem.views.images`)."""
    label: str
    """The name for screen readers."""


class ImageView(TypedDict):
    """Pictures and a text that belong together."""

    kind: Literal["image"]
    name: str
    pictures: list[Picture]
    text: str
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


class CodeTest(TypedDict):
    """The result of a program in one test."""

    label: str
    """The heading, also for screen readers: "Test 3: wrong answer"."""
    status: Literal["passed", "failed", "left"]
    """`left` means that the test was not run."""
    words: str
    """The status in words: "out of time"."""
    given: str
    """The input of the program, or the call of its function."""
    wanted: str
    """The expected output."""
    got: str
    """The actual output."""
    said: str
    """What the program wrote to standard error, or why the test failed."""


class CodeView(TypedDict):
    """A programming problem, the program, and its result in each test."""

    kind: Literal["code"]
    name: str
    text: str
    """The problem."""
    code: str
    """The program; empty before there is one."""
    tests: list[CodeTest]
    verdict: NotRequired[str]
    """The result in words; absent before there is one."""
    facts: NotRequired[list[tuple[str, str]]]
    legend: NotRequired[list[tuple[str, str]]]


View = GridView | LettersView | TowersView | LinksView | ChatView | CodeView | ImageView | TerminalView | TextView

_ACTION_KEYS = {"act", "alt", "part", "compose"}


def without_actions(view: View) -> View:
    """Return a view without the actions that it offers, as it is shown once the episode is over."""
    stripped: Any = _strip_actions(view)
    stripped.pop("say", None)
    stripped.pop("ask", None)
    stripped.pop("prompt", None)
    if stripped["kind"] in ("grid", "chat", "terminal"):
        stripped.pop("keys", None)  # the keys of other kinds stay, because their colours show what is known
    picture: View = stripped
    return picture


def _strip_actions(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _strip_actions(inner) for name, inner in value.items() if name not in _ACTION_KEYS}
    return [_strip_actions(inner) for inner in value] if isinstance(value, list) else value
