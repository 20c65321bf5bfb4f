"""What all tools have in common: arguments that are checked, and a result in words and as data."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict

from gem.client import AsyncClient


class Result(NamedTuple):
    """What a tool returns."""

    texts: list[str]
    """What an agent reads."""
    data: BaseModel
    """The same for programs, in the form that `Tool.answer` says."""


class Tool(BaseModel, ABC):
    """A tool. Its fields are its arguments, and its docstring tells agents what it does."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)
    name: ClassVar[str]
    answer: ClassVar[type[BaseModel]]
    only_reads: ClassVar[bool] = True

    @abstractmethod
    async def run(self, client: AsyncClient) -> Result:
        """Do it.

        Raises:
            ClientError: if the site refuses.
        """

    @classmethod
    def description(cls) -> str:
        """What the tool does, for agents."""
        return inspect.cleandoc(cls.__doc__ or "")

    @classmethod
    def model_json_schema(cls, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The schema of the arguments; the description is that of the tool."""
        schema = super().model_json_schema(*args, **kwargs)
        return {name: value for name, value in schema.items() if name not in ("title", "description")}
