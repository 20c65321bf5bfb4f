"""Runs a module with benchmarks of a few episodes: `python -m tests.walks.shortened celery -A gemweb worker`.

A site that begins has the expert and the random agent ranked, on 1,250 episodes each. That takes the workers half a
minute, in which they leave little of a small machine to the browser.
"""

import runpy
import sys

import pytest

from tests.apps.benchmarks import shorten

EPISODES = 4

if __name__ == "__main__":
    shorten(pytest.MonkeyPatch(), EPISODES)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
