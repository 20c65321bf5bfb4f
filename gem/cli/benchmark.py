"""`gemweb benchmark`: list the benchmarks, show one, check a file, and add it to a site."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem.cli.output.tables import table
from gem.errors import UsageError
from gem.validation.messages import count

if TYPE_CHECKING:
    from gem.benchmarks import Benchmark, BenchmarkEntry

MAX_BYTES = 4_000_000
LOOK_SECONDS = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="list|show|check|add")
    verbs.add_parser("list", help="List the benchmarks.", description="List the benchmarks.")
    show = verbs.add_parser("show", help="Show a benchmark.", description="Show the environments of a benchmark.")
    show.add_argument("name", metavar="NAME")
    check = verbs.add_parser(
        "check", help="Check a file.", description="Report everything that is wrong with a benchmark's file."
    )
    check.add_argument("file", metavar="FILE.json", help="a file, or the name of a benchmark")
    add = verbs.add_parser(
        "add", help="Add a file to a site.", description="Add a benchmark of your own to a site, or a version of it."
    )
    add.add_argument("file", metavar="FILE.json")
    add.add_argument("--visibility", choices=("public", "unlisted", "private"), help="of a new benchmark (private)")
    add.add_argument("--url", help="the server (GEMWEB_URL, else that of the last gemweb login)")


def run(verb: str, **options: Any) -> int:
    """Run one of the verbs."""
    verbs: dict[str, Callable[..., int]] = {"list": _list, "show": _show, "check": _check, "add": _add}
    return verbs[verb](**options)


def _list() -> int:
    from gem import benchmarks  # noqa: PLC0415 (the other commands start faster without it)

    rows = []
    for name in benchmarks.names():
        each = benchmarks.load(name)
        practice = sum(entry.episodes for entry in each.entries)
        hidden = sum(entry.hidden_seeds for entry in each.entries)
        numbers = [each.version, len(each.entries), practice, hidden, len(each.open_entries)]
        rows.append([name, *(f"{number:,}" for number in numbers), "yes" if each.stand_ins else ""])
    table(["benchmark", "version", "environments", "public seeds", "hidden", "open sets", "stand-in data"], rows)
    return 0


def _show(name: str) -> int:
    from gem import benchmarks  # noqa: PLC0415 (as above)

    found = benchmarks.load(name)
    print(f"{found.name}, version {found.version}: {found.title}")
    print(found.summary)
    print(_rule(found))
    if found.members:
        print(f"Unites {', '.join(f'{member} v{version}' for member, version in found.members)}.")
    if found.wrappers:
        print(f"Wrappers: {', '.join(str(wrapper['name']) for wrapper in found.wrappers)}.")
    if found.tool_sets is not None:
        print(f"Tools: {'; '.join(', '.join(choice) or 'none' for choice in found.tool_sets)}.")
    print()
    headings = ["environment", "version", "turns", "public seeds", "hidden", "random", "anchor", "by", "errors apart"]
    table([*headings, "open set"], [_row(entry) for entry in found.entries])
    _print_data(found)
    return 0


def _rule(found: Benchmark) -> str:
    clipped = ", clipped to 0 and 1" if found.rule == "clipped" else ""
    return f"Score: (mean - random) / (anchor - random){clipped}, and the mean over environments."


def _row(entry: BenchmarkEntry) -> list[str]:
    far = entry.distance
    return [
        entry.env_id,
        str(entry.env_version),
        "" if entry.max_turns is None else str(entry.max_turns),
        f"{entry.seeds[0]}-{entry.seeds[-1]}",
        str(entry.hidden_seeds),
        f"{entry.random_return:.3f}",
        f"{entry.best_return:.3f}",
        "" if entry.anchor is None else entry.anchor.by,
        "" if far is None else "exact" if far == float("inf") else f"{far:.0f}",
        entry.open_set,
    ]


def _print_data(found: Benchmark) -> None:
    for data in dict.fromkeys(entry.data for entry in found.entries if entry.data is not None):
        instead = f", in place of {data.stands_in_for}" if data.stands_in_for else ""
        print(f"\nData: {data.name} ({data.hash[:12]}), {data.licence}{instead}", end="")
    print()


def _check(file: str) -> int:
    """Print everything that is wrong; the exit code is 1 if anything is."""
    from gem import benchmarks  # noqa: PLC0415 (as above)
    from gem.benchmarks import document  # noqa: PLC0415
    from gem.check import benchmark_file  # noqa: PLC0415
    from gem.errors import InvalidArgument  # noqa: PLC0415

    try:
        data = benchmarks.text_of(file) if file in benchmarks.names() else _read(Path(file))
        data = document.parse(data)
    except InvalidArgument as error:
        print(error)
        return 1
    if found := benchmark_file.problems(data):
        print("\n".join(found))
        print(f"\n{count(len(found), 'problem')}.")
        return 1
    for note in benchmark_file.notes(data):
        print(f"On this machine: {note}")
    entries = benchmark_file.entries_of(data)
    open_sets = sum(bool(entry.open_set) for entry in entries)
    size = f"{count(len(entries), 'environment')}, {open_sets} of them open sets"
    print(f"{data['name']}, version {data['version']}: {size}.\nNothing is wrong with it.")
    return 0


def _add(file: str, visibility: Any, url: str | None) -> int:
    """Add a file to a site and print all reasons if it is refused; then the exit code is 1."""
    from gem.benchmarks import document  # noqa: PLC0415 (as above)
    from gem.cli.server.connection import connect  # noqa: PLC0415
    from gem.errors import InvalidArgument  # noqa: PLC0415

    try:
        data = document.parse(_read(Path(file)))
    except InvalidArgument as error:
        print(error)
        return 1
    if found := document.problems(data):
        print("\n".join(found))
        return 1
    with connect(url) as client:
        added = client.benchmarks.add(data, visibility=visibility)
        while added.versions[0].state == "checking":
            time.sleep(LOOK_SECONDS)
            added = client.benchmarks.own(added.name)
    newest = added.versions[0]
    print("\n".join(newest.problems + [f"On the site: {note}" for note in newest.notes]), end="\n" * bool(newest.notes))
    if newest.state == "refused":
        print(f"\n{added.name}, version {newest.number}: refused. Nothing else was changed.")
        return 1
    print(f"{added.name}, version {newest.number}, is ready: {added.url}")
    return 0


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise UsageError(f"{path} is larger than {MAX_BYTES:,} bytes, so it is not a benchmark.")
        return path.read_text("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text, so it is not a benchmark.") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}.") from error
