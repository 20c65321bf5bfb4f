"""What MCP servers send: the results of calls as text for agents, and failures over HTTP."""

from __future__ import annotations

import json
from typing import Any


def text_of(result: Any) -> str:
    """The text of a result; parts that are no text are named."""
    parts = [_text_of_part(part) for part in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _text_of_part(part: Any) -> str:
    """The text of a part, or its type and address."""
    if part.type == "text":
        return str(part.text)
    if part.type == "resource_link":
        return f"[resource_link {part.name}: {part.uri}]"
    if part.type == "resource":
        text = getattr(part.resource, "text", None)
        return f"[resource {part.resource.uri}]" + (f"\n{text}" if text else "")
    return f"[{part.type}]"


class HttpFailure:
    """The last error response of an HTTP server, because the MCP client reports only a part of it."""

    MESSAGES_WITHOUT_REASON = ("Server returned an error response", "Not Found")
    """The client's messages if the server gave no reason."""

    def __init__(self) -> None:
        self.status = 0
        """The status of the last error response; 0 if there is none."""
        self.was_in_session = False

    async def record(self, response: Any) -> None:
        """Note a response if it is an error; the HTTP client calls this with every response."""
        if response.status_code >= 400 and response.request.method == "POST":
            self.status, self.was_in_session = response.status_code, "mcp-session-id" in response.request.headers

    def ends_session(self, message: str) -> bool:
        """Whether the server does not know the session: status 404, or from some servers 400 without a reason.

        Args:
            message: the client's message.
        """
        if not self.was_in_session:
            return False
        return self.status == 404 or (self.status == 400 and message in self.MESSAGES_WITHOUT_REASON)

    def describe(self, message: str) -> str:
        """The client's message, or the status if the message gives no reason."""
        if not self.status or message not in self.MESSAGES_WITHOUT_REASON:
            return message
        hint = ' (one of the older transport needs "transport": "sse")' if self.status in (404, 405) else ""
        return f"it answered {self.status}{hint}"
