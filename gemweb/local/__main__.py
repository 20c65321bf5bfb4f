"""The command behind `make up`. Exit code 0 if it was stopped; 1, with one sentence, if it could not start."""

import os
import signal
import sys

from gemweb.local.config import StackConfig
from gemweb.local.errors import StackError, explain
from gemweb.local.process import bind_to_parent
from gemweb.local.stack import Stack
from gemweb.local.supervisor import Console


def main() -> int:
    """Run one stack until it is stopped."""
    if "MAKELEVEL" in os.environ:
        bind_to_parent(signal.SIGTERM)  # if make is killed, the stack must not keep running in the background
    try:
        config = StackConfig.from_env()
        try:
            Stack(config, Console()).run()
        except OSError as error:
            raise explain(error, config.state_dir) from error
    except StackError as error:
        sys.stderr.write(f"gemweb: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
