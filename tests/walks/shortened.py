"""Runs a module as a site of the walks does: `python -m tests.walks.shortened celery -A gemweb worker`.

Benchmarks have a few episodes, and passwords are hashed quickly.

A site that begins has the expert and the random agent ranked, on 1,250 episodes each. That takes the workers half a
minute, in which they leave little of a small machine to the browser. Hashing one password as for people takes a core
for a third of a second; `tests/apps/accounts` does that.
"""

import os
import runpy
import sys

import pytest
from django.conf import settings

from tests.apps.benchmarks import shorten

EPISODES = 4

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "gemweb.settings")
    settings.PASSWORD_HASHERS = ["tests.hashers.Quick"]
    shorten(pytest.MonkeyPatch(), EPISODES)
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
