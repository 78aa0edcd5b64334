"""streamres's store in a file, appended to in its own process: FOLDER one|each plain|numbered SECONDS.

What is counted was acknowledged, so it is on the disk; how much that is says the file, opened again.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import uvloop

from benchmarks.producers import logs_of, produce
from benchmarks.targets import DATA
from streamres.model import AppendNumber, Description
from streamres.store.sqlite import SqliteStore

if TYPE_CHECKING:
    from benchmarks.targets import Append
    from streamres.store import Store


async def main(folder: Path, shape: str, numbered: bool, seconds: float) -> None:
    logs = logs_of(shape)
    async with SqliteStore.open(folder / "store.db") as store:
        for log in set(logs):
            await store.create(Description(uri=f"bench:{log}", name=log))
        appends = [_producer(store, f"bench:{log}", f"p{k}", numbered) for k, log in enumerate(logs)]
        begin = time.perf_counter()
        counts = await asyncio.gather(*(produce(append, begin + seconds) for append in appends))
        took = time.perf_counter() - begin
    async with SqliteStore.open(folder / "store.db") as store:
        held = sum([(await store.entry(f"bench:{log}")).head.position.length for log in set(logs)])
    print(json.dumps({"appends": sum(counts), "seconds": took, "bytes": held}))


def _producer(store: Store, uri: str, name: str, numbered: bool) -> Append:
    async def append(seq: int) -> None:
        number = AppendNumber(producer=name, epoch=0, seq=seq) if numbered else None
        await store.append(uri, DATA, number=number)

    return append


if __name__ == "__main__":
    _, folder, shape, kind, seconds = sys.argv
    uvloop.run(main(Path(folder), shape, kind == "numbered", float(seconds)))
