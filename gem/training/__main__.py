"""Train a policy.

    python -m gem.training --list
    python -m gem.training --recipe guess-easy --folder runs/guess [--set learning_rate=3e-4]
    python -m gem.training --spec spec.json --folder runs/mine [--module my_environments]
    python -m gem.training --folder runs/guess                      # go on
    python -m gem.training --folder runs/guess --set updates=200    # go on for longer

Exit codes: 0 finished or cancelled, 1 failed, 2 asked for something that cannot be, 75 interrupted by SIGTERM (start
it again to go on).
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
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gem.errors import GemError, UsageError
from gem.registry import NOT_REGISTERED
from gem.training import recipes
from gem.training.run_folder import RunFolder
from gem.training.spec import TrainingSpec, read_spec, with_settings
from gem.validation.dependencies import MODULE_HINT, TRAINING_PACKAGES, import_modules, require_installed

if TYPE_CHECKING:
    from collections.abc import Mapping

logger = logging.getLogger("gem.training")

INTERRUPTED = 75
"""EX_TEMPFAIL: whoever started this may start it again."""
PARENT_SECONDS = 0.5


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    arguments = _parser().parse_args(argv)
    try:
        if arguments.list:
            return _list()
        import_modules(arguments.module)
        spec = _spec(arguments)
        if arguments.with_parent:
            threading.Thread(target=_stop_with, args=(os.getppid(),), daemon=True).start()
        if arguments.log:
            _begin_log(spec)
        require_installed("A training", TRAINING_PACKAGES)
        from gem.training.trainer import TrainingFailed, train  # noqa: PLC0415 (torch takes seconds)

        try:
            ended = train(spec, arguments.folder, _log if arguments.log else None if arguments.quiet else _show)
        except TrainingFailed as error:
            print(f"gem.training: {error}", file=sys.stderr)
            return 1
    except GemError as error:
        hint = MODULE_HINT if NOT_REGISTERED in str(error) and not arguments.module else ""
        print(f"gem.training: {error}{hint}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        print(f"gem.training: {error.name} is not installed: pip install {error.name}", file=sys.stderr)
        return 2
    if int(os.environ.get("RANK", "0")) == 0:
        print(ended if arguments.log else f"{ended}: {arguments.folder}")
    return INTERRUPTED if ended == "interrupted" else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m gem.training", description="Train a policy in an environment.")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--recipe", help="a tested specification; --list shows them")
    what.add_argument("--spec", type=Path, metavar="FILE", help="a specification as JSON")
    parser.add_argument("--folder", type=Path, help="where the run is written, and gone on from (runs/RECIPE)")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="change the specification")
    parser.add_argument(
        "--module", action="append", default=[], help="import this module first; it registers environments"
    )
    parser.add_argument("--list", action="store_true", help="show the recipes")
    parser.add_argument("--quiet", action="store_true", help="print no line for each update")
    parser.add_argument("--log", action="store_true", help="say with times what happens, on the error output")
    parser.add_argument("--with-parent", action="store_true", help="stop, as on SIGTERM, when its parent has gone")
    return parser


def _list() -> int:
    try:
        found = sorted(recipes.all_recipes(), key=lambda recipe: recipe.status != "reproduced here")
        width = max(len(recipe.name) for recipe in found)
        for recipe in found:
            print(f"{recipe.name:<{width}}  {recipe.summary}")
        sys.stdout.flush()
    except BrokenPipeError:  # whoever reads our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _spec(arguments: argparse.Namespace) -> TrainingSpec:
    """What was asked for; with a folder only, what was asked for when it was made.

    Raises:
        UsageError: if that is nothing, or refused.
    """
    if arguments.recipe:
        arguments.folder = arguments.folder or Path("runs") / arguments.recipe
        return read_spec(with_settings(recipes.data(arguments.recipe), arguments.set))
    if arguments.folder is None:
        raise UsageError("Say where the run is written: --folder runs/NAME.")
    if arguments.spec:
        try:
            data = json.loads(arguments.spec.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise UsageError(f"{arguments.spec} cannot be read: {error}.") from error
        return read_spec(with_settings(data, arguments.set))
    stored = RunFolder(arguments.folder).spec()
    if stored is None:
        raise UsageError("Say what to train: --recipe NAME (--list shows them) or --spec FILE.")
    if not arguments.set:
        return stored
    wanted = read_spec(with_settings(stored.model_dump(mode="json"), arguments.set))
    RunFolder(arguments.folder).extend(wanted)
    return wanted


def _stop_with(parent: int) -> None:
    """Send this process a SIGTERM once its parent is another one: whoever started it was killed."""
    while os.getppid() == parent:
        time.sleep(PARENT_SECONDS)
    os.kill(os.getpid(), signal.SIGTERM)


def _begin_log(spec: TrainingSpec) -> None:
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    logger.info("training on %s with %s, %s", spec.env_id, spec.algorithm, spec.model)


def _log(metrics: Mapping[str, float]) -> None:
    logger.info("%s", _line(metrics))


def _show(metrics: Mapping[str, float]) -> None:
    print(_line(metrics), flush=True)


def _line(metrics: Mapping[str, float]) -> str:
    shown = " ".join(f"{name} {metrics[name]:.3f}" for name in ("success", "return", "invalid", "entropy", "kl"))
    return (
        f"update {metrics['update']:.0f} {metrics['seconds']:.0f} s {metrics['turns']:.0f} turns {shown} "
        f"{metrics['turns_per_second']:.0f} turns/s"
    )


if __name__ == "__main__":
    sys.exit(main())
