"""Hard tasks, which need a plan: a package with bugs, scripts to write or repair, data to put together again."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from gem.envs.terminal.task import Check, Facts, Task, WorkingDirectory, add, gzip_file, tree_of
from gem.envs.terminal.words import NOUNS, PEOPLE, noun
from gem.rng import RandomSource, choice, randint, sample, shuffle
from gem.sandbox.inside.files.tree import Tree

# ------------------------------------------------------------------ a package

_PARSE = '''"""Reading durations such as 1h30m."""

import re

UNITS = {"s": 1, "m": 60, "h": 360, "d": 86400}


def seconds(text):
    """The duration in seconds; ValueError if it is none."""
    parts = re.findall(r"(\\d+)([smhd])", text)
    return sum(int(number) * UNITS[unit] for number, unit in parts)
'''
_SHOW = '''"""Writing durations."""


def show(total):
    """The shortest form: 5400 is 1h30m, 0 is 0s."""
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count = total // size
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)
'''
_MAIN = '''"""Add durations: python3 -m spans 1h30m 45m"""

import sys

from spans.parse import seconds
from spans.show import show

if __name__ == "__main__":
    try:
        print(show(sum(seconds(text) for text in sys.argv[1:])))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
'''


def _package(rng: RandomSource) -> tuple[Tree, Facts]:
    cases = [[randint(rng, 0, 200_000) for _ in range(randint(rng, 1, 3))] for _ in range(4)]
    files = {"spans/__init__.py": "", "spans/parse.py": _PARSE, "spans/show.py": _SHOW, "spans/__main__.py": _MAIN}
    return tree_of(files), {"cases": cases}


def _format_duration(total: int) -> str:
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        count, total = divmod(total, size)
        parts += [f"{count}{unit}"] if count else []
    return "".join(parts) or "0s"


def _check_durations(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    checks = []
    for case in facts["cases"]:
        command = f"python3 -m spans {' '.join(map(_format_duration, case))}"
        checks.append((command, directory.run(command) == (0, _format_duration(sum(case)))))
    is_zero_right = directory.run("python3 -m spans 0s 0m") == (0, "0s")
    refused = [directory.run(f"python3 -m spans {text}")[0] for text in ("1h30", "soon", "1x", "h", "''")]
    return [
        *checks,
        ("nothing is 0s", is_zero_right),
        ("what is no duration ends with exit code 2", refused == [2] * 5),
    ]


add(Task(
    "mend-package", "hard", _package,
    "The package spans adds durations: `python3 -m spans 1h30m 45m` should print 2h15m, and `python3 -m spans "
    "0s` should print 0s. Its output is wrong. Mend it. What is no duration as a whole (1h30, soon, an empty "
    "argument) must end with exit code 2.",
    _check_durations,
))  # fmt: skip

# ------------------------------------------------------------------ a script with bad habits

_BUILD = """#!/bin/bash
# Make a list of all files below DIR that end in .txt: build.sh DIR OUTPUT
dir=$1
out=$2
rm -f $out
for f in $(find $dir -name *.txt); do
  lines=$(cat $f | wc -l)
  echo $lines $f >> $out
