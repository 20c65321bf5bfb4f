"""Prints a digest of an environment's episodes. A check runs this in another process to compare the two."""

import importlib
import sys

from gem.check.promise import episodes_digest


def main(env_id: str, *modules: str) -> None:
    """Import the modules that register the environment, then print the digest."""
    for module in modules:
        importlib.import_module(module)
    sys.stdout.write(episodes_digest(env_id))


if __name__ == "__main__":
    main(*sys.argv[1:])
