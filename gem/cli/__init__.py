"""The command line `gemweb`: look at environments, play them, evaluate agents, replay records, measure, check.

Each command is a module with `arguments` (what it takes) and `run` (which does it and returns the exit code).
Bad input ends with one sentence on stderr and exit code 2. Exit code 1 means that what was checked does not hold.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import NoReturn

import gem
from gem.cli import (
    bench,
    check,
    data,
    envs,
    eval,  # noqa: A004 (named as what people type)
    index,
    play,
    replay,
    sandbox,
)
from gem.errors import GemError, UnknownEnvironment
from gem.validation.dependencies import MODULE_HINT, import_modules

INTERRUPTED = 130
"""The exit code of a program that Ctrl-C ended."""

COMMANDS: Mapping[str, tuple[ModuleType, str]] = {
    "envs": (envs, "List the environments."),
    "play": (play, "Play an environment in the terminal."),
    "eval": (eval, "Let an agent play many episodes and print its scores."),
    "replay": (replay, "Re-execute the episodes of a file and compare every turn."),
    "data": (data, "Say what problems the environments have here, or fetch them."),
    "bench": (bench, "Measure how fast an environment is on this machine."),
    "index": (index, "Make, list and try the indexes that the search tool reads."),
    "sandbox": (sandbox, "Say how untrusted programs are confined on this machine."),
    "check": (check, "Check whether an environment keeps the contract."),
}
"""What people type, the module that does it, and what it does in a sentence."""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        """As the base class, without the usage."""
        self.exit(2, f"{self.prog}: {message}. Try {self.prog} --help.\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    if not (sys.argv[1:] if argv is None else argv):
        _parser().print_help(sys.stderr)
        return 2
    arguments = vars(_parser().parse_args(argv))
    command, modules = arguments.pop("command"), arguments.pop("module")
    if command in ("check", "play"):
        arguments["modules"] = modules  # for the other processes that it starts, and for the command that it names
    try:
        import_modules(modules)
        code: int = COMMANDS[command][0].run(**arguments)
        sys.stdout.flush()
    except GemError as error:
        hint = MODULE_HINT if isinstance(error, UnknownEnvironment) and not modules else ""
        print(f"gemweb {command}: {error}{hint}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        go_on = " The same command goes on from there." if arguments.get("out") else ""
        print(f"\ngemweb {command}: stopped.{go_on}", file=sys.stderr)
        return INTERRUPTED
    return code


def _parser() -> Parser:
    parser = Parser(prog="gemweb", description="Environments for language-model agents.")
    parser.add_argument("--version", action="version", version=f"gemweb {gem.__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, (module, text) in COMMANDS.items():
        one = commands.add_parser(name, help=text, description=text)
        one.add_argument(
            "--module", action="append", default=[], help="import this module first; it registers environments"
        )
        module.arguments(one)
    return parser
