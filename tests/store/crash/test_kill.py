"""`kill -9` while appends are under way, again and again: what was acknowledged is there, once, and cursors hold.

`STREAMRES_KILLS=200 pytest tests/store/crash` kills more often.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
from requirement import requirement

from streamres import Client, Producer
from streamres.model import decode_cursor
from streamres.store.sqlite import verify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from streamres import Update
    from streamres.model import Kind

KILLS = int(os.environ.get("STREAMRES_KILLS", "6"))
SERVER = Path(__file__).parent / "server.py"


@contextmanager
def running(path: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """A server over the file; it is killed at the end, without a word."""
    command = [sys.executable, str(SERVER), str(path), str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == f"http://127.0.0.1:{port}/mcp"
            yield process
        finally:
            process.kill()


@dataclass
class Pushed:
    """One resource, and the endless run of appends that a producer makes to it, until it is told to seal."""

    uri: str
    kind: Kind
    seed: int
    made: list[bytes] = field(default_factory=list)
    acknowledged: int = 0
    sealed: bool = False
    cursors: list[str] = field(default_factory=list)

    def data(self, count: int) -> bytes:
        """The append of that number: mostly small, now and then more than a piece of the file."""
        while len(self.made) <= count:
            number, rng = len(self.made), random.Random(f"{self.seed} {len(self.made)}")
            match self.kind:
                case "text":
                    line = f"{number} é😀\n" * (12_000 if rng.random() < 0.02 else rng.randint(1, 40))
                    self.made.append(line.encode())
                case "blob":
                    self.made.append(rng.randbytes(rng.choice([1, 50, 5_000])))
                case "json":
                    self.made.append(json.dumps([{"op": "add", "path": "/-", "value": number}]).encode())
        return self.made[count]

    def content(self, count: int) -> Any:  # noqa: ANN401
        """What there is after so many appends."""
        return list(range(1, count)) if self.kind == "json" else b"".join(map(self.data, range(count)))

    def holds(self, update: Update, *, at_least: int) -> int:
        """How many appends the content is of: all that was acknowledged, each once, and at most one more."""
        found = update.value if self.kind == "json" else update.data
        counts = (count for count in range(at_least, len(self.made) + 1) if self.size(count) == len(found))
        count = next(counts, None)
        assert count is not None, f"{self.uri}: neither the first {at_least} appends nor some more"
        assert found == self.content(count), f"{self.uri}: not the first {count} appends"
        return count

    def size(self, count: int) -> int:
        return count - 1 if self.kind == "json" else sum(map(len, self.made[:count]))


async def push(url: str, pushed: Pushed, enough: anyio.Event, news: anyio.Condition) -> None:
    async with Producer(url, pushed.uri, kind=pushed.kind) as producer:
        if pushed.kind == "json":
            pushed.made.append(b'[{"op": "replace", "path": "", "value": []}]')
        while not enough.is_set():
            await producer.append(pushed.data(pushed.acknowledged))
            async with news:
                pushed.acknowledged += 1
                news.notify_all()
        await producer.seal()
        pushed.sealed = True


async def look(client: Client, pushed: Pushed, acknowledged: int) -> None:
    """After a restart: all that was acknowledged, and a delta from every cursor that was ever given."""
    if acknowledged == 0:
        return
    update = await client.read(pushed.uri)
    pushed.holds(update, at_least=acknowledged)
    for cursor in random.sample(pushed.cursors, min(5, len(pushed.cursors))):
        delta = await client.read(pushed.uri, cursor)
        # A document may take less than its patches, and then comes whole (SR-5.10).
        assert delta.reset == "smaller" if delta.since is None else delta.since == cursor
        if pushed.kind != "json":
            assert delta.since == cursor, "a cursor of before is no good"
            begin, end = decode_cursor(cursor, pushed.uri).length, decode_cursor(delta.cursor, pushed.uri).length
            assert delta.data == b"".join(map(pushed.data, range(len(pushed.made))))[begin:end]
    pushed.cursors.append(update.cursor)


@contextmanager
def following(url: str, uri: str, file: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A follower of its own, whose output goes to a file."""
    with file.open("wb") as out:
        command = [sys.executable, "-m", "streamres", "tail", url, uri]
        with subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL) as process:
            try:
                yield process
            finally:
                process.kill()


@requirement("S1")
@requirement("SR-4.2")
@requirement("SR-9.1")
async def test_what_was_acknowledged_is_there_once_after_every_kill(tmp_path: Path, free_port: int) -> None:
    url, path = f"http://127.0.0.1:{free_port}/mcp", tmp_path / "store.db"
    all_pushed = [
        Pushed("build://7/log", "text", 1),
        Pushed("build://7/core", "blob", 2),
        Pushed("build://7/plan", "json", 3),
    ]
    rng = random.Random(4)
    enough, news = anyio.Event(), anyio.Condition()

    tails: list[subprocess.Popen[bytes]] = []

    async def restart_and_kill() -> None:
        for kill in range(KILLS):
            with running(path, free_port) as process:
                before = [pushed.acknowledged for pushed in all_pushed]
                async with Client(url) as client:
                    for pushed, acknowledged in zip(all_pushed, before, strict=True):
                        await look(client, pushed, acknowledged)
                target = sum(pushed.acknowledged for pushed in all_pushed) + rng.randint(1, 60)
                async with news:
                    while sum(pushed.acknowledged for pushed in all_pushed) < target:
                        await news.wait()
                    while kill == 0 and not all(pushed.acknowledged for pushed in all_pushed):
                        await news.wait()
                if kill == 0:
                    for pushed in all_pushed[:2]:
                        tail = following(url, pushed.uri, tmp_path / pushed.kind)
                        tails.append(followers.enter_context(tail))
                process.kill()
        enough.set()

    with ExitStack() as followers, anyio.fail_after(60 + 5 * KILLS):
        async with anyio.create_task_group() as tasks:
            for pushed in all_pushed:
                tasks.start_soon(push, url, pushed, enough, news)
            await restart_and_kill()
            with running(path, free_port):
                while not all(pushed.sealed for pushed in all_pushed):
                    await anyio.sleep(0.01)
                async with Client(url) as client:
                    for pushed in all_pushed:
                        last = [update async for update in client.follow(pushed.uri)][-1]  # proves the digest
                        assert last.state == "complete"
                        whole = await client.read(pushed.uri)
                        assert pushed.holds(whole, at_least=pushed.acknowledged) == pushed.acknowledged
                for tail, pushed in zip(tails, all_pushed, strict=False):
                    assert await anyio.to_thread.run_sync(tail.wait) == 0
                    assert (tmp_path / pushed.kind).read_bytes() == pushed.content(pushed.acknowledged)

    assert list(verify(path)) == []
