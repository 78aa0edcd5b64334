"""Run by itself: a stdio server in whose process everything prints, at every moment."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys

import anyio

from streamres import Server
from streamres.model import Entry
from streamres.store import MemoryStore


def chatter() -> None:
    print("printed")
    print("printed and flushed", flush=True)
    os.write(1, b"written to descriptor 1\n")
    subprocess.run(["sh", "-c", "echo by a child; cat"], check=True)  # nor does the child take what is ours


class Chatty(MemoryStore):
    async def list(self, *, after: str | None = None, limit: int) -> list[Entry]:
        chatter()
        return await super().list(after=after, limit=limit)


print("buffered before it begins", end="")
atexit.register(chatter)
anyio.run(Server("chatty", store=Chatty()).serve_stdio)
chatter()
sys.stdout.write("at the end, without a newline")
