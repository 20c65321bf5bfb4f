r"""Work on a task in a shell: look around, change files, write and repair small programs, and hand in.

Rules:
    You have a shell (bash) in a directory with some files, and a task. In each turn you run one command, which may
    have several lines, and read its output. Files, the current directory and exported variables persist between turns.
    Processes do not: all of them end with the command. There is no network. A command may take 20 seconds, 512 MiB of
    memory and 32 MiB of disk. It may leave 1 MiB in the working directory; a command that leaves more is undone. When
    you are done you hand in, and the checks of the task run. There are 16 tasks in three difficulties, with other
    numbers and names for every seed.

Actions:
    `<bash>COMMAND</bash>` runs a command, `<finish></finish>` hands in. The last of them in a text counts. GEM's form
    `<bash>cmd: "COMMAND"</bash>` works too.

Rewards:
    When you hand in, the share of the task's checks that hold; success means that all of them hold. A check that
    something has not been changed earns nothing, but if one fails, the reward is halved. 0 for every other turn. The
    checks also run at the turn limit, with the same reward, but this never counts as a success. -0.1 for an action
    that cannot be parsed, which ends the episode.

Replay:
    The output of every command and its changes are in the turn's `info["shell"]`, so an episode is replayed from its
    record without running anything. Verifying it runs every command again. Where a command reads the clock or draws
    random numbers, what it gave is taken from the record, and the verification says so. The result also depends on the
    programs of the machine.

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
from gem.envs.game import Game, PlayResult
from gem.envs.terminal import TURNS, easy, hard, medium
from gem.envs.terminal.repeating import settle
from gem.envs.terminal.task import TASKS, Facts, Level, Task, WorkingDirectory, tasks_of_level
from gem.envs.terminal.tips import TIPS
from gem.errors import InvalidArgument
from gem.rng import SplitMix64, choice
from gem.sandbox.command import CommandResult, ShellLimits, ShellState
from gem.sandbox.inside.files.tree import Tree
from gem.sandbox.inside.settings import HOME
from gem.sandbox.shell import EPOCH, execute
from gem.views import Key, StyledText, TerminalExchange, TerminalView
from gem.views.ansi import plain, spans

MODULES = (easy, medium, hard)
"""The modules that register the tasks, in the order of difficulty."""
FINISH = "<finish></finish>"
MAX_SHOWN_EXCHANGES = 25
MAX_SHOWN_CHARS = 6_000
"""Characters of a command's output that the view shows."""
UNRECORDED: dict[str, Any] = {
    "output": "[what came back is not in the record]", "code": None, "shell": "", "changed": {}, "gone": [],
    "checks": [["the checks are in the record", False]],
}  # fmt: skip
"""What a replay uses for a turn whose record is incomplete; the command is not run again."""
TURN_SECONDS = 60
"""The time between the turns, in seconds, by which the modification times of files advance."""


@dataclass(frozen=True, slots=True)
class Config:
    """The constructor's arguments."""

    level: Level
    task: str
    max_turns: int


class ActionPattern:
    r"""What `re.compile(r"<bash>(.*?)</bash>|<(finish)\s*/?>", re.DOTALL)` finds, in time linear in the text.

    The expression would search for the end of each `<bash>` that has none.
    """

    _TAGS = re.compile(r"<bash>|</bash>|<finish\s*/?>")

    def findall(self, text: str) -> list[tuple[str, str]]:
        """The actions in a text: a command and "", or "" and "finish"."""
        last_end = text.rfind("</bash>")
        found: list[tuple[str, str]] = []
        start = -1
        for tag in self._TAGS.finditer(text):
            if start >= 0:
                if tag[0] == "</bash>":
                    found.append((text[start : tag.start()], ""))
                    start = -1
            elif tag[0] == "<bash>" and tag.end() <= last_end:
                start = tag.end()
            elif tag[0].startswith("<finish"):
                found.append(("", "finish"))
        return found

    def search(self, text: str) -> bool:
        """Whether there is an action in a text."""
        return bool(self.findall(text))


