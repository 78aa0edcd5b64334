"""Every exception that streamres raises on purpose.

StreamresError
  ProtocolError               bytes or a message break the protocol
    ParseError                not JSON
    InvalidRequest            JSON, but not one request or notification
    InvalidParams             a request with members that are missing or wrong
    HeaderMismatch            the HTTP headers say other things than the body
    UnsupportedVersion        a protocol version that is not served
    MissingCapability         a client that cannot do what the answer takes
    MethodNotFound            a method that is not served
    SessionNotFound           a session of the older era that is over, or never was
  ResourceError               has .uri
    UriInvalid                not an absolute URI of RFC 3986, or too long
    ResourceNotFound
    ResourceExists
    ResourceSealed            a write after the seal
    RevisionConflict          the resource is at another revision than the write demanded
    ProducerConflict          a repeated number with other content
    ProducerGap               a number was left out
    ProducerFenced            a newer epoch of the same producer has written
  CursorInvalid               not a cursor of this resource
  DeltaError                  a delta does not apply; the content is unchanged
  DigestMismatch              content is not that of which a digest was given
  LimitExceeded               a named limit; nothing was changed
    Overloaded                what others use of it; the same may pass later
  StoreError                  what was written is not kept, or what was kept cannot be read
  ToolError                   what a tool tells its caller, who may try otherwise
  TaskCancelled               a server cancelled the task that a call had become
  TransportError
    ConnectionLost            the peer is gone, or never was there
  RpcError                    an error reply received from a server

Which JSON-RPC code and HTTP status each becomes stands in `protocol/error_codes.py`, and only there.
"""

from __future__ import annotations


class StreamresError(Exception):
    """The root of every exception that streamres raises on purpose."""


class ProtocolError(StreamresError):
    """Bytes or a message break the protocol."""


class ParseError(ProtocolError):
    """The body is not JSON."""


class InvalidRequest(ProtocolError):
    """The body is JSON, but not one JSON-RPC request or notification."""


class InvalidParams(ProtocolError):
    """A member of the request is missing or wrong; `reason` is a word for programs."""

    def __init__(self, message: str, *, reason: str = "invalid_params") -> None:
        super().__init__(message)
        self.reason = reason


class HeaderMismatch(ProtocolError):
    """An HTTP header is missing, or says something else than the body."""


class UnsupportedVersion(ProtocolError):
    """The request is of a protocol version that is not served."""

    def __init__(self, requested: str, supported: tuple[str, ...]) -> None:
        super().__init__(f"protocol version {requested!r} is not served; use {' or '.join(supported)}")
        self.requested = requested
        self.supported = supported


class MissingCapability(ProtocolError):
    """The answer takes something of the client that it did not declare; `required` is what it would have to."""

    def __init__(self, required: dict[str, object]) -> None:
        super().__init__("missing required client capability")
        self.required = required


class MethodNotFound(ProtocolError):
    """The request names a method that is not served."""

    def __init__(self, method: str) -> None:
        super().__init__(f"unknown method {method!r}")
        self.method = method


class SessionNotFound(ProtocolError):
    """The request names a session that is over, or that this server never began."""

    def __init__(self) -> None:
        super().__init__("session not found; begin another with `initialize`, and subscribe again")


