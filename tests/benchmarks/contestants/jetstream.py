"""NATS JetStream with its data in files, each message on the disk before it is acknowledged."""

from __future__ import annotations

from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from store.nats_server import single

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def serving() -> Iterator[int]:
    """Runs a server while the context lasts, and gives the port."""
    with (
        TemporaryDirectory(prefix="jetstream-") as folder,
        # In place of the block before it, which leaves it to the server when to write to the disk.
        single(f'jetstream {{ store_dir: "{folder}", sync_interval: always }}') as server,
    ):
        yield server.port
