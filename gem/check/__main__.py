"""Print the fingerprint of an environment's episodes: what a check asks another process for."""

import importlib
import sys

from gem.check.promise import digest


def main(env_id: str, *modules: str) -> None:
    """Import the modules that register the environment, then print."""
    for module in modules:
        importlib.import_module(module)
    sys.stdout.write(digest(env_id))


if __name__ == "__main__":
    main(*sys.argv[1:])
