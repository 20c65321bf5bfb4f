"""The command line `gemweb`: list, play and check environments, evaluate agents, replay records, measure speed.

The commands of `gem.cli.server` do on a server what its pages do. Each command is a module with the functions
`add_arguments` and `run`, which returns the exit code. Invalid input gives one sentence on stderr and the exit code 2.
The exit code 1 means that a check or a job has failed, and 3 that a server is not there or has failed.
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType
from typing import Any, NoReturn

import gem
from gem.cli import (
    bench,
    benchmark,
    check,
    compare,
    data,
    envs,
    eval,  # noqa: A004 (the name of the command)
    index,
    learnable,
    play,
    replay,
    reproduce,
    sandbox,
    study,
    verify,
)
from gem.cli.output.terminal import printable
from gem.cli.server import agent, curves, jobs, logs, pull, submit, webhooks
from gem.cli.server.account import login, logout, whoami
from gem.cli.server.boards import challenge, daily, leaderboard, push, ratings, report
from gem.cli.server.episodes import credit, fork, forks, seat
from gem.client.errors import NotAuthenticated, NotFound, ServerFailure, StreamBroken, Unreachable
from gem.errors import GemError, ServerNotThere, UnknownEnvironment
from gem.validation.dependencies import MODULE_HINT, import_modules
from gem.validation.messages import os_error_sentence
from gem.validation.near import did_you_mean

NOT_THERE = (Unreachable, StreamBroken, ServerFailure, ServerNotThere)
"""Errors of a server that is not there or has failed."""
INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended."""
LOGIN_HINT = " gemweb login saves a token for the commands."
"""The sentence that is added when a server does not know who asks."""
GUEST_HINT = " You are not logged in, so only what is open to everybody is found; gemweb login saves a token."
"""The sentence that is added when a server has nothing to show to a guest."""
SERVER_FAILED = 3
"""The exit code when a server is not there or has failed: the same command may work later."""

