"""Make one run of a study in a process of its own: `python -m gem.studies.work FOLDER`.

The folder has `plan.json`, the plan, and `run.json`, the run (environment, variant, seed, tuned). The process trains in
`run/` (`gem.training.run_folder`), measures the policy, and writes `result.json`. Started again on the same folder, it
goes on where it was; what is finished there is not repeated.

Exit codes: 0 with a result, 1 failed (the reason is in `reason.txt`), 75 interrupted by SIGTERM.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gem.errors import GemError, UsageError
from gem.studies.results import RunResult, file_text
from gem.studies.study import Run, read_plan
from gem.training.__main__ import EXIT_INTERRUPTED, terminate_with_parent
from gem.training.run_folder import write_atomically
from gem.validation.dependencies import TRAINING_PACKAGES, require_installed

PLAN, RUN, RESULT, REASON, TRAINING = "plan.json", "run.json", "result.json", "reason.txt", "run"
"""The names of what is in the folder."""
EXIT_FAILED = 1


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m gem.studies.work", description="Make one run of a study.")
    parser.add_argument("folder", type=Path, help="with plan.json and run.json")
    parser.add_argument("--with-parent", action="store_true", help="stop, as on SIGTERM, when the parent process ends")
    arguments = parser.parse_args(argv)
    if arguments.with_parent:
        threading.Thread(target=terminate_with_parent, daemon=True).start()
    folder: Path = arguments.folder
    (folder / REASON).unlink(missing_ok=True)
    try:
        with lock(folder):
            require_installed("A study", TRAINING_PACKAGES)
            work(folder)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except GemError as error:
        write_atomically(folder / REASON, f"{error}\n")
        sys.stderr.write(f"gem.studies: {error}\n")
        return EXIT_FAILED
    return 0


def prepare(folder: Path, plan: dict[str, object], run: Run) -> None:
    """Write down what is to be made in a folder, which is made if it does not exist."""
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / PLAN, json.dumps(plan) + "\n")
    write_atomically(folder / RUN, json.dumps(run._asdict()) + "\n")


def work(folder: Path) -> RunResult:
    """Make the run of a folder, and write its result.

    Raises:
        GemError: if it cannot be made; the message says why.
        KeyboardInterrupt: if somebody stopped the training.
    """
    from gem.studies.running import make  # noqa: PLC0415 (imports torch, after its presence was checked)

    study = read_plan(json.loads((folder / PLAN).read_text(encoding="utf-8")), "own")
    run = Run(**json.loads((folder / RUN).read_text(encoding="utf-8")))
    result = make(study, run, folder / TRAINING)
    write_atomically(folder / RESULT, file_text(result))
    return result


def read_result(folder: Path) -> RunResult:
    """The result in a folder."""
    return RunResult.model_validate_json((folder / RESULT).read_bytes())


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Keep other processes from working in a folder within the context.

    Raises:
        UsageError: if another process does.
    """
    with (folder / "work.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(f"Another process works in {folder}.") from error
        yield


if __name__ == "__main__":
    sys.exit(main())