class Terminal(Game):
    """See the module's documentation, which is also the catalog page."""

    pattern = ActionPattern()  # type: ignore[assignment]
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
        self.max_turns = self.config.max_turns
        self.limits = ShellLimits()
        self.task: Task = TASKS[task] if task else tasks_of_level(level)[0]
        self.tree: Tree = {}
        """The working directory."""
        self.shell: ShellState = ""
        """The shell's current directory and its exported variables."""
        self.exchanges: list[list[Any]] = []
        """Prompt, command, output and exit code of each command so far."""
        self._facts: Facts = {}
        self._turn_output: dict[str, Any] = {}
        """The result of this turn from the sandbox: a command's output and changes, or the results of the checks."""
        self._recorded_output: dict[str, Any] | None = None
        """The result from the record of an earlier run; if there is one, nothing is run in the sandbox."""
        self._to_compare: object = None
        """What the record says of this turn, while a record is verified."""
        self._check_results: list[tuple[str, bool]] = []
        """Name of each check and whether it holds; empty before the checks run."""

    # ------------------------------------------------------------------ the episode

    def _draw(self) -> None:
        self.task = TASKS[self.config.task] if self.config.task else choice(self.rng, tasks_of_level(self.config.level))
        self.tree, facts = self.task.prepare(self.rng)
        self._facts = json.loads(json.dumps(facts))
        self.shell, self.exchanges, self._check_results, self._recorded_output = "", [], [], None
        self.unrepeated = ()

    @property
    def instruction(self) -> str:
        """The instruction of this instance of the task."""
        return self.task.instruction.format_map(self._facts)

    def _instructions(self) -> str:
        return (
            f"You have a shell in a working directory. {self.instruction}\n"
            f"Run one command in each turn with <bash>COMMAND</bash>; when you are done, hand in with {FINISH}. "
            f"You have {self.max_turns} turns."
        )

    def _play(self, match: tuple[str, str]) -> PlayResult:
        if match[1]:
            reward = self._check()
            self.over, self.solved = True, all(is_right for _, is_right in self._check_results)
            return f"You handed in. {self._verdict()}", reward, None
        command = _parse_command(match[0])
        if not command.strip():
            return "There is no command between <bash> and </bash>.", 0.0, "rule"
        self._turn_output = self._run(command) if self._recorded_output is None else self._recorded_output
        output = self._turn_output["output"]
        self.exchanges.append([self.prompt_folder, command, output, self._turn_output["code"]])
        self.shell = self._turn_output["shell"] or self.shell
        self.tree = _apply_changes(self.tree, self._turn_output)
        return plain(output) or "(no output)", 0.0, None

    def step(self, action: str) -> Step:
        """See `Game.step`. `info["shell"]` has the result from the sandbox."""
        self._turn_output = {}
        try:
            observation, reward, terminated, truncated, info = super().step(action)
        finally:
            self._recorded_output = self._to_compare = None
        if self._turn_output:
            info["shell"] = self._turn_output
        return observation, reward, terminated, truncated, info

    def feed_tape(self, recorded: Info, *, repeat: bool = False) -> None:
        """See `Env.feed_tape`. With `repeat` every command is run again (see `repeating`)."""
        self._to_compare = recorded.get("shell") if repeat else None
        self._recorded_output = None if repeat else {**UNRECORDED, **recorded.get("shell", {})}

    def _run(self, command: str) -> dict[str, Any]:
        """Run a command and return its result; while a record is verified, that of the record if it does not repeat."""
        found = self._run_once(command)
        if not isinstance(self._to_compare, dict):
            return found
        compared = {name: value for name, value in self._to_compare.items() if name != "checks"}  # of the last turn
        if found == compared:
            return found
        recorded = settle(compared, found, lambda: self._run_once(command))
        if recorded is None:
            return found
        self.unrepeated = ("the shell",)
        return recorded

    def _run_once(self, command: str) -> dict[str, Any]:
        """Run a command; return its output and what it has changed."""
        result = execute(command, self.tree, shell=self.shell, limits=self.limits)
        tree = self.tree if result.tree is None else self._with_turn_times(result.tree)
        return {
            "output": _format_output(result, self.limits),
            "code": result.exit_code,
            "shell": result.shell,
            "changed": {path: entry for path, entry in tree.items() if self.tree.get(path) != entry},
            "gone": [path for path in self.tree if path not in tree],
        }

    def _with_turn_times(self, tree: Tree) -> Tree:
        """The tree with the time of this turn for everything that has changed, so that every replay has equal times."""
        now = EPOCH + TURN_SECONDS * self.turn
        return {
            path: [*entry[:3], self.tree[path][3] if path in self.tree and self.tree[path][:3] == entry[:3] else now]
            for path, entry in tree.items()
        }

    def _check(self) -> float:
        """Run the checks and return their reward."""
        if self._recorded_output is None:
            self._turn_output["checks"] = [
                list(check) for check in self.task.checks(self._facts, WorkingDirectory(self.tree))
            ]
        else:
            self._turn_output = self._recorded_output
        checks = self._turn_output["checks"]
        self._check_results = [(check[0], check[1]) for check in checks]
        results = [check[1] for check in checks if len(check) == 2]
        guards_hold = all(check[1] for check in checks if len(check) == 3)
        return float(sum(results) / len(results) * (1.0 if guards_hold else 0.5))

    def _verdict(self) -> str:
        num_right = sum(is_right for _, is_right in self._check_results)
        failed = "; ".join(name for name, holds in self._check_results if not holds)
        return f"{num_right} of {len(self._check_results)} checks hold{f'; these do not: {failed}' if failed else ''}."

    def _reward_at_limit(self, reward: float) -> float:
        return self._check()

    # ------------------------------------------------------------------ what there is to see

    @property
    def prompt_folder(self) -> str:
        """The shell's current directory as a prompt writes it, with ~ for the working directory."""
        folder = self.shell.partition("\n")[0] or HOME
        return "~" + folder.removeprefix(HOME) if f"{folder}/".startswith(f"{HOME}/") else folder

    def _suffix(self) -> str:
        return f"agent:{self.prompt_folder}$\n{self.prompt}"

    def _format_help(self) -> str:
        return f"There is no action in your answer. Write <bash>COMMAND</bash> or {FINISH}. The episode ends."

    def _random_action(self, rng: SplitMix64) -> str:
        """An action that does not depend on the task: look around, read a file, hand in."""
        files = [path for path in self.tree if self.tree[path][0] == "file"] or ["."]
        path = f"~/{choice(rng, files)}"
        commands = ("pwd", "ls -la ~", "find ~ -type f", f"cat '{path}'", f"head -n 5 '{path}'", f"wc '{path}'")
        command = choice(rng, (*commands, f"ls -l '{path}'", ""))
        return f"<bash>{command.replace('~/', f'{HOME}/')}</bash>" if command else FINISH

    def next_step(self, number: int, typed: str = "") -> str | None:
        """The step `number` (from 0) of a way to solve the task, in words; the last one for larger numbers."""
        steps = TIPS[self.task.name]
        return steps[min(number, len(steps) - 1)]

    # ------------------------------------------------------------------ state and picture

    def _get_own_state(self) -> State:
        return {
            "task": self.task.name,
            "facts": json.loads(json.dumps(self._facts)),
            "tree": {path: list(entry) for path, entry in self.tree.items()},
            "shell": self.shell,
            "done": [
                [place, command, output[-MAX_SHOWN_CHARS:], code]
                for place, command, output, code in self._shown_exchanges
            ],
            "checked": [list(check) for check in self._check_results],
        }

    @property
    def _shown_exchanges(self) -> list[list[Any]]:
        return self.exchanges[-MAX_SHOWN_EXCHANGES:]

    def _set_own_state(self, state: State) -> None:
        self.task = TASKS[state["task"]]
        self._facts = json.loads(json.dumps(state["facts"]))
        self.tree = {path: list(entry) for path, entry in state["tree"].items()}
        self.shell = state["shell"]
        self.exchanges = [list(exchange) for exchange in state["done"]]
        self._check_results = [(name, right) for name, right in state["checked"]]

    def view(self, seat: int = 0) -> TerminalView:
        """The terminal's screen. Typed text is run as a command."""
        view = TerminalView(
            kind="terminal",
            name=f"Terminal, {len(self.exchanges)} commands so far",
            task=self.instruction if self.seed is not None else "",
            exchanges=[_exchange(*exchange) for exchange in self._shown_exchanges],
            facts=[("Task", self.task.name)],
        )
        if view["exchanges"]:
            view["exchanges"][-1]["last"] = True
        if self._check_results:
            view["notes"] = [("Checks", [f"{'✓' if right else '✗'} {name}" for name, right in self._check_results])]
        if not self.over:
            view["prompt"] = f"agent:{self.prompt_folder}$"
            view["say"], view["ask"] = ("<bash>", "</bash>"), "A command"
            view["keys"] = [[Key(text="Hand in", label="Hand in: the checks run", act=FINISH)]]
        return view


