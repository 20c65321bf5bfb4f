"""Train a policy.

    python -m gem.training --list
    python -m gem.training --recipe guess-easy --folder runs/guess [--set learning_rate=3e-4]
    python -m gem.training --spec spec.json --folder runs/mine [--module my_environments]
    python -m gem.training --folder runs/guess                      # resume
    python -m gem.training --folder runs/guess --set updates=200    # resume, for 200 updates in all

Exit codes: 0 finished or cancelled, 1 failed, 2 refused because of invalid arguments, 4 stopped by itself because of an
alarm (see `stop_on`), 75 interrupted by SIGTERM or Ctrl-C, 130 stopped at once by a second Ctrl-C or before the
training had begun (after both, the same command resumes the training).
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.errors import GemError, UsageError
from gem.registry import NOT_REGISTERED
from gem.training import recipes
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec, with_settings
from gem.validation.dependencies import MODULE_HINT, TRAINING_PACKAGES, import_modules, require_installed
from gem.validation.messages import os_error_sentence

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import FrameType

logger = logging.getLogger("gem.training")

EXIT_REFUSED = 2
EXIT_STOPPED = 4
EXIT_INTERRUPTED = 75
"""EX_TEMPFAIL of sysexits.h: the same command may be started again."""
EXIT_STOPPED_AT_ONCE = 130
"""The exit code of a program that Ctrl-C ended."""
PARENT_POLL_SECONDS = 0.5
STOPPING = b"gem.training: stopping after this update. Ctrl-C again stops at once.\n"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        return _list_recipes(as_json=arguments.json) if arguments.list else _run(arguments)
    except GemError as error:
        hint = MODULE_HINT if NOT_REGISTERED in str(error) and not arguments.module else ""
        print(f"gem.training: {error}{hint}", file=sys.stderr)
    except OSError as error:  # a folder that is a file, a full disk
        print(f"gem.training: {os_error_sentence(error)}", file=sys.stderr)
    except ModuleNotFoundError as error:
        print(f"gem.training: {error.name} is not installed: pip install {error.name}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\ngem.training: stopped. The same command continues from the last checkpoint.", file=sys.stderr)
        return EXIT_STOPPED_AT_ONCE
    return EXIT_REFUSED


def _run(arguments: argparse.Namespace) -> int:
    """Train as the arguments say, and return the exit code."""
    import_modules(arguments.module)
    spec = _requested_spec(arguments)
    if arguments.with_parent:
        threading.Thread(target=terminate_with_parent, daemon=True).start()
    if arguments.log:
        _start_log(spec)
    require_installed("A training", TRAINING_PACKAGES)
    from gem.training.failures import TrainingFailed  # noqa: PLC0415 (importing torch takes seconds)
    from gem.training.trainer import train  # noqa: PLC0415 (as above)

    on_update = _log if arguments.log else None if arguments.quiet else _print
    try:
        with _ctrl_c_ends_update():
            state = train(spec, arguments.folder, on_update)
    except TrainingFailed as error:
        print(f"gem.training: {error}", file=sys.stderr)
        return 1
    if int(os.environ.get("RANK", "0")) == 0:
        print(state if arguments.log else f"{state}: {arguments.folder}")
        if state == "stopped":
            print(f"gem.training: {RunFolder(arguments.folder).state().get('reason')}", file=sys.stderr)
    return {"interrupted": EXIT_INTERRUPTED, "stopped": EXIT_STOPPED}.get(state, 0)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gem.training", description="Train a policy in an environment.")
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--recipe", help="a tested specification; --list shows them")
    source.add_argument("--spec", type=Path, metavar="FILE", help="a specification as JSON")
    parser.add_argument("--folder", type=Path, help="where the run is written, and resumed from (runs/RECIPE)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the specification")
    parser.add_argument(
        "--module", action="append", default=[], help="import this module first; it registers environments"
    )
    parser.add_argument("--list", action="store_true", help="show the recipes")
    parser.add_argument("--json", action="store_true", help="with --list, print them as JSON, with what they reached")
    parser.add_argument("--quiet", action="store_true", help="do not print a line for each update")
    parser.add_argument("--log", action="store_true", help="log to standard error, with times")
    parser.add_argument("--with-parent", action="store_true", help="stop, as on SIGTERM, when the parent process ends")
    return parser


def _list_recipes(*, as_json: bool) -> int:
    """Print every recipe, those that were reproduced first."""
    try:
        listing = sorted(recipes.all_recipes(), key=lambda recipe: recipe.status != "reproduced here")
        if as_json:
            print(json.dumps([_as_data(recipe) for recipe in listing], indent=2))
            return 0
        width = max(len(recipe.name) for recipe in listing)
        for recipe in listing:
            print(f"{recipe.name:<{width}}  {recipe.summary}")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _as_data(recipe: recipes.Recipe) -> dict[str, Any]:
    """A recipe for programs. `expected` is what was measured here; None if that was not done in full."""
    result = recipe.result or recipe.self_play_result
    return {
        "name": recipe.name,
        "summary": recipe.summary,
        "status": recipe.status,
        "env_id": recipe.spec["env_id"],
        "algorithm": recipe.spec["algorithm"],
        "expected": None if result is None else result.expected,
        "expected_in_words": recipe.expected,
        "spec": recipe.spec,
    }


def _requested_spec(arguments: argparse.Namespace) -> TrainingSpec:
    """The specification that the arguments name; with a folder only, the one stored in it.

    Raises:
        UsageError: if the arguments name none, or an invalid one.
    """
    if arguments.recipe:
        arguments.folder = arguments.folder or Path("runs") / arguments.recipe
        return read_spec(with_settings(recipes.data(arguments.recipe), arguments.set))
    if arguments.folder is None:
        raise UsageError("Say where the run is written: --folder runs/NAME.")
    if arguments.spec:
        try:
            data = json.loads(arguments.spec.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{arguments.spec} cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise UsageError(f"{arguments.spec} is not JSON: {error}.") from error
        if not isinstance(data, dict):
            raise UsageError(
                f'{arguments.spec} is no specification: it has to be an object, such as {{"env_id": "game:..."}}.'
            )
        return read_spec(with_settings(data, arguments.set))
    stored = RunFolder(arguments.folder).spec()
    if stored is None:
        raise UsageError(
            f"{arguments.folder} has no training to continue. Say what to train: --recipe NAME (--list shows them) or "
            "--spec FILE."
        )
    if not arguments.set:
        return stored
    extended = read_spec(with_settings(stored.model_dump(mode="json"), arguments.set))
    RunFolder(arguments.folder).extend(extended)
    return extended


@contextmanager
def _ctrl_c_ends_update() -> Iterator[None]:
    """Let the first Ctrl-C end the training as SIGTERM does, with a checkpoint; a second one ends it at once."""
    previous = signal.getsignal(signal.SIGINT)
    if previous is not signal.default_int_handler:  # it is ignored, as by nohup, or somebody else handles it
        yield
        return

    def stop(_signal: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:  # the training has not begun, so nothing is lost
            raise KeyboardInterrupt
        os.write(2, STOPPING)  # printing could fail within a signal handler
        signal.raise_signal(signal.SIGTERM)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def terminate_with_parent() -> None:
    """Send this process a SIGTERM once it has another parent, which means that the one that started it has ended."""
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _start_log(spec: TrainingSpec) -> None:
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logger.info("training on %s with %s, %s", spec.env_id, spec.algorithm, spec.model)


def _log(metrics: Mapping[str, float]) -> None:
    logger.info("%s", _format_metrics(metrics))


def _print(metrics: Mapping[str, float]) -> None:
    print(_format_metrics(metrics), flush=True)


def _format_metrics(metrics: Mapping[str, float]) -> str:
    """A line with the most important metrics of an update."""
    results = " ".join(f"{name} {metrics[name]:.3f}" for name in ("success", "return", "invalid", "entropy", "kl"))
    return (
        f"update {metrics['update']:.0f} {metrics['seconds']:.0f} s {metrics['turns']:.0f} turns {results} "
        f"{metrics['turns_per_second']:.0f} turns/s"
    )


if __name__ == "__main__":
    sys.exit(main())
