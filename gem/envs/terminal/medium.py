"""Medium tasks, which take several commands: tables, reports, permissions, names, duplicates, a bug."""

from __future__ import annotations

from collections import Counter

from gem.envs.terminal.task import Check, Facts, Task, WorkingDirectory, add, same_rows, tree_of
from gem.envs.terminal.words import NOUNS, PEOPLE, address, clock
from gem.rng import RandomSource, choice, randbelow, randint, sample, shuffle
from gem.sandbox.inside.files.tree import Tree

# ------------------------------------------------------------------ a table


def _orders(rng: RandomSource) -> tuple[Tree, Facts]:
    people = sample(rng, PEOPLE, 6)
    rows, totals = [], Counter[str]()
    for number in range(60):
        person, cents = choice(rng, people), randint(rng, 100, 9999)
        state = choice(rng, ("paid", "paid", "paid", "cancelled"))
        rows.append(f"{1000 + number},{person},{cents / 100:.2f},{state}")
        totals[person] += cents if state == "paid" else 0
    lines = [
        f"{person},{cents / 100:.2f}" for person, cents in sorted(totals.items(), key=lambda item: (-item[1], item[0]))
    ]
    text = "\n".join(["order,customer,amount,state", *rows]) + "\n"
    return tree_of({"orders.csv": text}), {"lines": ["customer,total", *lines]}


add(Task(
    "sum-orders", "medium", _orders,
    "orders.csv has the columns order, customer, amount and state. Write totals.csv with the columns customer "
    "and total (with that heading): what each customer has paid in all, the largest total first. Orders that "
    "were cancelled do not count.",
    lambda facts, directory: [
        ("totals.csv has the heading", directory.lines("totals.csv")[:1] == facts["lines"][:1]),
        ("the totals are right, and in order", same_rows(directory.lines("totals.csv")[1:], facts["lines"][1:])),
    ],
))  # fmt: skip

# ------------------------------------------------------------------ a report


def _access(rng: RandomSource) -> tuple[Tree, Facts]:
    addresses = sorted({address(rng) for _ in range(9)})
    shares = [n * n for n in range(1, len(addresses) + 1)]
    requests = [ip for ip, share in zip(addresses, shares, strict=True) for _ in range(share + randbelow(rng, 2))]
    shuffle(rng, requests)
    rows, num_errors = [], 0
    for minute, ip in enumerate(requests):
        status = choice(rng, (200, 200, 200, 304, 404, 500, 502))
        num_errors += status >= 500
        rows.append(
            f'{ip} - - [{clock(rng, minute)}] "GET /{choice(rng, NOUNS)} HTTP/1.1" {status} {randint(rng, 90, 90000)}'
        )
    top = [f"{ip} {count}" for ip, count in sorted(Counter(requests).items(), key=lambda item: (-item[1], item[0]))[:3]]
    return tree_of({"var/access.log": "\n".join(rows) + "\n"}), {"top": top, "broken": num_errors}


