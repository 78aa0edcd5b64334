"""A server with one resource that grows while it is read. Follow it with `follower.py` or `streamres tail`."""

import sys

import anyio

from streamres import Server


async def main(port: int) -> None:
    server = Server("builds")
    log = await server.create("build://7/log", kind="text", title="Build 7")
    async with server.serve(port=port) as url:
        print(f"{log.uri} is live at {url}", flush=True)
        for number in range(1, 6):
            await log.append(f"step {number} of 5\n")
            await anyio.sleep(0.2)
        await log.seal()
        await server.drain()  # whoever follows gets the end


if __name__ == "__main__":
    anyio.run(main, int(sys.argv[1]) if len(sys.argv) > 1 else 8765)
