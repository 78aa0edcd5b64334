"""What runs in a server process: a carrier's app over the work, which goes on as far as it is told."""

from __future__ import annotations

import json
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import anyio

from streamres.carriers import Carrier, Source, carriers
from streamres.limits import Limits
from streamres.transport import bind, serving

if TYPE_CHECKING:
    import socket
    from collections.abc import Sequence
    from pathlib import Path

    from streamres.carriers.content import Change, Kind, Value

MESSAGE_BYTES: Final = 4096

carriers()  # so that the process from which all others are forked has their libraries


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a server process serves."""

    carrier: Carrier
    kind: Kind
    begin: Value
    changes: Sequence[Change]
    count: int
    """Changes that were made before the process began."""
    keep: Path
    """A folder that all processes of the work share."""


def main(spec: Spec, control: socket.socket) -> None:
    """Serves until it is killed, or whoever started it is gone."""
    with suppress(KeyboardInterrupt):
        anyio.run(_serve, spec, control, backend_options={"use_uvloop": True})


async def _serve(spec: Spec, control: socket.socket) -> None:
    control.setblocking(False)
    source = Source(spec.kind, spec.begin, spec.changes, spec.keep)
    source.advance(spec.count)
    sock = bind("127.0.0.1", 0)
    port = sock.getsockname()[1]
    async with spec.carrier.serve(source) as app, serving(app, sock, close=lambda: None, limits=Limits()):
        control.send(json.dumps({"port": port}).encode())
        while True:
            await anyio.wait_readable(control)
            told = control.recv(MESSAGE_BYTES)
            if not told:
                return
            do = json.loads(told)
            at = time.monotonic()
            source.advance(do["count"], ended=do["ended"])
            control.send(json.dumps({"at": at}).encode())
