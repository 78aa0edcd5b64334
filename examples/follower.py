"""Follows a resource to its seal: every byte once, whatever happens to the connection in between."""

import sys

import anyio

from streamres import Client


async def main(url: str, uri: str) -> None:
    async with Client(url) as client:
        async for update in client.follow(uri):
            print(update.text, end="", flush=True)
            if update.sealed:
                print(f"[{update.state}, verified against {update.digest}]")


if __name__ == "__main__":
    anyio.run(
        main,
        sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8765/mcp",
        sys.argv[2] if len(sys.argv) > 2 else "build://7/log",
    )
