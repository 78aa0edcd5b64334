"""A second program on the same file: `python appender.py FILE URI NAME COUNT` says the revision of each line."""

from __future__ import annotations

import sys

import anyio

from streamres.model import AppendNumber, Description
from streamres.store.sqlite import SqliteStore


async def main(path: str, uri: str, name: str, count: int) -> None:
    async with SqliteStore.open(path) as store:
        for seq in range(count):
            number = AppendNumber(producer=name, epoch=1, seq=seq)
            line = f"{name} {seq} é\n".encode()
            head = await store.append(uri, line, number=number, create=Description(uri=uri, name=uri))
            print(head.position.revision, flush=True)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
