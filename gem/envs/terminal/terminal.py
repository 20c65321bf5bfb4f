r"""Work on a task in a shell: look around, change files, write and mend small programs, and hand in.

Rules:
    You have a shell (bash) in a directory with some files, and a task. Each turn you run one command, of as many lines
    as you like, and read what it writes. The directory, exported variables and files go on to the next turn, running
    programs do not: all processes end with the command. There is no network. A command may take 20 seconds, 512 MiB of
    memory and 32 MiB of disk, and may leave 1 MiB in the working directory; above that it is undone. When you are done
    you hand in, and the checks of the task run. There are 16 tasks in three difficulties, each with its own numbers
    and names for every seed.

Actions:
    `<bash>COMMAND</bash>` runs a command, `<finish></finish>` hands in. The last of them in a text counts. The form
    `<bash>cmd: "COMMAND"</bash>` of GEM is understood too.

Rewards:
    When you hand in, the share of the task's checks that hold; all of them is a success. Checks that something stayed
    as it was earn nothing; if one does not hold, the reward is halved. 0 for everything before. At the turn limit the
    checks run too, with the same reward, but it is no success. -0.1 for an action that cannot be parsed, which ends
    the episode.

Replay:
    What came back of every command, and what it changed, is in the turn's `info["shell"]`: an episode is replayed from
    its record without running anything. Verifying it runs every command again, which gives the same where they do not
    depend on clock, chance or the programs of the machine.

Source:
    GEM (arXiv 2510.01051), whose terminal environment runs the tasks of Terminal-Bench in Docker; tasks, checks and
    sandbox are our own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, get_args

from gem.core import Info, State, Step
from gem.envs.game import Game, Played
from gem.envs.terminal import TURNS, easy, hard, medium
from gem.envs.terminal.task import TASKS, Facts, Level, Place, Task, of_level
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice
from gem.sandbox.command import CommandResult, ShellLimits, ShellState
from gem.sandbox.inside.files.tree import Tree
from gem.sandbox.inside.settings import HOME
from gem.sandbox.shell import EPOCH, execute
from gem.views import Exchange, Key, Run, TerminalView
from gem.views.ansi import plain, spans

MODULES = (easy, medium, hard)
"""What added the tasks, in the order of their difficulty."""
FINISH = "<finish></finish>"
SHOWN_EXCHANGES = 25
SHOWN_CHARS = 6_000
"""Of the output of one command, on the board."""
UNRECORDED: dict[str, Any] = {
    "output": "[what came back is not in the record]", "code": None, "shell": "", "changed": {}, "gone": [],
    "checks": [["the checks are in the record", False]],
}  # fmt: skip
"""What a replay shows of a turn whose record is incomplete; nothing is run for it."""
TURN_SECONDS = 60
"""Files changed in a turn say that they were changed so long after those of the turn before."""


@dataclass(frozen=True, slots=True)
class Config:
    """As the constructor's arguments."""

    level: Level
    task: str
    max_turns: int


