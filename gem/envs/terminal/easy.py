"""Easy tasks, which take one or two commands: look, count, sort, move, set a mode, unpack."""

from __future__ import annotations

import io
import tarfile

from gem.envs.terminal.task import Check, Facts, Task, WorkingDirectory, add, gzip_file, tree_of
from gem.envs.terminal.words import LEVELS, MESSAGES, NOUNS, PEOPLE, SERVICES, clock, noun
from gem.rng import RandomSource, choice, randint, sample, shuffle
from gem.sandbox.inside.files.tree import Tree

# ------------------------------------------------------------------ count


def _count(rng: RandomSource) -> tuple[Tree, Facts]:
    service = choice(rng, SERVICES)
    files = {}
    for name in SERVICES[:4]:
        rows = [
            f"{clock(rng, 11 * n)} {choice(rng, LEVELS)} {choice(rng, MESSAGES)}" for n in range(randint(rng, 40, 90))
        ]
        files[f"logs/{name}.log"] = "\n".join(rows) + "\n"
    service = choice(rng, SERVICES[:4])
    number = sum(" ERROR " in line for line in files[f"logs/{service}.log"].splitlines())
    return tree_of(files), {"service": service, "number": number}


add(Task(
    "count-errors", "easy", _count,
    "How many lines of logs/{service}.log have the level ERROR? Write the number, and nothing else, into "
    "answer.txt.",
    lambda facts, directory: [
        ("answer.txt has the number", directory.text("answer.txt").strip() == str(facts["number"])),
    ],
))  # fmt: skip

# ------------------------------------------------------------------ sort


def _sort(rng: RandomSource) -> tuple[Tree, Facts]:
    names = sample(rng, PEOPLE, 14)
    lines = [*names, *sample(rng, names, 6)]
    shuffle(rng, lines)
    return tree_of({"names.txt": "\n".join(lines) + "\n"}), {"names": sorted(names, reverse=True)}


add(Task(
    "sort-names", "easy", _sort,
    "names.txt has one name to a line, some more than once. Write each name once into sorted.txt, from Z to A, "
    "and leave names.txt as it is.",
    lambda facts, directory: [
        ("sorted.txt has each name once, from Z to A", directory.lines("sorted.txt") == facts["names"]),
        ("names.txt is as it was", len(directory.lines("names.txt")) == len(facts["names"]) + 6, "guard"),
    ],
))  # fmt: skip

# ------------------------------------------------------------------ move

_FOLDERS = {"txt": "notes", "csv": "tables", "png": "pictures"}


def _move(rng: RandomSource) -> tuple[Tree, Facts]:
    names = sample(rng, NOUNS, 9)
    files = {f"inbox/{name}.{ending}": f"{name} {randint(rng, 100, 999)}\n"
             for name, ending in zip(names, [*_FOLDERS] * 3, strict=True)}  # fmt: skip
    files["inbox/README"] = "Things that came in.\n"
    return tree_of(files), {"files": files}


def _check_moved(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    checks = []
    for ending, folder in _FOLDERS.items():
        expected = {path: text for path, text in facts["files"].items() if path.endswith(ending)}
        is_moved = all(directory.text(path.replace("inbox/", f"{folder}/")) == text for path, text in expected.items())
        checks.append((f"the {ending} files are in {folder}", is_moved))
    return [*checks, ("inbox has nothing but README", directory.files("inbox/") == ["inbox/README"])]


add(Task(
    "tidy-inbox", "easy", _move,
    "Tidy up the folder inbox: move its .txt files into a new folder notes, its .csv files into tables and its "
    ".png files into pictures, all beside inbox. README stays where it is.",
    _check_moved,
))  # fmt: skip

# ------------------------------------------------------------------ make it run


def _script(rng: RandomSource) -> tuple[Tree, Facts]:
    word, number = noun(rng), randint(rng, 3, 9)
    text = f'#!/bin/sh -e\nfor i in $(seq {number}); do echo "{word} $i"; done\n'
    return tree_of({"tools/greet": text.replace("/bin/sh -e", "/bin/shh -e")}), {"word": word, "number": number}


def _check_script(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    code, output = directory.run("./tools/greet")
    expected = "\n".join(f"{facts['word']} {n}" for n in range(1, facts["number"] + 1))
    return [
        ("tools/greet can be started", code == 0),
        ("it prints what it should", output == expected),
        ("nobody else may change it", directory.mode("tools/greet") & 0o022 == 0, "guard"),
    ]


add(Task(
    "make-it-run", "easy", _script,
    "The command ./tools/greet should print {number} lines that begin with {word}. It cannot be started. Find "
    "out why and mend it; only its owner may be able to change it.",
    _check_script,
))  # fmt: skip

# ------------------------------------------------------------------ unpack


def _archive(rng: RandomSource) -> tuple[Tree, Facts]:
    names = sample(rng, NOUNS, 4)
    notes = {f"{name}.txt": f"{name}: {randint(rng, 1000, 9999)}\n" for name in names}
    secret = choice(rng, names)
    return tree_of({"backup.tar.gz": _pack(notes)}), {"notes": notes, "name": secret}


def _pack(notes: dict[str, str]) -> bytes:
    """A compressed archive whose bytes are the same on every machine."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, text in notes.items():
            entry = tarfile.TarInfo(f"home/notes/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return gzip_file(plain.getvalue())


add(Task(
    "unpack-backup", "easy", _archive,
    "Unpack backup.tar.gz into a new folder restored, without the folders home and notes that are inside: "
    "restored/{name}.txt must be one of its files.",
    lambda facts, directory: [
        (f"restored/{name} is there", directory.text(f"restored/{name}") == text)
        for name, text in facts["notes"].items()
    ],
))  # fmt: skip
