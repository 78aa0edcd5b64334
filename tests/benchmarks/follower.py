"""A late reader as a process: follows one sealed resource from its beginning and says how fast it got how much."""

from __future__ import annotations

import json
import sys
import time

import anyio

from streamres import Client


async def main(url: str, uri: str) -> None:
    async with Client(url) as client:
        begin = time.perf_counter()
        size = 0
        async for update in client.follow(uri):
            size += len(update.text)
        seconds = time.perf_counter() - begin
    print(json.dumps({"bytes": size, "seconds": seconds}))


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], backend_options={"use_uvloop": True})