class ResourceError(StreamresError):
    """A resource refuses what was asked of it."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.uri = uri


class UriInvalid(ResourceError):
    """The text is no absolute URI (RFC 3986), or a longer one than is taken."""

    def __str__(self) -> str:
        return f"{self.uri[:80]!r} is not a URI: scheme, colon, then at most 2048 ASCII characters without spaces"


class ResourceNotFound(ResourceError):
    """No resource has this URI."""

    def __str__(self) -> str:
        return f"no resource {self.uri!r}"


class ResourceExists(ResourceError):
    """A resource with this URI is there already."""

    def __str__(self) -> str:
        return f"resource {self.uri!r} exists already"


class ResourceSealed(ResourceError):
    """The resource is sealed; nothing follows a seal (SR-9.3)."""

    def __init__(self, uri: str, state: str) -> None:
        super().__init__(uri)
        self.state = state

    def __str__(self) -> str:
        return f"resource {self.uri!r} is sealed ({self.state}); nothing can be added"


class RevisionConflict(ResourceError):
    """The write demanded another revision than the actual one (SR-9.2)."""

    def __init__(self, uri: str, expected: int, actual: int) -> None:
        super().__init__(uri)
        self.expected = expected
        self.actual = actual

    def __str__(self) -> str:
        return f"resource {self.uri!r} is at revision {self.actual}, not {self.expected}"


class ProducerConflict(ResourceError):
    """A number that was used comes again with other content, or too late to compare (SR-9.1)."""

    def __init__(self, uri: str, seq: int, expected: int) -> None:
        super().__init__(uri)
        self.seq = seq
        self.expected = expected

    def __str__(self) -> str:
        return f"append {self.seq} to {self.uri!r} was made before with other content; next is {self.expected}"


class ProducerGap(ResourceError):
    """A number was left out: an append is missing (SR-9.1)."""

    def __init__(self, uri: str, seq: int, expected: int) -> None:
        super().__init__(uri)
        self.seq = seq
        self.expected = expected

    def __str__(self) -> str:
        return f"append {self.seq} to {self.uri!r} leaves a gap; next is {self.expected}"


class ProducerFenced(ResourceError):
    """A newer epoch of this producer has written; this one is shut out (SR-9.1)."""

    def __init__(self, uri: str, epoch: int, current: int) -> None:
        super().__init__(uri)
        self.epoch = epoch
        self.current = current

    def __str__(self) -> str:
        return f"producer epoch {self.epoch} of {self.uri!r} was replaced by epoch {self.current}"


class CursorInvalid(StreamresError):
    """The token is not a cursor of this resource (SR-5.6)."""

    def __init__(self, uri: str) -> None:
        super().__init__(uri)
        self.uri = uri

    def __str__(self) -> str:
        return f"not a cursor of {self.uri!r}; read without `since` to get one"


class DeltaError(StreamresError):
    """A delta does not apply; the content is unchanged (M3)."""


class DigestMismatch(StreamresError):
    """The content is not that of which a digest was given: with the seal (SR-3.4), or by the producer for it."""

    def __init__(self, uri: str, expected: str, actual: str, detail: str = "") -> None:
        super().__init__(uri)
        self.uri = uri
        self.expected = expected
        self.actual = actual
        self.detail = detail

    def __str__(self) -> str:
        return (
            f"content of {self.uri!r} has the digest {self.actual}, and was to have {self.expected}{self.detail}"
        )


class LimitExceeded(StreamresError):
    """A named limit would be passed; nothing was changed (SR-12.3)."""

    def __init__(self, limit: str, value: int, advice: str) -> None:
        super().__init__(limit)
        self.limit = limit
        self.value = value
        self.advice = advice

    def __str__(self) -> str:
        return f"over the limit {self.limit} = {self.value}; {self.advice}"


class Overloaded(LimitExceeded):
    """A named limit that others use up at the moment; nothing was changed, and the same may pass later."""


class StoreError(StreamresError):
    """A store cannot do what it promises: nothing of the write was kept, or content is not there to be read."""


class ToolError(StreamresError):
    """What a tool raises to tell its caller that it failed, in words for a model: the result has `isError`."""


class TaskCancelled(StreamresError):
    """The server cancelled the task that a call had become; there is no result."""

    def __init__(self, task_id: str, message: str | None = None) -> None:
        super().__init__(task_id)
        self.task_id = task_id
        self.message = message

    def __str__(self) -> str:
        return f"the task {self.task_id!r} was cancelled" + (f": {self.message}" if self.message else "")


class TransportError(StreamresError):
    """The bytes did not get through."""


class ConnectionLost(TransportError):
    """The peer is gone, or was never there; asking again later may help."""


class RpcError(StreamresError):
    """A server answered with an error."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"
