"""Which JSON-RPC code, which data and which HTTP status each exception becomes. Here and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from streamres import errors

if TYPE_CHECKING:
    from collections.abc import Mapping

PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
SESSION_NOT_FOUND: Final = -32001
"""What the official servers say; clients tell an ended session from a wrong path by it."""

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

CODES: Final[Mapping[type[errors.StreamresError], int]] = {
    errors.StreamresError: INTERNAL_ERROR,
    errors.ProtocolError: INVALID_REQUEST,
    errors.ParseError: PARSE_ERROR,
    errors.InvalidRequest: INVALID_REQUEST,
    errors.InvalidParams: INVALID_PARAMS,
    errors.HeaderMismatch: HEADER_MISMATCH,
    errors.UnsupportedVersion: UNSUPPORTED_VERSION,
    errors.MissingCapability: MISSING_CAPABILITY,
    errors.MethodNotFound: METHOD_NOT_FOUND,
    errors.SessionNotFound: SESSION_NOT_FOUND,
    errors.ResourceError: INVALID_PARAMS,
    errors.UriInvalid: INVALID_PARAMS,
    errors.ResourceNotFound: INVALID_PARAMS,
    errors.ResourceExists: INVALID_PARAMS,
    errors.ResourceSealed: INVALID_PARAMS,
    errors.RevisionConflict: INVALID_PARAMS,
    errors.ProducerConflict: INVALID_PARAMS,
    errors.ProducerGap: INVALID_PARAMS,
    errors.ProducerFenced: INVALID_PARAMS,
    errors.CursorInvalid: INVALID_PARAMS,
    errors.DeltaError: INVALID_PARAMS,
    errors.DigestMismatch: INVALID_PARAMS,
    errors.LimitExceeded: INVALID_PARAMS,
    errors.Overloaded: INVALID_PARAMS,
    errors.StoreError: INTERNAL_ERROR,
    errors.ToolError: INTERNAL_ERROR,
    errors.TaskCancelled: INTERNAL_ERROR,
    errors.TransportError: INTERNAL_ERROR,
    errors.ConnectionLost: INTERNAL_ERROR,
    errors.RpcError: INTERNAL_ERROR,
}

HTTP_STATUS: Final[Mapping[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    METHOD_NOT_FOUND: 404,
    INVALID_PARAMS: 400,
    # The specification gives -32603 no status, and official clients read no body at 500.
    INTERNAL_ERROR: 200,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
    SESSION_NOT_FOUND: 404,
}
"""The status of an MCP answer by its code; clients of the older era get every error but the last at 200."""

UPLOAD_STATUS: Final[Mapping[type[errors.StreamresError], int]] = {
    errors.ResourceNotFound: 404,
    errors.ResourceExists: 409,
    errors.ResourceSealed: 409,
    errors.RevisionConflict: 409,
    errors.ProducerConflict: 409,
    errors.ProducerGap: 409,
    errors.ProducerFenced: 409,
    errors.DigestMismatch: 409,
    errors.LimitExceeded: 413,
    errors.Overloaded: 503,
    # Asked again later it may be kept: there is space again, or the cluster has a leader.
    errors.StoreError: 503,
}
"""The status of an upload's answer by exception; 400 for the rest."""


def code_of(exc: errors.StreamresError) -> int:
    """Gives the JSON-RPC code for an exception: a server's own, else by the nearest class that the table has."""
    if isinstance(exc, errors.RpcError):
        return exc.code
    return next(CODES[cls] for cls in type(exc).__mro__ if cls in CODES)


def message_of(exc: errors.StreamresError) -> str:
    """Gives the message for an exception."""
    return exc.message if isinstance(exc, errors.RpcError) else str(exc)


def data_of(exc: errors.StreamresError) -> object:
    """Gives the `data` for an exception: what a program needs to go on; None for nothing."""
    match exc:
        case errors.UnsupportedVersion():
            return {"supported": list(exc.supported), "requested": exc.requested}
        case errors.MissingCapability():
            return {"requiredCapabilities": exc.required}
        case errors.RpcError():
            return exc.data
        case errors.InvalidParams():
            return {"reason": exc.reason}
        case errors.CursorInvalid():
            return {"reason": "invalid_cursor", "uri": exc.uri}
        case errors.ResourceNotFound():
            return {"uri": exc.uri}
        case errors.UriInvalid():
            return {"reason": "invalid_uri", "uri": exc.uri}
        case errors.ResourceExists():
            return {"reason": "exists", "uri": exc.uri}
        case errors.ResourceSealed():
            return {"reason": "sealed", "uri": exc.uri, "state": exc.state}
        case errors.RevisionConflict():
            return {"reason": "revision", "uri": exc.uri, "expected": exc.expected, "actual": exc.actual}
        case errors.ProducerConflict():
            return {"reason": "conflict", "uri": exc.uri, "seq": exc.seq, "expected": exc.expected}
        case errors.ProducerGap():
            return {"reason": "gap", "uri": exc.uri, "seq": exc.seq, "expected": exc.expected}
        case errors.ProducerFenced():
            return {"reason": "fenced", "uri": exc.uri, "epoch": exc.epoch, "current": exc.current}
        case errors.DeltaError():
            return {"reason": "invalid_content"}
        case errors.DigestMismatch():
            return {"reason": "digest", "uri": exc.uri, "expected": exc.expected, "actual": exc.actual}
        case errors.LimitExceeded():
            return {"reason": "limit", "limit": exc.limit, "value": exc.value}
        case _:
            return None
