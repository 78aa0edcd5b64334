"""One table from exceptions to codes, one from codes to statuses; nothing is left out of either."""

from __future__ import annotations

import inspect
import json

import pytest
from requirement import requirement

from streamres import errors
from streamres.protocol import jsonrpc
from streamres.protocol.error_codes import CODES, HTTP_STATUS, UPLOAD_STATUS, code_of, data_of

CLASSES = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if issubclass(cls, errors.StreamresError)]

EXAMPLES: list[tuple[errors.StreamresError, int, object]] = [
    (errors.StreamresError(), -32603, None),
    (errors.ProtocolError("x"), -32600, None),
    (errors.ParseError("x"), -32700, None),
    (errors.InvalidRequest("x"), -32600, None),
    (errors.InvalidParams("x"), -32602, {"reason": "invalid_params"}),
    (errors.InvalidParams("x", reason="r"), -32602, {"reason": "r"}),
    (errors.HeaderMismatch("x"), -32020, None),
    (errors.UnsupportedVersion("0", ("1",)), -32022, {"supported": ["1"], "requested": "0"}),
    (errors.MethodNotFound("m"), -32601, None),
    (errors.SessionNotFound(), -32001, None),
    (errors.ResourceError("u"), -32602, None),
    (errors.UriInvalid("u"), -32602, {"reason": "invalid_uri", "uri": "u"}),
    (errors.ResourceNotFound("u"), -32602, {"uri": "u"}),
    (errors.ResourceExists("u"), -32602, {"reason": "exists", "uri": "u"}),
    (errors.ResourceSealed("u", "complete"), -32602, {"reason": "sealed", "uri": "u", "state": "complete"}),
    (errors.RevisionConflict("u", 1, 2), -32602, {"reason": "revision", "uri": "u", "expected": 1, "actual": 2}),
    (errors.ProducerConflict("u", 1, 2), -32602, {"reason": "conflict", "uri": "u", "seq": 1, "expected": 2}),
    (errors.ProducerGap("u", 3, 2), -32602, {"reason": "gap", "uri": "u", "seq": 3, "expected": 2}),
    (errors.ProducerFenced("u", 1, 2), -32602, {"reason": "fenced", "uri": "u", "epoch": 1, "current": 2}),
    (errors.CursorInvalid("u"), -32602, {"reason": "invalid_cursor", "uri": "u"}),
    (errors.DeltaError("x"), -32602, {"reason": "invalid_content"}),
    (
        errors.DigestMismatch("u", "a", "b"),
        -32602,
        {"reason": "digest", "uri": "u", "expected": "a", "actual": "b"},
    ),
    (errors.LimitExceeded("l", 1, "a"), -32602, {"reason": "limit", "limit": "l", "value": 1}),
    (errors.Overloaded("l", 1, "a"), -32602, {"reason": "limit", "limit": "l", "value": 1}),
    (errors.StoreError("x"), -32603, None),
    (errors.TransportError("x"), -32603, None),
    (errors.ConnectionLost("x"), -32603, None),
    (errors.RpcError(-1, "x", {}), -1, {}),
    (errors.MissingCapability({"roots": {}}), -32021, {"requiredCapabilities": {"roots": {}}}),
    (errors.ToolError("x"), -32603, None),
    (errors.TaskCancelled("t"), -32603, None),
]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_class_is_in_the_table_and_every_code_has_a_status(cls: type[errors.StreamresError]) -> None:
    assert CODES[cls] in HTTP_STATUS
    assert cls in {type(exc) for exc, *_ in EXAMPLES}, "the examples here have every class too"


def test_the_tables_have_nothing_else() -> None:
    assert set(CODES) == set(CLASSES)
    assert set(UPLOAD_STATUS) <= set(CLASSES)


@requirement("SR-13.1")
@requirement("SR-5.6")
@pytest.mark.parametrize(("exc", "code", "data"), EXAMPLES, ids=[type(exc).__name__ for exc, *_ in EXAMPLES])
def test_an_exception_has_its_code_and_what_a_program_needs(
    exc: errors.StreamresError, code: int, data: object
) -> None:
    assert (code_of(exc), data_of(exc)) == (code, data)
    answer = json.loads(jsonrpc.error("id", code, str(exc), data_of(exc)))
    assert answer["error"].get("data") == data
    assert isinstance(answer["error"]["message"], str)


def test_a_class_of_a_plugin_has_the_code_of_the_nearest_known_one() -> None:
    class Fenced(errors.ProducerFenced):
        pass

    assert code_of(Fenced("u", 1, 2)) == -32602


def test_statuses_are_those_that_official_clients_read_a_body_at() -> None:
    demanded = {-32601, -32001}  # by the specification: an unknown method, and an ended session of the older era

    assert {status for code, status in HTTP_STATUS.items() if code not in demanded} <= {200, 400}
    assert {HTTP_STATUS[code] for code in demanded} == {404}
