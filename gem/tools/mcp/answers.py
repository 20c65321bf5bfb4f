"""What MCP servers answer: as a text for agents, and where it is a refusal over HTTP, what that means."""

from __future__ import annotations

import json
from typing import Any


def text_of(result: Any) -> str:
    """The texts of an answer; what is no text is named."""
    parts = [_part(part) for part in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _part(part: Any) -> str:
    """A part of an answer: its text, or what it is and where."""
    if part.type == "text":
        return str(part.text)
    if part.type == "resource_link":
        return f"[resource_link {part.name}: {part.uri}]"
    if part.type == "resource":
        text = getattr(part.resource, "text", None)
        return f"[resource {part.resource.uri}]" + (f"\n{text}" if text else "")
    return f"[{part.type}]"


class Refusal:
    """What an HTTP server answered with an error: the client keeps only some of it."""

    SILENT = ("Server returned an error response", "Not Found")
    """What the client says where the server gave no reason."""

    def __init__(self) -> None:
        self.status = 0
        self.in_session = False

    async def note(self, response: Any) -> None:
        """Called with every answer."""
        if response.status_code >= 400 and response.request.method == "POST":
            self.status, self.in_session = response.status_code, "mcp-session-id" in response.request.headers

    def forgets(self, said: str) -> bool:
        """Whether the session is over: 404 in the protocol, 400 without a reason from some servers."""
        return self.in_session and (self.status == 404 or (self.status == 400 and said in self.SILENT))

    def in_words(self, said: str) -> str:
        """What the client said, or the status where that is nothing."""
        if not self.status or said not in self.SILENT:
            return said
        older = ' (one of the older transport needs "transport": "sse")' if self.status in (404, 405) else ""
        return f"it answered {self.status}{older}"
