"""Checks a server of OpenEnv over its protocol, as its clients would use it.

Begin reading in `examination`; `promises` has what servers promise.
"""

from gem.check.elsewhere.servers.examination import PROMISES, TIMEOUT, ServerExamination

__all__ = ["PROMISES", "TIMEOUT", "ServerExamination"]
