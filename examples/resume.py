"""A reader that stops in the middle, keeps its cursor, and goes on later as another process would."""

import anyio

from streamres import Client, Server

URI = "build://7/log"


async def read_two_updates(url: str) -> tuple[str, str]:
    text = ""
    async with Client(url) as client:
        updates = client.follow(URI)
        async for update in updates:
            text += update.text
            if update.revision >= 2:  # the reader "crashes" here; all it has kept is the cursor
                return text, update.cursor
    raise RuntimeError("the log ended early")


async def read_the_rest(url: str, cursor: str) -> str:
    async with Client(url) as client:
        return "".join([update.text async for update in client.follow(URI, since=cursor)])


async def main() -> None:
    server = Server("builds")
    log = await server.create(URI)
    async with server.serve(port=0) as url:
        await log.append("compiling\n")
        await log.append("linking\n")
        before, cursor = await read_two_updates(url)
        await log.append("testing\n")  # nobody was there to see it
        await log.seal()
        after = await read_the_rest(url, cursor)
    print(f"before the cut:\n{before}after it, since {cursor}:\n{after}", end="")


if __name__ == "__main__":
    anyio.run(main)
