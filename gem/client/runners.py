"""What carries out the effects of the client's logic with httpx2: `SyncRunner` in threads, `AsyncRunner` in a loop.

Both have the same two methods. `send` returns the answer of a `Request`, and `iterate` the items of a list or stream;
whoever stops iterating early closes the connection of the stream with it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack, aclosing, asynccontextmanager, closing, contextmanager
from typing import Any, Self, TypeVar

import httpx2

from gem.client.effects import Answer, Effect, Emit, Message, Open, Pause, Program, Read, Send, Source
from gem.client.errors import Unreachable
from gem.client.exchange import ask
from gem.client.request import Request, Several
from gem.client.retries import Retries
from gem.client.streams import items_of
from gem.client.transport import TIMEOUT_SECONDS, Runner, sent_form

T = TypeVar("T")

MAX_EVENT_BYTES = 16 << 20
"""The largest event of a stream; a larger one is an error."""


class SyncRunner(Runner):
    """Carries out requests, and waits for them in the calling thread. Several threads may use one."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        retries: Retries | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, token, retries, timeout_seconds)
        self._sleep = sleep
        with self.named_failures():
            self._http = httpx2.Client(**self._settings)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    def send(self, request: Request[T]) -> T:
        """Send a request and return its answer.

        Raises:
            ClientError: one of its subclasses.
        """
        return self.run(ask(request, self.retries))

    def iterate(self, several: Several[T]) -> Iterator[T]:
        """Yield the items of a list or a stream, which is read as far as the caller iterates.

        Raises:
            ClientError: one of its subclasses.
        """
        return self.emit(items_of(several, self.retries))

    def run(self, program: Program[T]) -> T:
        """Carry out logic to its end and return its result."""
        with ExitStack() as stack:
            streams = _Streams(self, stack)
            try:
                effect = next(program)
                while True:
                    try:
                        result = streams.carry_out(effect)
                    except Unreachable as error:
                        effect = program.throw(error)
                    else:
                        effect = program.send(result)
            except StopIteration as stop:
                value: T = stop.value
                return value

    def emit(self, source: Source[T]) -> Iterator[T]:
        """Carry out logic and yield what it emits."""
        with closing(source), ExitStack() as stack:
            streams = _Streams(self, stack)
            step: Callable[[], Effect | Emit[T]] = source.__next__
            while True:
                try:
                    effect = step()
                except StopIteration:
                    return
                if isinstance(effect, Emit):
                    yield from effect.items
                    step = source.__next__
                    continue
                try:
                    result = streams.carry_out(effect)
                except Unreachable as error:
                    step = _thrown(source, error)
                else:
                    step = _sent(source, result)

    def send_message(self, message: Message) -> Answer:
        """Send a message and return the whole answer.

        Raises:
            Unreachable: if none came.
        """
        with sent_form(message) as sent, self.named_failures():
            response = self._http.send(self._http.build_request(message.method, message.path, **sent))
        return Answer(response.status_code, response.headers, response.content)

    @contextmanager
    def open_stream(self, message: Message, form: str) -> Iterator[tuple[Answer, Iterator[Any]]]:
        """Send a message; yield the head of the answer, with its content if it is an error, and an iterator of parts.

        Raises:
            Unreachable: if no answer came, or later in the iterator.
        """
        with sent_form(message) as sent, self.named_failures():
            request = self._http.build_request(message.method, message.path, **sent)
            response = self._http.send(request, stream=True)
        try:
            if response.status_code >= 300:
                with self.named_failures():
                    content = response.read()
                yield Answer(response.status_code, response.headers, content), iter(())
                return
            yield Answer(response.status_code, response.headers), self._parts(response, form)
        finally:
            response.close()

    def pause(self, seconds: float) -> None:
        """Wait."""
        self._sleep(seconds)

    def _parts(self, response: httpx2.Response, form: str) -> Iterator[Any]:
        with self.named_failures():
            if form == "events":
                yield from httpx2.EventSource(response, max_event_size=MAX_EVENT_BYTES)
            else:
                yield from response.iter_bytes()


class _Streams:
    """The effects of one program, and its open stream if it has one."""

    def __init__(self, runner: SyncRunner, stack: ExitStack) -> None:
        self.runner, self.stack = runner, stack
        self.parts: Iterator[Any] = iter(())

    def carry_out(self, effect: Effect | Emit[Any]) -> Any:
        """Do what the logic asks for."""
        if isinstance(effect, Read):
            return next(self.parts, None)
        if isinstance(effect, Send):
            return self.runner.send_message(effect.message)
        if isinstance(effect, Pause):
            self.stack.close()
            return self.runner.pause(effect.seconds)
        assert isinstance(effect, Open)
        self.stack.close()
        answer, self.parts = self.stack.enter_context(self.runner.open_stream(effect.message, effect.form))
        return answer