class Terminal(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = re.compile(r"<bash>(.*?)</bash>|<(finish)\s*/?>", re.DOTALL)
    prompt = "What do you run?"

    def __init__(
        self, level: Level = "easy", task: str = "", max_turns: int | None = None, seed: int | None = None
    ) -> None:
        super().__init__(seed)
        if level not in get_args(Level):
            raise InvalidArgument(f"level must be one of {', '.join(get_args(Level))}, not {level!r}.")
        if task and task not in TASKS:
            raise InvalidArgument(f"There is no task {task!r}. There are {', '.join(TASKS)}.")
        if max_turns is not None and max_turns < 1:
            raise InvalidArgument(f"max_turns must be at least 1, not {max_turns}.")
        level = TASKS[task].level if task else level
        self.config = Config(level, task, TURNS[level] if max_turns is None else max_turns)
        self.limits = ShellLimits()
        self.task: Task = TASKS[task] if task else of_level(level)[0]
        self.tree: Tree = {}
        """The working directory."""
        self.shell: ShellState = ""
        """Where the shell is, and its variables."""
        self.done: list[list[Any]] = []
        """Prompt, command, output and exit code of each command so far."""
        self._facts: Facts = {}
        self._came: dict[str, Any] = {}
        """What came out of the sandbox in this turn: an output and what it changed, or the result of the checks."""
        self._fed: dict[str, Any] | None = None
        """The same, from the record of an earlier play: then the sandbox is not asked."""
        self._checked: list[tuple[str, bool]] = []

    # ------------------------------------------------------------------ the episode

    def _draw(self) -> None:
        self.max_turns = self.config.max_turns
        self.task = TASKS[self.config.task] if self.config.task else choice(self.rng, of_level(self.config.level))
        self.tree, facts = self.task.prepare(self.rng)
        self._facts = json.loads(json.dumps(facts))
        self.shell, self.done, self._checked, self._fed = "", [], [], None

    @property
    def asked(self) -> str:
        """The task in words."""
        return self.task.instruction.format_map(self._facts)

    def _instructions(self) -> str:
        return (
            f"You have a shell in a working directory. {self.asked}\n"
            f"Run one command in each turn with <bash>COMMAND</bash>; when you are done, hand in with {FINISH}. "
            f"You have {self.max_turns} turns."
        )

    def _play(self, match: tuple[str, str]) -> Played:
        if match[1]:
            reward = self._check()
            self.over, self.solved = True, all(right for _, right in self._checked)
            return f"You handed in. {self._verdict()}", reward, None
        command = _command(match[0])
        if not command.strip():
            return "There is no command between <bash> and </bash>.", 0.0, "rule"
        self._came = self._run(command) if self._fed is None else self._fed
        output = self._came["output"]
        self.done.append([self.place, command, output, self._came["code"]])
        self.shell = self._came["shell"] or self.shell
        self.tree = _changed(self.tree, self._came)
        return plain(output) or "(no output)", 0.0, None

    def step(self, action: str) -> Step:
        """As `Game.step`; `info["shell"]` has what came out of the sandbox."""
        self._came = {}
        try:
            observation, reward, terminated, truncated, info = super().step(action)
        finally:
            self._fed = None
        if self._came:
            info["shell"] = self._came
        return observation, reward, terminated, truncated, info

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """As `Env.feed_tape`; with `repeat` every command is run again."""
        self._fed = None if repeat else {**UNRECORDED, **recorded.get("shell", {})}

    def _run(self, command: str) -> dict[str, Any]:
        """Run a command: its output and what it changed."""
        done = execute(command, self.tree, shell=self.shell, limits=self.limits)
        tree = self.tree if done.tree is None else self._dated(done.tree)
        return {
            "output": _told(done, self.limits),
            "code": done.exit_code,
            "shell": done.shell,
            "changed": {path: entry for path, entry in tree.items() if self.tree.get(path) != entry},
            "gone": [path for path in self.tree if path not in tree],
        }

    def _dated(self, tree: Tree) -> Tree:
        """The tree with the times of the turn for what has changed: a clock that every replay shares."""
        now = EPOCH + TURN_SECONDS * self.turn
        return {
            path: [*entry[:3], self.tree[path][3] if path in self.tree and self.tree[path][:3] == entry[:3] else now]
            for path, entry in tree.items()
        }

    def _check(self) -> float:
        """Run the checks; what they are worth."""
        if self._fed is None:
            self._came["checks"] = [list(check) for check in self.task.checks(self._facts, Place(self.tree))]
        else:
            self._came = self._fed
        checks = self._came["checks"]
        self._checked = [(check[0], check[1]) for check in checks]
        gains = [check[1] for check in checks if len(check) == 2]
        kept = all(check[1] for check in checks if len(check) == 3)
        return float(sum(gains) / len(gains) * (1.0 if kept else 0.5))

    def _verdict(self) -> str:
        right = sum(right for _, right in self._checked)
        wrong = "; ".join(name for name, holds in self._checked if not holds)
        return f"{right} of {len(self._checked)} checks hold{f'; these do not: {wrong}' if wrong else ''}."

    def _reward_at_limit(self, reward: float) -> float:
        return self._check()

    # ------------------------------------------------------------------ what there is to see

    @property
    def place(self) -> str:
        """Where the shell is, as a prompt writes it."""
        folder = self.shell.partition("\n")[0] or HOME
        return "~" + folder.removeprefix(HOME) if f"{folder}/".startswith(f"{HOME}/") else folder

    def _suffix(self) -> str:
        return f"agent:{self.place}$\n{self.prompt}"

    def _format_help(self) -> str:
        return f"There is no action in your answer. Write <bash>COMMAND</bash> or {FINISH}. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        """Something that one may try without knowing the task: look around, read a file, hand in."""
        files = [path for path in self.tree if self.tree[path][0] == "file"] or ["."]
        path = f"~/{choice(rng, files)}"
        commands = ("pwd", "ls -la ~", "find ~ -type f", f"cat '{path}'", f"head -n 5 '{path}'", f"wc '{path}'")
        command = choice(rng, (*commands, f"ls -l '{path}'", ""))
        return f"<bash>{command.replace('~/', f'{HOME}/')}</bash>" if command else FINISH

    # ------------------------------------------------------------------ state and picture

    def _get_own_state(self) -> State:
        return {
            "task": self.task.name,
            "facts": json.loads(json.dumps(self._facts)),
            "tree": {path: list(entry) for path, entry in self.tree.items()},
            "shell": self.shell,
            "done": [[place, command, output[-SHOWN_CHARS:], code] for place, command, output, code in self._latest],
            "checked": [list(check) for check in self._checked],
        }

    @property
    def _latest(self) -> list[list[Any]]:
        return self.done[-SHOWN_EXCHANGES:]

    def _set_own_state(self, state: State) -> None:
        self.task = TASKS[state["task"]]
        self._facts = json.loads(json.dumps(state["facts"]))
        self.tree = {path: list(entry) for path, entry in state["tree"].items()}
        self.shell = state["shell"]
        self.done = [list(exchange) for exchange in state["done"]]
        self._checked = [(name, right) for name, right in state["checked"]]

    def view(self, seat: int = 0) -> TerminalView:
        """The screen; a typed text is run as a command."""
        view = TerminalView(
            kind="terminal",
            name=f"Terminal, {len(self.done)} commands so far",
            task=self.asked if self.seed is not None else "",
            exchanges=[_exchange(*exchange) for exchange in self._latest],
            facts=[("Task", self.task.name)],
        )
        if view["exchanges"]:
            view["exchanges"][-1]["last"] = True
        if self._checked:
            view["notes"] = [("Checks", [f"{'✓' if right else '✗'} {name}" for name, right in self._checked])]
        if not self.over:
            view["prompt"] = f"agent:{self.place}$"
            view["say"], view["ask"] = ("<bash>", "</bash>"), "A command"
            view["keys"] = [[Key(text="Hand in", label="Hand in: the checks run", act=FINISH)]]
        return view


def _command(text: str) -> str:
    """The command in an action; GEM writes it as YAML: `cmd: "ls"`, or `cmd: |` and indented lines."""
    found = re.fullmatch(r"\s*cmd:[ \t]*(.*?)\s*", text, re.DOTALL)
    if found is None:
        return text.strip("\n")
    value = found[1]
    if value[:1] == "|":
        lines = value.splitlines()[1:]
        indent = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
        return "\n".join(line[indent:] for line in lines)
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return str(json.loads(value))
        except ValueError:
            return value[1:-1]
    return value[1:-1].replace("''", "'") if len(value) > 1 and value[0] == value[-1] == "'" else value


def _changed(tree: Tree, came: dict[str, Any]) -> Tree:
    """The tree after what a command changed, in the order of its paths."""
    kept = {path: entry for path, entry in tree.items() if path not in came["gone"]} | came["changed"]
    return {path: list(kept[path]) for path in sorted(kept)}


def _told(done: CommandResult, limits: ShellLimits) -> str:
    """What a command wrote, and how it ended where that is not plain."""
    words = {
        "timeout": f"[ended after {limits.seconds:g} s; what it had written to files is kept]",
        "memory": f"[ended: more than {limits.memory_bytes >> 20} MiB of memory]",
        "output": "[ended: too much output]",
        "files": f"[undone: the working directory would hold {done.excess}]",
    }
    note = words.get(done.status, f"[exit code {done.exit_code}]" if done.exit_code else "")
    return "\n".join(part for part in (done.output.rstrip("\n"), note) if part)


def _exchange(place: str, command: str, output: str, code: int | None) -> Exchange:
    runs = [Run(text=text, style=style) if style else Run(text=text) for text, style in spans(output[-SHOWN_CHARS:])]
    exchange = Exchange(prompt=f"agent:{place}$", command=command, output=runs)
    if code:
        exchange["failed"] = True
    return exchange
