"""Requests as values: what is sent, and what the answer is read as.

A method of the API is written once, as a function that returns a `Request`. The decorators below make it a method of
both clients: `client.jobs.get(id)` sends it and returns the answer, `await async_client.jobs.get(id)` does the same.

    class Jobs(Resource[R]):
        @sends
        def get(self, job_id: str) -> Request[Job]:
            return Request("GET", f"jobs/{job_id}", Job)
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, cast, overload

from pydantic import BaseModel, TypeAdapter, ValidationError

from gem.client.effects import FileToSend, Progress
from gem.errors import InvalidArgument
from gem.validation.messages import error_sentence

if TYPE_CHECKING:
    from gem.client.runners import AsyncRunner, SyncRunner

P = ParamSpec("P")
T = TypeVar("T")
Made = TypeVar("Made")
T_co = TypeVar("T_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)

Query = Mapping[str, Any]
"""Parameters behind the question mark; None leaves one out, a list gives it several times, a bool is true or false."""


NOTHING = type(None)
"""The answer of a request whose answer has no body."""


@dataclass(frozen=True, slots=True)
class Request(Generic[T_co]):
    """One request, whose answer is a `T_co`."""

    method: str
    path: str
    """Below the address of the API, such as `jobs/abcd`, with its parts quoted."""
    answer: type[T_co]
    """The type of the answer: a Pydantic model, `dict`, `bytes` for the body as it is, or `NOTHING`."""
    query: Query = field(default_factory=dict)
    content: BaseModel | Mapping[str, Any] | None = None
    """The body, which is sent as JSON."""
    file: FileToSend | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    keyed: bool = False
    """Whether it creates something and gets an `Idempotency-Key`, so that it may be sent again."""

    def read(self, content: bytes) -> T_co:
        """Read the body of an answer.

        Raises:
            ValueError: if it is not what `answer` says.
        """
        if self.answer is NOTHING:
            value: Any = None
        elif self.answer is bytes:
            value = content
        else:
            return reader(self.answer).validate_json(content)
        return cast("T_co", value)


_READERS: dict[Any, TypeAdapter[Any]] = {}


def reader(kind: type[T]) -> TypeAdapter[T]:
    """Return what reads JSON as `kind`; it is made once."""
    found = _READERS.get(kind)
    if found is None:
        found = _READERS[kind] = TypeAdapter(kind)
    return found


class PageOf(Protocol[T]):
    """A page of a list, as `gem.client.schemas` has one for each kind of item."""

    items: list[T]
    next: str | None
    """The cursor of the page after it; None on the last page."""


@dataclass(frozen=True, slots=True)
class Pages(Generic[T]):
    """A list in pages, which are fetched when they are needed."""

    request: Request[PageOf[T]]
    """Asks for the first page."""
    most: int | None = None
    """Stop after so many items; None reads them all."""


@dataclass(frozen=True, slots=True)
class Lines(Generic[T]):
    """A stream of JSON lines, each a `T`."""

    request: Request[T]
    resume: Callable[[T], Query] | None = None
    """The parameters that ask for what comes after an item; None if the server cannot continue in the middle."""


@dataclass(frozen=True, slots=True)
class Events(Generic[T]):
    """A stream of events, each a `T`, which is continued after the last one where it breaks."""

    request: Request[bytes]
    read: Callable[[str], T]
    """Reads the data of an event; it may raise `ValueError`."""
    place: Callable[[T], int]
    """Returns the number of an event, after which the stream can be continued."""
    is_last: Callable[[T], bool]
    """Whether an event ends the stream."""
    after: int | None = None
    """The number of the last event that is known already; None begins with the first."""


@dataclass(frozen=True, slots=True)
class Parts(Generic[T]):
    """A file in parts, each `bytes`."""

    request: Request[T]
    progress: Progress | None = None


Several = Pages[T] | Lines[T] | Events[T] | Parts[T]


class Resource(Generic[R_co]):
    """The methods of one part of the API, on a client."""

    def __init__(self, runner: R_co) -> None:
        self.runner = runner


class _Method(Generic[P, Made]):
    """What makes a method of both clients of a function that describes requests."""

    def __init__(self, make: Callable[Concatenate[Any, P], Made]) -> None:
        self.make = make
        self.__doc__ = make.__doc__
        self.__wrapped__ = make

    def _bound(self, resource: Resource[Any], carry_out: Callable[[Made], Any]) -> Callable[P, Any]:
        """The method of one client, which carries out what the function describes."""

        def method(*args: P.args, **kwargs: P.kwargs) -> Any:
            return carry_out(_made(self.make, resource, *args, **kwargs))

        method.__doc__, method.__name__ = self.__doc__, self.make.__name__
        return method


class sends(_Method[P, Request[T]], Generic[P, T]):  # noqa: N801 (a decorator)
    """Makes a function that returns a `Request` a method that sends it."""

    @overload
    def __get__(self, resource: None, owner: type) -> Self: ...
    @overload
    def __get__(self, resource: Resource[SyncRunner], owner: type) -> Callable[P, T]: ...
    @overload
    def __get__(self, resource: Resource[AsyncRunner], owner: type) -> Callable[P, Awaitable[T]]: ...
    def __get__(self, resource: Resource[Any] | None, owner: type) -> Any:
        """Return the method of this client, or the decorated function of the class."""
        return self if resource is None else self._bound(resource, resource.runner.send)


class iterates(_Method[P, Several[T]], Generic[P, T]):  # noqa: N801 (a decorator)
    """Makes a function that returns `Pages`, `Lines`, `Events` or `Parts` a method that iterates over them."""

    @overload
    def __get__(self, resource: None, owner: type) -> Self: ...
    @overload
    def __get__(self, resource: Resource[SyncRunner], owner: type) -> Callable[P, Iterator[T]]: ...
    @overload
    def __get__(self, resource: Resource[AsyncRunner], owner: type) -> Callable[P, AsyncIterator[T]]: ...
    def __get__(self, resource: Resource[Any] | None, owner: type) -> Any:
        """Return the method of this client, or the decorated function of the class."""
        return self if resource is None else self._bound(resource, resource.runner.iterate)


def _made(make: Callable[..., T], *args: Any, **kwargs: Any) -> T:
    """Make a request.

    Raises:
        InvalidArgument: if it cannot be sent like this.
    """
    try:
        return make(*args, **kwargs)
    except ValidationError as error:
        raise InvalidArgument(error_sentence(error, BaseModel)) from error
