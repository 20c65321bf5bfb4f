"""A web process can hold as many connections as the system allows, not only the 1,024 of old programs."""

from __future__ import annotations

import resource
import subprocess
import sys

from tests.services import ROOT

FEW = 64
RAISED = f"""
import resource
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, ({FEW}, hard))
from gemweb import serve
serve.uvicorn.run = lambda *_, **__: print(*resource.getrlimit(resource.RLIMIT_NOFILE))
serve.main()
"""


def test_a_web_process_raises_its_limit_of_open_files() -> None:
    done = subprocess.run([sys.executable, "-c", RAISED], cwd=ROOT, capture_output=True, text=True, check=True)
    soft, hard = map(int, done.stdout.split())
    assert hard == resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    assert soft == (65_536 if hard == resource.RLIM_INFINITY else min(hard, 65_536))
