"""A real server for one scene, and what happens on it beside what its clients ask."""

from __future__ import annotations

import asyncio
from base64 import b64decode
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from importlib.metadata import version
from itertools import count
from typing import Any

import anyio
import pytest
from server.wire import WatchedStore
from transport.stdio_peer import talking

from streamres import Limits, Server
from streamres.model import encode_cursor
from streamres.sources.resource import Resource
from streamres.tools import Context

from .channels import Channel, House, HttpChannel, StdioChannel

URI = "build://7/log"
"""The resource that an action is about unless it says another."""


class Replica:
    """One server with its producer; all replicas of a scene draw the same epochs."""

    _returned: asyncio.Future[str]

    def __init__(self, limits: Limits, first_epoch: int) -> None:
        self.store = WatchedStore(limits)
        self.server = Server("builds", store=self.store, limits=limits)
        self.epochs = count(first_epoch)
        self._holds: dict[str, Resource] = {}

    async def act(self, action: Mapping[str, Any]) -> str | None:
        """Does one thing, and gives the cursor after it."""
        match action:
            case {"create": uri, **what}:
                known = {name: what[name] for name in ("kind", "value", "title") if name in what}
                hold = self._holds[uri] = await self.server.create(uri, **known)
                return hold.cursor
            case {"tool": name, "output": uri}:
                self._offer(name, uri)
                return None
            case {"return": text}:
                self._returned.set_result(text)
                return None
        uri = action.get("uri", URI)
        while (hold := self._holds.get(uri)) is None:
            await anyio.sleep(0)  # until the tool has made it
        match action:
            case {"append": str(text), "cause": str(cause)}:
                await self.store.append(uri, text.encode(), cause=cause)
            case {"append": str(text)}:
                await hold.append(text)
            case {"append": {"blob": encoded}}:
                await hold.append(b64decode(encoded))
            case {"patch": operations}:
                await hold.patch(operations)
            case {"replace": content}:
                await hold.replace(content)
            case {"seal": state}:
                await hold.seal(state)
            case {"compact": floor}:
                await self.store.compact(uri, floor)
            case _:
                raise ValueError(f"no action: {action}")
        return encode_cursor((await self.store.entry(uri)).head.position, uri)

    def _offer(self, name: str, uri: str) -> None:
        """Offers a tool that makes one output, and returns what it is told to."""

        @self.server.tool(name)
        async def tool(context: Context) -> str:
            self._returned = asyncio.get_running_loop().create_future()
            self._holds[uri] = await context.text("log", uri=uri)
            return await self._returned

    @property
    def calls(self) -> bool:
        """Says whether there is a call, which the other replica knows nothing of."""
        return hasattr(self, "_returned")


class Stage:
    """The replica that clients speak to over `channel`, and one elsewhere."""

    channel: Channel

    def __init__(self, here: Replica, elsewhere: Replica, draw_for: Callable[[Replica], None]) -> None:
        self._here, self._elsewhere = here, elsewhere
        self._draw_for = draw_for

    async def act(self, action: Mapping[str, Any]) -> str | None:
        """Does one thing here, or only `elsewhere`, and gives the cursor after it."""
        action = {name: value for name, value in action.items() if name != "cursor"}
        only_elsewhere = action.pop("elsewhere", False)
        if "end" in action:
            await self._end(action["end"])
            return None
        if self._here.calls:
            return await self._here.act(action)
        self._draw_for(self._elsewhere)
        cursor = await self._elsewhere.act(action)
        self._draw_for(self._here)
        return cursor if only_elsewhere else await self._here.act(action)

    async def until_held(self) -> None:
        """Returns when a request that was not answered yet waits for something to happen."""
        if self.channel.unanswered:
            await self._here.store.until_watched_by(1)

    async def _end(self, who: str) -> None:
        if who == "client":
            await self.channel.end()
        else:
            self._here.server.close()


@contextmanager
def epochs_of(first: Replica) -> Iterator[Callable[[Replica], None]]:
    """Lets the stores draw the epochs of `first`, or of the replica that is named from then on."""
    with pytest.MonkeyPatch.context() as patch:

        def draw_for(replica: Replica) -> None:
            patch.setattr("streamres.store.memory.randbits", lambda bits: next(replica.epochs))

        draw_for(first)
        yield draw_for


@asynccontextmanager
async def staged(
    house: House, setup: Sequence[Mapping[str, Any]], *, transport: str, first_epoch: int
) -> AsyncIterator[tuple[Stage, list[dict[str, Any]]]]:
    """Gives the stage after `setup`, and that with the cursors that its actions gave."""
    limits = Limits(**{name: value for action in setup for name, value in action.get("limit", {}).items()})
    here, elsewhere = Replica(limits, first_epoch), Replica(limits, first_epoch)
    with epochs_of(here) as draw_for:
        stage = Stage(here, elsewhere, draw_for)
        done: list[dict[str, Any]] = []
        for action in setup:
            cursor = None if "limit" in action else await stage.act(action)
            done.append({**action, "cursor": cursor} if "cursor" in action else dict(action))
        async with _channel(house, here.server, transport) as stage.channel:
            yield stage, done


@asynccontextmanager
async def _channel(house: House, server: Server, transport: str) -> AsyncIterator[Channel]:
    if transport == "stdio":
        async with talking(server=server, about=("builds", version("streamres"))) as talk:
            yield StdioChannel(talk)
        return
    house.app = server.asgi(upload=True)
    channel = HttpChannel(house)
    try:
        yield channel
    finally:
        channel.leave()
        server.close()
