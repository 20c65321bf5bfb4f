"""Functions of a script's that MCP servers reach: for their log, their progress, and their questions to a model.

Their arguments are those that GEM's `MCPTool` passes. A function may be a coroutine function.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

MODEL_NAME = "sampling_handler"
"""The name of the model that a server is told, since a handler does not say which one it asks."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """The functions that a server of this tool reaches; None where there is none."""

    log: Callable[[Any], Any] | None = None
    """Gets each message of the server's log."""
    progress: Callable[[float, float | None, str | None], Any] | None = None
    """Gets how far a call has come, how far it goes, and a text."""
    sampling: Callable[[list[Any], Any, Any], Any] | None = None
    """Gets the messages, the parameters and the context of a server's question to a model, and returns the answer."""

    def client_options(self) -> dict[str, Any]:
        """The arguments of the SDK's client."""
        options: dict[str, Any] = {}
        if self.log is not None:
            options["logging_callback"] = self._log
        if self.sampling is not None:
            options["sampling_callback"] = self._sample
        return options

    def call_options(self) -> dict[str, Any]:
        """The arguments of the SDK's call of a tool."""
        return {} if self.progress is None else {"progress_callback": self._report}

    async def _log(self, message: Any) -> None:
        await _finished(self.log(message) if self.log is not None else None)

    async def _report(self, progress: float, total: float | None, text: str | None) -> None:
        await _finished(self.progress(progress, total, text) if self.progress is not None else None)

    async def _sample(self, context: Any, params: Any) -> Any:
        from mcp import types  # noqa: PLC0415 (the loop runs only where it is installed)

        assert self.sampling is not None
        answer = await _finished(self.sampling(list(params.messages), params, context))
        content = types.TextContent(type="text", text=str(answer))
        return types.CreateMessageResult(role="assistant", content=content, model=MODEL_NAME)


async def _finished(value: Any) -> Any:
    """The result of a function, or of a coroutine function."""
    return await value if inspect.isawaitable(value) else value