def _single_spaced(lines: list[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


add(Task(
    "read-access-log", "medium", _access,
    "var/access.log is the log of a web server: address, time, request, status, bytes. Write into top.txt the "
    "three addresses with the most requests, the most first, each as ADDRESS COUNT on a line of its own, and "
    "into broken.txt how many requests have a status of 500 or more.",
    lambda facts, directory: [
        ("top.txt has the three addresses", _single_spaced(directory.lines("top.txt")) == facts["top"]),
        ("broken.txt has the number", directory.text("broken.txt").strip() == str(facts["broken"])),
    ],
))  # fmt: skip

# ------------------------------------------------------------------ permissions


def _site(rng: RandomSource) -> tuple[Tree, Facts]:
    names = sample(rng, NOUNS, 8)
    files, modes = {}, {}
    for index, name in enumerate(names):
        path = (f"site/keys/{name}.key", f"site/bin/{name}.sh", f"site/pages/{name}.html")[index % 3]
        files[path] = f"{name}\n"
        modes[path] = choice(rng, (0o777, 0o666, 0o640, 0o444))
    modes |= {"site": 0o777, "site/keys": 0o777, "site/bin": 0o775, "site/pages": 0o700}
    return tree_of(files, modes), {"files": sorted(files)}


def _check_modes(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    def have_mode(ending: str, mode: int) -> bool:
        paths = [path for path in facts["files"] if path.endswith(ending)]
        return all(directory.kind(path) == "file" and directory.mode(path) == mode for path in paths)

    folders = all(directory.mode(folder) == 0o755 for folder in ("site", "site/bin", "site/pages"))
    return [
        (
            "keys are read and written by the owner alone",
            have_mode(".key", 0o600) and directory.mode("site/keys") == 0o700,
        ),
        ("scripts can be started by everybody and changed by the owner", have_mode(".sh", 0o755)),
        ("pages can be read by everybody and changed by the owner", have_mode(".html", 0o644)),
        ("the other folders can be entered by everybody", folders),
    ]


add(Task(
    "close-the-site", "medium", _site,
    "The permissions below the folder site are a mess. Set them: files ending in .key can be read and written "
    "by the owner alone, and so can the folder site/keys be entered by the owner alone; files ending in .sh "
    "have mode 755, files ending in .html 644, and all other folders, site itself included, 755.",
    _check_modes,
))  # fmt: skip

# ------------------------------------------------------------------ names


def _photos(rng: RandomSource) -> tuple[Tree, Facts]:
    numbers = sorted(sample(rng, range(1, 400), 9))
    files = {}
    for number in numbers:
        ending = choice(rng, ("JPG", "jpg", "Jpeg"))
        files[f"photos/IMG {number}.{ending}"] = f"picture {number}\n"
    files["photos/do not touch.txt"] = "IMG 1.JPG is not here.\n"
    return tree_of(files), {"numbers": numbers}


def _check_renamed(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    expected = {f"photos/photo-{number:04d}.jpg": f"picture {number}\n" for number in facts["numbers"]}
    return [
        ("every photo has its new name", all(directory.text(path) == text for path, text in expected.items())),
        (
            "nothing else was renamed or lost",
            set(directory.files("photos/")) - set(expected) <= {"photos/do not touch.txt"},
        ),
        ("the note is as it was", directory.text("photos/do not touch.txt") == "IMG 1.JPG is not here.\n", "guard"),
    ]


add(Task(
    "rename-photos", "medium", _photos,
    "Rename the photos in the folder photos: IMG 7.JPG becomes photo-0007.jpg, with four digits, whether it "
    "ends in JPG, jpg or Jpeg. Leave everything else alone.",
    _check_renamed,
))  # fmt: skip

# ------------------------------------------------------------------ duplicates


def _copies(rng: RandomSource) -> tuple[Tree, Facts]:
    texts = [f"{choice(rng, NOUNS)} {randint(rng, 0, 10**6)}\n" for _ in range(5)]
    folders = ("data", "data/old", "data/old/2019", "data/new")
    names = sample(rng, NOUNS, 12)
    files = {f"{choice(rng, folders)}/{name}.dat": choice(rng, texts) for name in names}
    files["data/alone.dat"] = "nothing is like me\n"
    first_paths: dict[str, str] = {}
    for path in sorted(files):
        first_paths.setdefault(files[path], path)
    return tree_of(files), {"kept": sorted(first_paths.values()), "files": files}


add(Task(
    "remove-copies", "medium", _copies,
    "Below the folder data some files have the same content. Keep of each content only the file whose path "
    "comes first in the order of the alphabet (as `LC_ALL=C sort` puts them), and delete the other ones.",
    lambda facts, directory: [
        ("one file of each content is left", sorted(directory.files("data/")) == facts["kept"]),
        (
            "what is left is as it was",
            all(directory.text(path) == facts["files"][path] for path in facts["kept"]),
            "guard",
        ),
    ],
))  # fmt: skip

# ------------------------------------------------------------------ a bug

_MEDIAN = '''"""Print the median of the numbers on standard input, one to a line."""

import sys


def median(numbers):
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return (ordered[middle] + ordered[middle + 1]) / 2


def main():
    numbers = [line for line in sys.stdin]
    print(f"{median(numbers):g}")


main()
'''


def _median(rng: RandomSource) -> tuple[Tree, Facts]:
    cases = [[randint(rng, -50, 500) for _ in range(size)] for size in (1, 4, 5, 10)]
    return tree_of({"median.py": _MEDIAN, "example.txt": "9\n10\n2\n33\n"}), {"cases": cases}


def _check_medians(facts: Facts, directory: WorkingDirectory) -> list[Check]:
    checks: list[Check] = []
    for case in facts["cases"]:
        ordered = sorted(case)
        half = len(case) // 2
        median = ordered[half] if len(case) % 2 else (ordered[half - 1] + ordered[half]) / 2
        text = "".join(f"{number}\n" for number in case) + "\n"
        _, output = directory.run("python3 median.py <numbers.in", **{"numbers.in": ["file", 0o644, text, 0]})
        checks.append((f"{len(case)} numbers, and an empty line at the end", output == f"{median:g}"))
    return checks


add(Task(
    "mend-median", "medium", _median,
    "`python3 median.py <example.txt` should print the median of the numbers, one to a line; that of an even "
    "number of them is the mean of the two in the middle. It does not work. Mend it; empty lines are to be "
    "ignored.",
    _check_medians,
))  # fmt: skip
