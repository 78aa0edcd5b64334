"""A producer's hold on one streamable resource, in the process of its store."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from streamres.errors import DeltaError
from streamres.model import MIME_TYPES, Description, Snapshot, Utf8Decoder, encode_cursor
from streamres.model.json_value import JsonValue, encode_given, encode_json
from streamres.sources.difference import difference

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from streamres.model import Audience, Head, Kind, Seal, State
    from streamres.store import Store


class Resource:
    """The producer's hold on one streamable resource; made by `Server.create`, or by the context of a tool."""

    def __init__(self, what: Description, store: Store, head: Head) -> None:
        self.description = what
        """What the resource is."""
        self.uri = what.uri
        """The resource's URI."""
        self.kind = what.kind
        """`text`, `blob` or `json`."""
        self._store = store
        self._head = head
        self._decoder = Utf8Decoder()

    @property
    def head(self) -> Head:
        """Where it stands after this producer's last change."""
        return self._head

    @property
    def cursor(self) -> str:
        """The cursor after this producer's last change."""
        return encode_cursor(self._head.position, self.uri)

    @property
    def revision(self) -> int:
        """The revision after this producer's last change."""
        return self._head.position.revision

    @property
    def state(self) -> State:
        """`open` until this producer seals."""
        return self._head.state

    @property
    def replaced_bytes(self) -> int:
        """Bytes handed to `append` that were not UTF-8 and stand as U+FFFD (SR-2.1)."""
        return self._decoder.replaced

    async def append(self, data: str | bytes, *, cause: str | None = None) -> None:
        """Adds text, or bytes. Of bytes for a text, a code point cut at the end waits for the rest (SR-2.1).

        `cause` names the input that led to it, in 256 characters at most (SR-8.4).

        Raises:
            ResourceSealed: the resource is sealed.
            DeltaError: the text has a lone surrogate, which no UTF-8 has.
            LimitExceeded: more than `Limits.append_bytes` at once.
        """
        if self.kind == "json":
            raise DeltaError("a json resource is changed by patch or set")
        await self._append(_encoded(data), cause=cause)

    async def patch(self, operations: Sequence[Mapping[str, Any]], *, cause: str | None = None) -> None:
        """Changes the document of a json resource: all of the operations, or none (SR-2.3).

        They are those of RFC 6902, and `{"op": "append", "path": P, "value": S}` for a string that grows (SR-2.5).
        `cause` is as in `append`.

        Raises:
            ResourceSealed: the resource is sealed.
            DeltaError: it is no patch, or one that cannot be applied; the document is as it was.
            LimitExceeded: `json_bytes`, `json_depth` or `patch_ops`; the document is as it was.
        """
        if self.kind != "json":
            raise DeltaError(f"a {self.kind} resource takes no patches")
        self._head = await self._store.append(self.uri, encode_given(operations), cause=cause)

    async def set(self, value: JsonValue) -> None:
        """Makes the document of a json resource equal to `value`, by a patch that is found by comparing the two.

        To state the operations with `patch` is cheaper, and says more.

        Raises: as `patch`; RevisionConflict where another producer changes the document meanwhile.
        """
        reading = await self._store.read(self.uri)
        before = json.loads(b"".join(reading.step.slices())) if isinstance(reading.step, Snapshot) else None
        patch = encode_json(difference(before, value))
        self._head = await self._store.append(self.uri, patch, expected_revision=reading.step.stop.revision)

    async def replace(self, content: str | bytes | JsonValue) -> None:
        """Puts other content in place of all there is: readers get a new snapshot, never a delta (SR-2.4).

        For json `content` is a value, else text or bytes.

        Raises: as `append` or `patch`; DeltaError also where bytes for a text are not UTF-8.
        """
        data = encode_given(content) if self.kind == "json" else _encoded(content)
        self._head = await self._store.replace(self.uri, data)
        self._decoder = Utf8Decoder()

    async def seal(self, state: Seal = "complete") -> None:
        """Says that nothing follows: `complete`, or `aborted` where the content was cut. Twice is once."""
        await self._append(b"", seal=state)

    async def _append(self, data: bytes, *, seal: Seal | None = None, cause: str | None = None) -> None:
        if self.kind != "text" or (seal is None and data.isascii() and not self._decoder.holds_back):
            self._head = await self._store.append(self.uri, data, seal=seal, cause=cause)
            return
        # A copy, so that a refused append changes nothing: what is held back stays held back.
        decoder = self._decoder.copy()
        whole = decoder.decode(data, final=seal is not None)
        self._head = await self._store.append(self.uri, whole, seal=seal, cause=cause)
        self._decoder = decoder


ResourceT = TypeVar("ResourceT", bound=Resource)


async def create(
    store: Store,
    uri: str,
    *,
    kind: Kind = "text",
    value: JsonValue = None,
    name: str | None = None,
    mime_type: str | None = None,
    title: str | None = None,
    description: str | None = None,
    audience: Collection[Audience] = (),
    make: type[ResourceT],
) -> ResourceT:
    """Makes a resource and gives the hold on it, of the type `make`; see `Server.create`."""
    if value is not None and kind != "json":
        raise DeltaError(f"a {kind} resource begins empty; append to it")
    what = Description(
        uri=uri,
        name=name or uri,
        kind=kind,
        mime_type=mime_type or MIME_TYPES[kind],
        title=title,
        description=description,
        audience=tuple(audience),
    )
    content = encode_given(value) if kind == "json" else b""
    return make(what, store, await store.create(what, content))


def _encoded(text: str | bytes) -> bytes:
    if isinstance(text, bytes):
        return text
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as exc:
        raise DeltaError(f"the text has a lone surrogate at index {exc.start}") from exc
