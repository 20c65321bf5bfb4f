"""Which of the demonstrated defects of GEM's environments does `gemweb check` find?

python -m bench.defects                   # gem-llm 0.1.0, installed beside; some ten minutes of one core
python -m bench.defects --source FOLDER   # a checkout of axon-rl/gem, such as commit 4069f2f
python -m bench.defects 31 31b            # some of them

Each defect is first demonstrated by itself (`reproductions`), for not every version has all of them. Then each
environment is checked with the promises that the defects break. The exit code is 1 below the target.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from bench.defects.defects import DEFECTS, PACKAGE, Defect
from bench.engine.peers import cache_folder, install, word_lists
from gem.check.elsewhere.driver import games, problems
from gem.check.elsewhere.processes import DriverExamination
from gem.check.elsewhere.targets import ALL, Target
from gem.check.promise import Finding

TARGET = 34
REPRODUCTIONS = Path(__file__).with_name("reproductions.py")
NO_NETWORK = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
"""GEM asks for its lists of words again whenever it makes an environment, and waits for the answer."""
RULES = {promise.key for promise in games.PROMISES}
PROBLEMS = {promise.key for promise in problems.PROMISES}


def main() -> int:
    """Print a line for each defect."""
    parser = argparse.ArgumentParser(prog="python -m bench.defects", description=__doc__, usage="%(prog)s [options]")
    parser.add_argument("numbers", nargs="*", metavar="NUMBER", help="the defects; all of them by default")
    parser.add_argument("--source", type=Path, metavar="FOLDER", help="a checkout of GEM in the place of gem-llm")
    parser.add_argument("--python", type=Path, metavar="PATH", help="an interpreter that has GEM's packages already")
    parser.add_argument("--folder", type=Path, default=cache_folder(), help="where packages are installed")
    arguments = parser.parse_args()
    python, missing = (arguments.python, {}) if arguments.python else install(arguments.folder)
    if "gem-llm" in missing:
        raise SystemExit(f"gem-llm cannot be installed here: {missing['gem-llm']}")
    print(f"Word lists: {word_lists(python, arguments.folder)}.")
    words = {"NLTK_DATA": str(arguments.folder / "nltk_data")}
    source = {"PYTHONPATH": str(arguments.source.resolve())} if arguments.source else {}
    os.environ.pop("PYTHONPATH", None)
    os.environ.update({**NO_NETWORK, **words, **source})
    chosen = [defect for defect in DEFECTS if not arguments.numbers or defect.number in arguments.numbers]
    seen = dict(demonstrate(python, [defect.number for defect in chosen]))
    return report(chosen, seen, dict(examine(python, chosen)))


def demonstrate(python: Path, numbers: Sequence[str]) -> Iterator[tuple[str, bool]]:
    """The numbers of the defects, and whether this version has them."""
    done = subprocess.run(
        [str(python), "-W", "ignore", "-P", str(REPRODUCTIONS), *numbers], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"The reproductions failed: {done.stderr.strip().splitlines()[-1]}")
    for line in done.stdout.splitlines():
        row = json.loads(line)
        yield row["number"], row["is_there"]


def examine(python: Path, defects: Sequence[Defect]) -> Iterator[tuple[tuple[str, str], Finding]]:
    """What the check says of each environment, by environment and promise."""
    ids = dict.fromkeys(defect.env_id for defect in defects)
    only = {env_id: [defect.key for defect in defects if defect.env_id == env_id] for env_id in ids}
    for finding in DriverExamination(Target("gem", ALL), str(python), only=only).findings():
        yield (finding.env_id, finding.key), finding


def report(defects: Sequence[Defect], seen: Mapping[str, bool], findings: Mapping[tuple[str, str], Finding]) -> int:
    """Print the table; the exit code."""
    found = 0
    for defect in defects:
        finding = findings.get((defect.env_id, defect.key))
        is_found = finding is not None and finding.status == "wrong"
        found += is_found and seen[defect.number]
        said = {(True, True): "found", (True, False): "NOT FOUND", (False, True): "false alarm"}.get(
            (seen[defect.number], is_found), "not in this version"
        )
        print(f"{defect.number:4} {said:20} {kind_of(defect):24} {defect.what}")
        if finding is not None and is_found:
            print(f"     {finding.title} {finding.detail}"[:180])
    print(f"\n{found} of {sum(seen.values())} that this version has are found; the list has {len(defects)}.")
    return 0 if found >= min(TARGET, sum(seen.values())) else 1


def kind_of(defect: Defect) -> str:
    """What kind of promise tells it."""
    if defect.key in RULES:
        return f"a rule of {defect.env_id.partition(':')[2].partition('-')[0]}"
    if defect.key in PROBLEMS:
        return "GEM's dataset classes"
    return "the package" if defect.env_id == PACKAGE else "every environment"


if __name__ == "__main__":
    sys.exit(main())