COMMANDS: Mapping[str, tuple[ModuleType, str]] = {
    "envs": (envs, "List the environments."),
    "play": (play, "Play an environment in the terminal."),
    "eval": (eval, "Let an agent play many episodes and print its scores."),
    "compare": (compare, "Compare two to six runs on the seeds that they share."),
    "replay": (replay, "Re-execute the episodes of a file and compare every turn."),
    "verify": (verify, "Verify a certificate, and that episodes are those it was issued for."),
    "reproduce": (reproduce, "Play or execute a row of a leaderboard here, and print what differs."),
    "data": (data, "Show which problems the environments have here, or fetch them."),
    "bench": (bench, "Measure how fast an environment is on this machine."),
    "benchmark": (benchmark, "List the benchmarks, show one, or check a file."),
    "index": (index, "Make, list and search the indexes of the search tool."),
    "sandbox": (sandbox, "Show how untrusted programs are confined on this machine."),
    "check": (check, "Check whether an environment keeps the contract."),
    "learnable": (learnable, "Check whether there is something to learn in an environment."),
    "study": (study, "Run the trainings of a study, and report what they show."),
    "login": (login, "Save the token of a server, for the commands below."),
    "logout": (logout, "Forget the token of a server."),
    "whoami": (whoami, "Show whose token is used, what it may do, and the quotas."),
    "agent": (agent, "Connect an agent that runs here to a server."),
    "submit": (submit, "Submit an evaluation, a training or a study to a server."),
    "jobs": (jobs, "List the jobs of a server, show one, or pause, resume or cancel one."),
    "logs": (logs, "Print the log of a job, and follow it."),
    "pull": (pull, "Fetch the episodes of a job, an episode, or a checkpoint."),
    "challenge": (challenge, "Let a server draw seeds of a benchmark for you to play here."),
    "push": (push, "Send the episodes of a challenge, which the server executes again."),
    "report": (report, "Send an evaluation made by another program, as reported."),
    "fork": (fork, "Continue an episode from any turn: yourself, or any agent, once or several times."),
    "forks": (forks, "Print the tree of an episode, or write its branches as data for training."),
    "seat": (seat, "Take the seat of an agent that plays live, leave it a note, and hand back."),
    "curves": (curves, "Send the curves of a training that runs elsewhere, and list yours."),
    "credit": (credit, "Print the credit that each turn of an episode got, and what it was worth."),
    "leaderboard": (leaderboard, "Print the ranking of agents on a benchmark."),
    "ratings": (ratings, "Print the duel board: who beats whom."),
    "daily": (daily, "Print the daily seed, and how everybody did."),
    "webhooks": (webhooks, "Let a server send events to your address, and read what was sent."),
}
"""The name of each command, its module and its description."""


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence, and that takes options between the words of a list too."""

    def parse_known_args(self, args: Iterable[str] | None = None, namespace: Any = None) -> Any:
        """See `argparse.ArgumentParser`. What is not known is an error of this command, which its help describes."""
        found, extra = super().parse_known_args(args, namespace)
        if extra and not self._take(found, extra):
            self.error(f"unrecognized arguments: {' '.join(extra)}")
        return found, []

    def _take(self, found: argparse.Namespace, extra: list[str]) -> bool:
        """Add words that follow an option to the list that began before it, which argparse does not do.

        It ends a list at the first option, and one that is empty or optional even before that.
        """
        last = next((action for action in reversed(self._actions) if not action.option_strings), None)
        end = extra.index("--") if "--" in extra else len(extra)
        words = extra[:end] + extra[end + 1 :]
        if last is None or any(word.startswith("-") for word in extra[:end]):
            return False
        values = [self._get_value(last, word) for word in words]
        if last.nargs in ("*", "+"):
            setattr(found, last.dest, [*(getattr(found, last.dest) or []), *values])
            return True
        if last.nargs == "?" and len(values) == 1 and getattr(found, last.dest) == last.default:
            setattr(found, last.dest, values[0])
            return True
        return False

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """See `argparse.ArgumentParser`; for a word that is none of those allowed, the nearest is suggested."""
        if action.choices is not None and value not in action.choices:
            hint = did_you_mean(str(value), map(str, action.choices))
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}. {hint}")

    def error(self, message: str) -> NoReturn:
        """Print the error without the usage and exit with code 2."""
        end = "" if message.endswith((".", "?")) else "."
        self.exit(2, f"{self.prog}: {message}{end} Try {self.prog} --help.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    _open_closed_streams()
    words = sys.argv[1:] if argv is None else argv
    if not words:
        _parser().print_help(sys.stderr)
        return 2
    _replace_what_cannot_be_printed()
    arguments = vars(_parser(words[0]).parse_args(words))
    command, modules = arguments.pop("command"), arguments.pop("module")
    if command in ("check", "play", "verify"):
        arguments["modules"] = modules  # check and verify pass them to other processes, play prints them
    try:
        if command != "check":  # which may be about another package, so it imports them itself
            import_modules(modules)
        code: int = COMMANDS[command][0].run(**arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of the output has closed the pipe, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except GemError as error:
        sentences = f"{printable(str(error))}{_hint(error, command, arguments, modules)}"
        print(f"gemweb {command}: {sentences}", file=sys.stderr)
        return SERVER_FAILED if isinstance(error, NOT_THERE) else 2
    except OSError as error:  # a folder that is a file, a full disk
        print(f"gemweb {command}: {os_error_sentence(error)}", file=sys.stderr)
        return 2
    except SystemExit as stopped:  # no command of ours does that
        print(f"gemweb {command}: {_who_stopped(stopped)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        hint = " The same command continues from here." if arguments.get("out") else ""
        print(f"\ngemweb {command}: stopped.{hint}", file=sys.stderr)
        return INTERRUPTED
    return code


def _who_stopped(stopped: SystemExit) -> str:
    """Say which line, of an environment or of a module that was imported, ended the program."""
    frame = traceback.extract_tb(stopped.__traceback__)[-1]
    return f"{frame.filename}, line {frame.lineno}, ended the program ({stopped!r}); it has to raise an error instead."


def _hint(error: GemError, command: str, arguments: Mapping[str, Any], modules: Sequence[str]) -> str:
    """What may help after this error, as a sentence; empty if nothing is known."""
    if isinstance(error, UnknownEnvironment) and not modules:
        return MODULE_HINT
    if isinstance(error, NotAuthenticated) and command != "login":
        return LOGIN_HINT
    if isinstance(error, NotFound):
        from gem.net.credentials import find_login  # noqa: PLC0415 (the other commands start faster without it)

        return "" if find_login(arguments.get("url")).token else GUEST_HINT
    return ""


def _open_closed_streams() -> None:
    """Read nothing, and write to nowhere, where somebody has started the program without a standard stream (`>&-`)."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 (for the whole program)


def _replace_what_cannot_be_printed() -> None:
    """Show a question mark where a terminal has no sign such as − or µ."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _parser(first: str = "") -> Parser:
    """The parser of the command that the first word names, or of all of them, which takes longer than many run."""
    parser = Parser(prog="gemweb", description="Environments for language-model agents.")
    parser.add_argument("--version", action="version", version=f"gemweb {gem.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    names = [first] if first in COMMANDS else COMMANDS
    for name in names:
        module, text = COMMANDS[name]
        command_parser = commands.add_parser(name, help=text, description=text)
        command_parser.add_argument(
            "--module", action="append", default=[], help="import this module first; it registers environments"
        )
        module.add_arguments(command_parser)
    return parser