def _parse_command(text: str) -> str:
    """The command in an action; GEM writes it as YAML: `cmd: "ls"`, or `cmd: |` and indented lines."""
    start = re.match(r"\s*cmd:[ \t]*", text)
    if start is None:
        return text.strip("\n")
    value = text[start.end() :].rstrip()
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


def _apply_changes(tree: Tree, turn_output: dict[str, Any]) -> Tree:
    """The tree after a command's changes, sorted by path."""
    entries = {path: entry for path, entry in tree.items() if path not in turn_output["gone"]} | turn_output["changed"]
    return {path: list(entries[path]) for path in sorted(entries)}


def _format_output(result: CommandResult, limits: ShellLimits) -> str:
    """The output of a command, followed by a note if it failed or was stopped."""
    endings = {
        "timeout": f"[ended after {limits.seconds:g} s; what it had written to files is kept]",
        "memory": f"[ended: more than {limits.memory_bytes >> 20} MiB of memory]",
        "output": "[ended: too much output]",
        "files": f"[undone: the working directory would hold {result.excess}]",
    }
    note = endings.get(result.status, f"[exit code {result.exit_code}]" if result.exit_code else "")
    return "\n".join(part for part in (result.output.rstrip("\n"), note) if part)


def _exchange(place: str, command: str, output: str, code: int | None) -> TerminalExchange:
    runs = [
        StyledText(text=text, style=style) if style else StyledText(text=text)
        for text, style in spans(output[-MAX_SHOWN_CHARS:])
    ]
    exchange = TerminalExchange(prompt=f"agent:{place}$", command=command, output=runs)
    if code:
        exchange["failed"] = True
    return exchange
