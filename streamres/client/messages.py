"""The messages that come from a server, out of bytes: a stranger's, so what is none is said."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from streamres.client.wire import rpc_error
from streamres.errors import DeltaError, LimitExceeded, ProtocolError, RpcError
from streamres.model.json_value import parse_json
from streamres.model.reassembler import READER
from streamres.protocol import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.model.json_value import JsonValue

MESSAGE_BYTES: Final = 64 * 1024 * 1024
"""The longest message that is taken on a stream; a server that sends a longer one is not understood."""

_LEVELS: Final = 8
"""At least those of a message around the value of an operation in its patch."""


def parse(data: bytes | str, of: str) -> dict[str, Any]:
    """Gives the message in `data`; `of` says in an error where it came from.

    Raises:
        ProtocolError: it is none.
    """
    data = data if isinstance(data, bytes) else data.encode("utf-8")
    try:
        # Where there may be a patch, by a parser that keeps every number and refuses what it cannot keep.
        message = _with_patch(data) if b'"patch"' in data else orjson.loads(data)
    except (ValueError, DeltaError, LimitExceeded) as exc:
        raise ProtocolError(f"the server's answer is not MCP ({of}): {exc}") from exc
    if not isinstance(message, dict):
        raise ProtocolError("the server's answer is not a JSON-RPC message")
    return message


def is_answer(message: Mapping[str, Any]) -> bool:
    """Says whether a message answers a request."""
    return "result" in message or "error" in message


def about(message: Mapping[str, Any]) -> object:
    """Gives the id of the request that a message belongs to; None where it names none."""
    if is_answer(message):
        return _key(message.get("id"))
    params = message.get("params")
    if not isinstance(params, dict):
        return None
    meta = params.get("_meta")
    subscription = meta.get(words.SUBSCRIPTION_META) if isinstance(meta, dict) else None
    for name in (subscription, *map(params.get, ("progressToken", "partialResultToken", "requestId"))):
        if name is not None:
            return _key(name)
    return None


def refusal(error: object) -> RpcError:
    """Gives a server's error as it is, whatever it was about."""
    match error:
        case {"code": int(code), **rest}:
            return RpcError(code, str(rest.get("message", "")), rest.get("data"))
        case _:
            raise ProtocolError("the server's error is none of JSON-RPC")


def result_of(message: Mapping[str, Any], params: Mapping[str, Any]) -> dict[str, Any]:
    """Gives the result of the request with `params` that a message answers.

    Raises:
        ResourceNotFound, CursorInvalid, RpcError: the server refused.
        ProtocolError: it is no answer.
    """
    uri = params.get("uri")
    if isinstance(error := message.get("error"), dict):
        raise rpc_error(error, uri if isinstance(uri, str) else None)
    if not isinstance(result := message.get("result"), dict):
        raise ProtocolError("the server's answer has neither result nor error")
    return result


def _key(name: object) -> object:
    return name if isinstance(name, str | int) else None


def _with_patch(data: bytes) -> JsonValue:
    return parse_json(data, max_depth=READER.json_depth, around=_LEVELS)
