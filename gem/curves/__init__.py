"""Curves of any trainer, as its files hold them: event files of TensorBoard, and JSON.

`open_log` opens a file; each `read` returns what was written since the last one, so a file can be followed while it
grows. `gemweb curves push` sends it to a site.
"""

from gem.curves.entries import LoggedEntry
from gem.curves.files import LogFile, find_logs, open_log

__all__ = ["LogFile", "LoggedEntry", "find_logs", "open_log"]
