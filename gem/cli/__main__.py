"""Runs the command line with `python -m gem.cli`."""

import sys

from gem.cli import main

sys.exit(main())