class AsyncRunner(Runner):
    """Carries out requests in an event loop, which it belongs to."""

    def __init__(
        self,
        url: str,
        token: str = "",
        *,
        retries: Retries | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
        transport: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        super().__init__(url, token, retries, timeout_seconds)
        with self.named_failures():
            self._http = httpx2.AsyncClient(**self._settings, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()

    async def send(self, request: Request[T]) -> T:
        """See `SyncRunner.send`."""
        return await self.run(ask(request, self.retries))

    def iterate(self, several: Several[T]) -> AsyncIterator[T]:
        """See `SyncRunner.iterate`."""
        return self.emit(items_of(several, self.retries))

    async def run(self, program: Program[T]) -> T:
        """See `SyncRunner.run`."""
        async with AsyncExitStack() as stack:
            streams = _AsyncStreams(self, stack)
            try:
                effect = next(program)
                while True:
                    try:
                        result = await streams.carry_out(effect)
                    except Unreachable as error:
                        effect = program.throw(error)
                    else:
                        effect = program.send(result)
            except StopIteration as stop:
                value: T = stop.value
                return value

    async def emit(self, source: Source[T]) -> AsyncIterator[T]:
        """See `SyncRunner.emit`."""
        with closing(source):
            async with AsyncExitStack() as stack:
                streams = _AsyncStreams(self, stack)
                step: Callable[[], Effect | Emit[T]] = source.__next__
                while True:
                    try:
                        effect = step()
                    except StopIteration:
                        return
                    if isinstance(effect, Emit):
                        for item in effect.items:
                            yield item
                        step = source.__next__
                        continue
                    try:
                        result = await streams.carry_out(effect)
                    except Unreachable as error:
                        step = _thrown(source, error)
                    else:
                        step = _sent(source, result)

    async def send_message(self, message: Message) -> Answer:
        """See `SyncRunner.send_message`."""
        with sent_form(message) as sent, self.named_failures():
            response = await self._http.send(self._http.build_request(message.method, message.path, **sent))
        return Answer(response.status_code, response.headers, response.content)

    @asynccontextmanager
    async def open_stream(self, message: Message, form: str) -> AsyncIterator[tuple[Answer, AsyncIterator[Any]]]:
        """See `SyncRunner.open_stream`."""
        with sent_form(message) as sent, self.named_failures():
            request = self._http.build_request(message.method, message.path, **sent)
            response = await self._http.send(request, stream=True)
        try:
            if response.status_code >= 300:
                with self.named_failures():
                    content = await response.aread()
                yield Answer(response.status_code, response.headers, content), _nothing()
                return
            async with aclosing(self._parts(response, form)) as parts:
                yield Answer(response.status_code, response.headers), parts
        finally:
            await response.aclose()

    async def pause(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def _parts(self, response: httpx2.Response, form: str) -> Any:
        with self.named_failures():
            if form == "events":
                async for event in httpx2.EventSource(response, max_event_size=MAX_EVENT_BYTES):
                    yield event
            else:
                async for part in response.aiter_bytes():
                    yield part


class _AsyncStreams:
    """See `_Streams`."""

    def __init__(self, runner: AsyncRunner, stack: AsyncExitStack) -> None:
        self.runner, self.stack = runner, stack
        self.parts: AsyncIterator[Any] = _nothing()

    async def carry_out(self, effect: Effect | Emit[Any]) -> Any:
        """Do what the logic asks for."""
        if isinstance(effect, Read):
            return await anext(self.parts, None)
        if isinstance(effect, Send):
            return await self.runner.send_message(effect.message)
        if isinstance(effect, Pause):
            await self.stack.aclose()
            return await self.runner.pause(effect.seconds)
        assert isinstance(effect, Open)
        await self.stack.aclose()
        stream = self.runner.open_stream(effect.message, effect.form)
        answer, self.parts = await self.stack.enter_async_context(stream)
        return answer


async def _nothing() -> AsyncIterator[Any]:
    return
    yield


def _thrown(source: Source[T], error: Unreachable) -> Callable[[], Effect | Emit[T]]:
    return lambda: source.throw(error)


def _sent(source: Source[T], result: Any) -> Callable[[], Effect | Emit[T]]:
    return lambda: source.send(result)