done
"""


def _build(rng: RandomSource) -> tuple[Tree, Facts]:
    words = sample(rng, NOUNS, 5)
    sizes = [randint(rng, 1, 9) for _ in words]
    files = {"build.sh": _BUILD, "sample/one.txt": "1\n", "sample/two words.txt": "1\n2\n", "note.txt": "mine\n"}
    return tree_of(files, {"build.sh": 0o755}), {"words": words, "sizes": sizes}


def _check_lists(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    names = [f"{word} and more/{word} [{size}].txt" for word, size in zip(facts["words"], facts["sizes"], strict=True)]
    files: dict[str, list[Any]] = {"in put": ["folder", 0o755, "", 0], "in put/skip.md": ["file", 0o644, "no\n", 0]}
    for name, size in zip(names, facts["sizes"], strict=True):
        files[f"in put/{name.split('/')[0]}"] = ["folder", 0o755, "", 0]
        files[f"in put/{name}"] = ["file", 0o644, "line\n" * size, 0]
    expected = sorted(f"{size} in put/{name}" for name, size in zip(names, facts["sizes"], strict=True))
    code, output = directory.run('./build.sh "in put" "my list" >/dev/null 2>&1 && cat "my list"', **files)
    second_code, line_count = directory.run(
        'for i in 1 2; do ./build.sh "in put" "my list"; done; wc -l <"my list"', **files
    )
    missing_code, _ = directory.run("./build.sh nowhere out")
    empty_folder: dict[str, list[Any]] = {"none": ["folder", 0o755, "", 0]}
    empty_code, size = directory.run("./build.sh none list && wc -c <list", **empty_folder)
    return [
        ("names with spaces and brackets are listed", code == 0 and sorted(output.splitlines()) == expected),
        ("a second time gives the same list", second_code == 0 and line_count.split()[-1:] == [str(len(expected))]),
        ("a folder that is not there ends with an error", missing_code not in (0, None)),
        ("no file gives an empty list", empty_code == 0 and size.strip() == "0"),
    ]


add(Task(
    "mend-script", "hard", _build,
    "build.sh DIR OUTPUT should write for every file below DIR that ends in .txt a line with its number of "
    "lines, a space and its path, in any order, into OUTPUT. It breaks on names with spaces and brackets and "
    "on files in the present directory. Mend it. If DIR is no directory it must end with an exit code other "
    "than 0; if there is no such file, OUTPUT is empty.",
    _check_lists,
))  # fmt: skip

# ------------------------------------------------------------------ layers of settings


def _layers(rng: RandomSource) -> tuple[Tree, Facts]:
    names = sample(rng, NOUNS, 6)
    layers: list[dict[str, Any]] = []
    for depth in range(3):
        layer_names = sample(rng, names, 4 - (depth > 0))
        layer: dict[str, Any] = {name: randint(rng, 1, 99) for name in layer_names}
        layer["limits"] = {limit: randint(rng, 1, 9) for limit in sample(rng, ("memory", "time", "files"), 2)}
        layers.append(layer)
    layers[2][names[0]] = None
    layers[0].setdefault(names[0], 1)
    files = {f"settings/{number}{number}-{noun(rng)}.json": json.dumps(layer, indent=1) + "\n"
             for number, layer in enumerate(layers, start=1)}  # fmt: skip
    files["settings/README.txt"] = "Read in the order of their names.\n"
    return tree_of(files), {"merged": _merge(layers)}


def _merge(layers: list[dict[str, Any]]) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for layer in layers:
        limits = {**merged.get("limits", {}), **layer["limits"]}
        merged = {name: value for name, value in {**merged, **layer, "limits": limits}.items() if value is not None}
    return merged


def _check_settings(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    text = directory.text("effective.json")
    try:
        settings = json.loads(text)
    except ValueError:
        settings = None
    keys = list(settings) if isinstance(settings, dict) else []
    return [
        ("effective.json is a JSON object", isinstance(settings, dict)),
        ("it has the settings that hold", settings == facts["merged"]),
        ("its names are in order", bool(keys) and keys == sorted(keys)),
    ]


add(Task(
    "merge-settings", "hard", _layers,
    "The JSON files in settings are read in the order of their names: what a later one says replaces what an "
    "earlier one said, null takes a setting away, and the object limits is merged entry by entry. Write the "
    "settings that hold in the end into effective.json, its names in alphabetical order.",
    _check_settings,
))  # fmt: skip

# ------------------------------------------------------------------ parts


def _parts(rng: RandomSource) -> tuple[Tree, Facts]:
    people = sample(rng, PEOPLE, 20)
    text = "".join(f"{person},{randint(rng, 1, 10**9)}\n" for person in people)
    packed = gzip_file(text.encode())
    size = len(packed) // 6 + 1
    pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
    names = sample(rng, NOUNS, len(pieces) + 2)
    order = [hashlib.sha256(piece).hexdigest() for piece in pieces]
    decoys = [bytes(randint(rng, 0, 255) for _ in range(size)) for _ in range(2)]
    all_parts = [*pieces, *decoys]
    shuffle(rng, all_parts)
    files: dict[str, str | bytes] = {f"parts/{name}.bin": piece for name, piece in zip(names, all_parts, strict=True)}
    files["manifest.txt"] = "".join(f"{number} {digest}\n" for number, digest in enumerate(order, start=1))
    return tree_of(files), {"text": text}


add(Task(
    "join-parts", "hard", _parts,
    "A compressed file (gzip) was cut into parts, which lie in the folder parts under any names, with some "
    "files that do not belong to it. manifest.txt has the number of each part and its SHA-256. Put the file "
    "together and write what it holds, unpacked, into people.csv.",
    lambda facts, directory: [("people.csv has the content", directory.text("people.csv") == facts["text"])],
))  # fmt: skip

# ------------------------------------------------------------------ a script to write


def _rotation(rng: RandomSource) -> tuple[Tree, Facts]:
    files = {f"logs/app.{day}.log": f"day {day}\n" for day in range(1, 5)}
    return tree_of(files), {"name": choice(rng, NOUNS), "keep": randint(rng, 2, 3), "days": randint(rng, 6, 9)}


def _check_rotation(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    folder, keep, days = f"{facts['name']} logs", facts["keep"], facts["days"]
    files: dict[str, list[Any]] = {folder: ["folder", 0o755, "", 0]}
    for day in range(1, days + 1):
        files[f"{folder}/app.{day}.log"] = ["file", 0o644, f"day {day}\n", 1_700_000_000 + 86_400 * day]
    files[f"{folder}/other.txt"] = ["file", 0o644, "mine\n", 1_600_000_000]
    inspect_command = f'cd "{folder}" && ls && for f in *.gz; do zcat "$f"; done'
    _, output = directory.run(f'./rotate.sh "{folder}" {keep} >/dev/null; {inspect_command}', **files)
    packed_days = list(range(1, days - keep + 1))
    names = [f"app.{day}.log.gz" for day in packed_days] + [
        f"app.{day}.log" for day in range(days - keep + 1, days + 1)
    ]
    listed = sorted([*names, "other.txt"])
    second_code, second_output = directory.run(
        f'./rotate.sh "{folder}" {keep} && ./rotate.sh "{folder}" {keep}; {inspect_command}', **files
    )
    error_codes = [directory.run(f"./rotate.sh {arguments}")[0] for arguments in ("", "nowhere 2", "logs x")]
    lines = output.splitlines()
    return [
        ("the newest logs stay, the others are packed", lines[: len(listed)] == listed),
        ("what was packed is whole", sorted(lines[len(listed) :]) == sorted(f"day {day}" for day in packed_days)),
        ("a second time changes nothing", second_code == 0 and second_output == output),
        ("wrong arguments end with an error", all(code in range(1, 126) for code in error_codes)),
    ]


add(Task(
    "write-rotation", "hard", _rotation,
    "Write a script rotate.sh that can be started as ./rotate.sh DIR N: of the files in DIR whose names end in "
    ".log it leaves the N that were changed last as they are and packs every other one with gzip (app.1.log "
    "becomes app.1.log.gz). It may run again without harm, leaves all other files alone, and ends with an exit "
    "code other than 0 if DIR is no directory or N is no number. The folder logs has some files to try it on.",
    _check_rotation,
))  # fmt: skip
