"""MCP servers for the tests: two that nobody here wrote, in virtual environments of their own, and a bad one."""

from __future__ import annotations

from pathlib import Path

from tests.installed import environment

BAD_SERVER = Path(__file__).with_name("bad_server.py")


def installed(name: str) -> Path:
    """The command of a server; it is installed first if it is not there, or the test is skipped."""
    return environment(f"mcp-{name}") / f"mcp-server-{name}"
