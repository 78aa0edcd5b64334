"""What a `tools/call` says, and the messages that it leads to: results, progress, outputs, partials."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import orjson

from streamres.errors import InvalidParams
from streamres.model import Patch, Snapshot, encode_cursor
from streamres.protocol.binding import Form, call_request, takes_partials
from streamres.protocol.words import (
    CAPABILITIES_META,
    OUTPUTS,
    PARTIAL_RESULT,
    PROGRESS,
    STREAM_META,
    TASKS_EXTENSION,
    TOOLS_CHANGED,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from streamres.model import Description, Reading
    from streamres.protocol.binding import Binding
    from streamres.protocol.jsonrpc import RequestId

Token = str | int
"""What a client gave for the notifications of one call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRequest:
    """A call as its client asked for it."""

    id: RequestId
    name: str
    arguments: Mapping[str, Any]
    form: Form = field(default_factory=Form)
    basis: str | None = None
    """The cursor that the caller had seen (SR-8.4)."""
    capabilities: Mapping[str, Any] = field(default_factory=dict)
    """What the client can be asked; empty in the older era."""
    progress_token: Token | None = None
    partial_token: Token | None = None
    """None also where the client did not declare that it takes partials (SR-11.3)."""
    responses: Mapping[str, Any] = field(default_factory=dict)
    state: str | None = None

    @property
    def takes_tasks(self) -> bool:
        """Says whether the call may become a task."""
        return declares_tasks(self.capabilities)

    @property
    def listens(self) -> bool:
        """Says whether there is anything to tell the client before the result."""
        tokens = (self.progress_token, self.partial_token)
        return self.form.binding is not None or any(token is not None for token in tokens)


def capabilities_of(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Gives what the client of a request declared."""
    meta = params.get("_meta")
    declared = meta.get(CAPABILITIES_META) if isinstance(meta, dict) else None
    return declared if isinstance(declared, dict) else {}


def declares_tasks(capabilities: Mapping[str, Any]) -> bool:
    """Says whether a client declared the tasks extension (SEP-2663)."""
    extensions = capabilities.get("extensions")
    return isinstance(extensions, dict) and isinstance(extensions.get(TASKS_EXTENSION), dict)


def parse_call(request_id: RequestId, params: dict[str, Any]) -> CallRequest:
    """Gives what a `tools/call` asks for.

    Raises:
        InvalidParams: a member has the wrong type.
    """
    name, arguments = params.get("name"), params.get("arguments", {})
    if not isinstance(name, str):
        raise InvalidParams("params.name is a string")
    if not isinstance(arguments, dict):
        raise InvalidParams("params.arguments is an object")
    responses, state = params.get("inputResponses", {}), params.get("requestState")
    if not isinstance(responses, dict):
        raise InvalidParams("params.inputResponses maps a key to a response")
    if state is not None and not isinstance(state, str):
        raise InvalidParams("params.requestState is the string that the server gave")
    meta = params.get("_meta")
    meta = meta if isinstance(meta, dict) else {}
    form, basis = call_request(params)
    return CallRequest(
        id=request_id,
        name=name,
        arguments=arguments,
        form=form,
        basis=basis,
        capabilities=capabilities_of(params),
        progress_token=_token(meta, "progressToken"),
        partial_token=_token(meta, "partialResultToken") if takes_partials(params) else None,
        responses=responses,
        state=state,
    )


def progress(token: Token, value: float, total: float | None, message: str | None) -> bytes:
    """Gives a notification of progress."""
    params: dict[str, Any] = {"progressToken": token, "progress": value}
    if total is not None:
        params["total"] = total
    if message is not None:
        params["message"] = message
    return _notification(PROGRESS, params)


def outputs_members(links: Sequence[Mapping[str, Any]], binding: Binding | None) -> dict[str, Any]:
    """Gives the member by which results and notifications name outputs; in the `meta` binding none (SR-8.2)."""
    return {"outputs": links} if links and binding == "fields" else {}


def outputs_meta(links: Sequence[Mapping[str, Any]], binding: Binding | None) -> dict[str, Any]:
    """Gives the member of `_meta` by which they do so in the `meta` binding."""
    return {STREAM_META: {"outputs": links}} if links and binding == "meta" else {}


def outputs(request_id: RequestId, links: Sequence[Mapping[str, Any]], binding: Binding | None) -> bytes:
    """Gives the notification that names the outputs of a call when its work starts (SR-8.2)."""
    params = {"requestId": request_id, **outputs_members(links, binding)}
    if meta := outputs_meta(links, binding):
        params["_meta"] = meta
    return _notification(OUTPUTS, params)


def tools_changed(subscription: dict[str, Any]) -> bytes:
    """Gives the notification that the list of tools changed; `subscription` is its `_meta`."""
    return _notification(TOOLS_CHANGED, {"_meta": subscription})


def partial(token: Token, seq: int, what: Description, reading: Reading, encoded: bytes, *, final: bool) -> bytes:
    """Gives one SEP-2998 notification (SR-11.1): `encoded` is the step's patch, or its text without the quotes."""
    step = reading.step
    params: dict[str, Any] = {"partialResultToken": token, "seq": seq, "content": []}
    if not encoded:
        pass  # the seal alone
    elif what.kind == "json":
        patch = encoded if isinstance(step, Patch) else b'[{"op":"add","path":"","value":%s}]' % encoded
        params["structuredContent"] = {"patch": orjson.Fragment(patch)}
    else:
        data = orjson.Fragment(b'"%s"' % encoded)
        if what.kind == "text":
            params["content"] = [{"type": "text", "text": data}]
        else:
            resource = {"uri": what.uri, "mimeType": what.mime_type, "blob": data}
            params["content"] = [{"type": "resource", "resource": resource}]
    if final:
        params["final"] = True
    position = step.stop
    standing: dict[str, Any] = {
        "uri": what.uri,
        "cursor": encode_cursor(position, what.uri),
        "revision": position.revision,
        "state": reading.state,
    }
    if reading.digest is not None:
        standing["digest"] = reading.digest
    if reading.causes:
        standing["cause"] = reading.causes
    if isinstance(step, Snapshot) and reading.reset is not None:
        standing["reset"] = reading.reset
    params["_meta"] = {STREAM_META: standing}
    return _notification(PARTIAL_RESULT, params)


def _token(meta: Mapping[str, Any], name: str) -> Token | None:
    token = meta.get(name)
    if token is None or (isinstance(token, str | int) and not isinstance(token, bool)):
        return token
    raise InvalidParams(f"_meta.{name} is a string or an integer")


def _notification(method: str, params: Mapping[str, Any]) -> bytes:
    return orjson.dumps({"jsonrpc": "2.0", "method": method, "params": params})
