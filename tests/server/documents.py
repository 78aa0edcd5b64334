"""A document that a test has to itself, and what a client sends that declares operations of a patch."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from .frames import STREAM
from .wire import EXTENSION, Wire, envelope

if TYPE_CHECKING:
    from streamres import Resource

    from .frames import Answer
    from .wire import Binding

_numbers = count(1)
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
BIG = 2**64 + 1

FIRST = {"messages": [{"text": "Hi"}], "n": 0, "big": BIG}
GROWS = {"op": "append", "path": "/messages/0/text", "value": " there"}
COUNTS = {"op": "replace", "path": "/n", "value": BIG}


class Document(Wire):
    """A server with one document, and the hold on it."""

    resource: Resource

    async def patch(self, *operations: dict[str, Any]) -> None:
        await self.resource.patch(operations)

    async def since(self, binding: Binding, cursor: str, *patch_ops: str, **members: object) -> Answer:
        """A read since a cursor by a client that declares these operations."""
        params = {"uri": self.uri, **({} if binding == "meta" else {"since": cursor, **members})}
        meta = asking(*patch_ops)
        if binding == "meta":
            meta[STREAM] = {"since": cursor, **members}
        return await self.ask("resources/read", {**params, "_meta": meta})


def asking(*patch_ops: str) -> dict[str, Any]:
    meta = envelope()
    settings = {"binding": "fields", **({"patchOps": list(patch_ops)} if patch_ops else {})}
    meta[CAPABILITIES] = {"extensions": {EXTENSION: settings}}
    return meta


async def document_on(wire: Wire) -> Document:
    document = Document(wire.server, wire.url, wire.http, uri=f"agent://{next(_numbers)}/state")
    document.resource = await wire.server.create(document.uri, kind="json", value=FIRST, name="state")
    return document
