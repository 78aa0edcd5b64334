"""A client program on Node, and the server that it speaks to: over HTTP, or started by the client over stdio."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
from anyio.streams.buffered import BufferedByteReceiveStream
from server.wire import URI

from streamres import Client, Server
from streamres.client.push import Producer

from .node import NODE

if TYPE_CHECKING:
    from anyio.abc import Process

    from streamres.model import Kind

Over = Literal["http", "stdio"]
SceneOf = Callable[..., "AbstractAsyncContextManager[Scene]"]
"""Takes the program's name, the way to the server, the client and what else the program takes; see `scene`."""

ProgramOf = Callable[..., "AbstractAsyncContextManager[Program]"]
"""Takes the program's name and what it takes; see `running`."""

_LINE_BYTES = 16 * 1024 * 1024
_TIMEOUT_S = 30


class Program:
    """One that is under way."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._input = process.stdin
        self._output = BufferedByteReceiveStream(process.stdout)

    async def line(self) -> dict[str, Any]:
        """The next that it says."""
        with anyio.fail_after(_TIMEOUT_S):
            return json.loads(await self._output.receive_until(b"\n", _LINE_BYTES))

    async def go(self) -> dict[str, Any]:
        """Tells it to go on and gives what it says then."""
        await self._input.send(b"\n")
        return await self.line()

    async def end(self) -> int:
        """Closes its input and gives its exit code."""
        await self._input.aclose()
        with anyio.fail_after(_TIMEOUT_S):
            return await self._process.wait()


class Scene:
    """A client program that is connected, and a producer of what it sees."""

    def __init__(self, url: str, program: Program, said: dict[str, Any], producer: Producer) -> None:
        self.url, self.program, self.said, self.producer = url, program, said, producer

    async def head(self) -> dict[str, Any]:
        """Where the resource stands, as our own client reads it."""
        async with Client(self.url) as reader:
            update = await reader.read(self.producer.uri)
        return {"cursor": update.cursor, "revision": update.revision, "state": update.state}


@asynccontextmanager
async def scene(
    directory: Path, port: int, name: str, over: Over, client: str, *args: str, kind: Kind = "text"
) -> AsyncIterator[Scene]:
    """A server without resources, the program `name` connected to it, and a producer at `URI`."""
    url = f"http://127.0.0.1:{port}/mcp"
    async with _serving(over, port, url) as target:
        program_of = running(directory, name, client, target, *args)
        async with program_of as program, Producer(url, URI, kind=kind) as producer:
            yield Scene(url, program, await program.line(), producer)
            assert await program.end() == 0


@asynccontextmanager
async def _serving(over: Over, port: int, url: str) -> AsyncIterator[str]:
    if over == "stdio":
        yield json.dumps(
            [sys.executable, "-m", "streamres", "serve", "--stdio", "--store", "memory:", "--port", str(port)]
        )
    else:
        async with Server("streamres serve").serve(port=port, upload=True):
            yield url


@asynccontextmanager
async def running(directory: Path, name: str, *args: str) -> AsyncIterator[Program]:
    """The program `name`, which is killed where the test fails."""
    # Its standard error is this one's, where pytest shows it with a test that fails.
    command = [NODE, f"{name}.mjs", *args]
    async with await anyio.open_process(command, cwd=directory, stderr=None) as process:
        try:
            yield Program(process)
        except BaseException:
            process.kill()
            raise
