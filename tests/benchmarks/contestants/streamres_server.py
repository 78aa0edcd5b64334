"""streamres as a contestant: its own `Server.serve`, with nothing changed."""

from __future__ import annotations

import anyio

from benchmarks.control import listening_socket, obey
from benchmarks.text import LINE
from streamres import Resource, Server


class Streamres:
    """A server with the memory store."""

    def __init__(self) -> None:
        self.server = Server("benchmark")
        self._resources: dict[str, Resource] = {}

    async def create(self, uri: str) -> None:
        self._resources[uri] = await self.server.create(uri)

    async def append(self, uri: str, text: str) -> str:
        resource = self._resources[uri]
        await resource.append(text)
        return resource.cursor

    async def publish(self, uri: str) -> None:
        await self._resources[uri].append(LINE)

    async def seal(self, uri: str) -> None:
        await self._resources[uri].seal()


async def main() -> None:
    contestant = Streamres()
    sock = listening_socket()
    port = sock.getsockname()[1]
    async with contestant.server.serve(sock=sock):
        await obey(contestant, port)


if __name__ == "__main__":
    anyio.run(main, backend_options={"use_uvloop": True})
