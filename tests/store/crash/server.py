"""A server over one file, made to be killed: `python server.py FILE PORT` says its URL once it serves."""

from __future__ import annotations

import sys

import anyio

from streamres import Server
from streamres.store.sqlite import SqliteStore


async def main(path: str, port: int) -> None:
    async with (
        SqliteStore.open(path) as store,
        Server("crash", store=store).serve(port=port, upload=True) as url,
    ):
        print(url, flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], int(sys.argv[2]), backend_options={"use_uvloop": True})
