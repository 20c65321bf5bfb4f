"""Measure a tool or a grader: python -m bench.tools search

A part is a module beside this one with `arguments(parser)` (what it takes) and `run(options) -> int` (prints what it
measures; 1 if a target is missed). Without a part, all are run with what they take by default.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys

import bench.tools


def main() -> int:
    """Run one part, or all of them."""
    names = sorted(module.name for module in pkgutil.iter_modules(bench.tools.__path__) if module.name[0] != "_")
    parser = argparse.ArgumentParser(
        prog="bench.tools", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", metavar=f"{{{','.join(names)}}}")
    for name in names:
        module = importlib.import_module(f"bench.tools.{name}")
        one = parts.add_parser(name, description=module.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        module.arguments(one)
        one.set_defaults(run=module.run)
    options = parser.parse_args()
    if options.part:
        return int(options.run(options))
    return max((_all(parser, name) for name in names), default=0)


def _all(parser: argparse.ArgumentParser, name: str) -> int:
    print(f"--- {name}")
    options = parser.parse_args([name])
    return int(options.run(options))


if __name__ == "__main__":
    sys.exit(main())
