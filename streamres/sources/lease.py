"""What a process has open in a store of its own machine, so that others seal it when the process is gone.

A lease is a file beside the store that names a resource, locked for as long as its producer lives. The system lets
go of the lock when the producer ends, however it ends; whoever gets it then says that the content was cut.
"""

from __future__ import annotations

import fcntl
import logging
import os
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import TYPE_CHECKING, Final

import anyio

from streamres.errors import ResourceNotFound, ResourceSealed, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamres.store import Store

logger = logging.getLogger("streamres")

LOOK_S: Final = 2.0
"""Seconds between looks for producers that are gone."""


@contextmanager
def lease(store: Path, uri: str) -> Iterator[None]:
    """Holds a lease on a resource of the store in the file `store` while the context lasts.

    Raises:
        OSError: the folder of the store cannot be written to.
    """
    path = store.with_name(f"{store.name}.producer-{token_hex(8)}")
    # Locked before it has its name, so nobody finds it unlocked.
    unnamed = path.with_name(f".{path.name}")
    fd = os.open(unnamed, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, uri.encode())
        unnamed.rename(path)
        yield
    finally:
        for name in (unnamed, path):
            name.unlink(missing_ok=True)
        os.close(fd)


async def seal_what_is_left(store: Store, path: Path) -> list[str]:
    """Seals as aborted what producers that are gone have left open, and gives the URIs.

    Raises:
        StoreError: the store cannot be written to.
    """
    sealed = []
    for name in sorted(path.parent.glob(f"{path.name}.producer-*")):
        with suppress(FileNotFoundError), name.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # its producer lives
            uri = file.read().decode()
            with suppress(ResourceNotFound, ResourceSealed):
                await store.append(uri, b"", seal="aborted")
                sealed.append(uri)
            name.unlink()
    return sealed


async def keep_sealing(store: Store, path: Path) -> None:
    """Does so again and again, until it is cancelled."""
    while True:
        await anyio.sleep(LOOK_S)
        try:
            await seal_what_is_left(store, path)
        except StoreError as exc:
            logger.error("what a producer left open cannot be sealed: %s", exc)
