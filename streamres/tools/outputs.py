"""The outputs of one call: how much they may hold in all, who holds them, and their seal."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, suppress
from typing import TYPE_CHECKING

from streamres.errors import LimitExceeded, ResourceNotFound, ResourceSealed
from streamres.model.json_value import encode_given
from streamres.sources.resource import Resource, create

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from streamres.limits import Limits
    from streamres.model import Kind, Seal
    from streamres.model.json_value import JsonValue
    from streamres.store import Store
    from streamres.tools.context import About

Lease = Callable[[str], AbstractContextManager[None]]
"""Holds a resource for this process: when that is gone, others seal it."""


class Output(Resource):
    """An output of a call, which writes `output_bytes` at most to all of its outputs."""

    spend: Callable[[int], None]

    async def patch(self, operations: Sequence[Mapping[str, Any]], *, cause: str | None = None) -> None:
        """Changes the document; see `Resource.patch`."""
        self.spend(len(encode_given(operations)))
        await super().patch(operations, cause=cause)

    async def replace(self, content: str | bytes | JsonValue) -> None:
        """Puts other content in place; see `Resource.replace`."""
        self.spend(len(encode_given(content)) if self.kind == "json" else len(content))
        await super().replace(content)

    async def _append(self, data: bytes, *, seal: Seal | None = None, cause: str | None = None) -> None:
        self.spend(len(data))
        await super()._append(data, seal=seal, cause=cause)


class Outputs:
    """The outputs of the call whose id is in the URIs that were given to none."""

    def __init__(self, store: Store, limits: Limits, call_id: str, lease: Lease | None) -> None:
        self._made: list[Resource] = []
        self._named: list[Resource] = []
        self._store = store
        self._limits = limits
        self._left_bytes = limits.output_bytes
        self._prefix = f"call://{call_id}/"
        self._lease = lease
        self._leases = ExitStack()

    @property
    def uris(self) -> list[str]:
        """Their URIs."""
        return [output.uri for output in self._named]

    @property
    def own_uris(self) -> list[str]:
        """The URIs of those that were given none."""
        return [uri for uri in self.uris if uri.startswith(self._prefix)]

    async def make(self, name: str, kind: Kind, uri: str | None, about: About, value: JsonValue) -> Resource:
        """Makes an output; see `Context.text`."""
        made = await create(
            self._store, uri or f"{self._prefix}{name}", kind=kind, value=value, name=name, make=Output, **about
        )
        made.spend = self._spend
        if self._lease is not None:
            self._leases.enter_context(self._lease(made.uri))
        self._made.append(made)
        self._named.append(made)
        return made

    def name(self, resource: Resource) -> None:
        """Adds a resource that goes on without the call, and is not sealed with it."""
        self._named.append(resource)

    async def seal(self, state: Seal) -> None:
        """Seals those that are open."""
        for output in self._made:
            if output.state == "open":
                with suppress(ResourceSealed, ResourceNotFound):
                    await output.seal(state)
        self._leases.close()

    def _spend(self, size: int) -> None:
        if size > self._left_bytes:
            raise LimitExceeded("output_bytes", self._limits.output_bytes, "let the tool write less")
        self._left_bytes -= size
