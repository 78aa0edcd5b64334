"""The order in which a request is refused (interop.md, item 11), and how the era of a request is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from streamres.limits import Limits
from streamres.model import Description
from streamres.protocol.envelope import RoutingHeaders
from streamres.server import Dispatcher, Reply
from streamres.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
URI = "build://7/log"


async def refused(
    meta: dict[str, Any] | None, headers: dict[str, str | None], method: str = "resources/read"
) -> tuple[int, int | None, Any]:
    """Gives status, code and data of the answer; the code is None where there is a result."""
    store = MemoryStore()
    await store.create(Description(uri=URI, name="log"))
    params: dict[str, Any] = {"uri": URI} if meta is None else {"uri": URI, "_meta": meta}
    body = json.dumps({"jsonrpc": "2.0", "id": "x", "method": method, "params": params}).encode()

    outcome = await Dispatcher(store, Limits(), name="n", version="v").dispatch(
        body, lambda: RoutingHeaders(**headers)
    )

    assert isinstance(outcome, Reply)
    answer = json.loads(outcome.body)
    assert answer["id"] == "x"
    error = answer.get("error", {})
    return outcome.status, error.get("code"), error.get("data")


Defect = tuple[str, "Callable[[dict[str, Any], dict[str, str | None]], None]", int, int, Any]

LADDER: list[Defect] = [
    ("_meta incomplete", lambda m, h: m.pop(CAPABILITIES_KEY), 400, -32602, {"reason": "missing_meta"}),
    ("the version header differs", lambda m, h: h.update(version="2025-11-25"), 400, -32020, None),
    (
        "the version is unknown",
        lambda m, h: (m.update({VERSION_KEY: "2099-01-01"}), h.update(version="2099-01-01")),
        400,
        -32022,
        {"supported": ["2026-07-28"], "requested": "2099-01-01"},
    ),
    ("the method header differs", lambda m, h: h.update(method="resources/list"), 400, -32020, None),
    ("the name header differs", lambda m, h: h.update(name="build://8/log"), 400, -32020, None),
]


def good() -> tuple[dict[str, Any], dict[str, str | None]]:
    return {VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}, {
        "version": "2026-07-28",
        "method": "resources/read",
        "name": URI,
    }


@pytest.mark.parametrize("rung", range(len(LADDER)), ids=[name for name, *_ in LADDER])
async def test_of_several_defects_the_first_of_the_ladder_is_told(rung: int) -> None:
    meta, headers = good()
    for _, spoil, *_ in reversed(LADDER[rung:]):
        spoil(meta, headers)

    assert await refused(meta, headers) == LADDER[rung][2:]


@pytest.mark.parametrize("defect", LADDER, ids=[name for name, *_ in LADDER])
async def test_each_defect_alone_is_told(defect: Defect) -> None:
    meta, headers = good()
    defect[1](meta, headers)

    assert await refused(meta, headers) == defect[2:]


async def test_a_request_without_a_defect_is_served() -> None:
    assert await refused(*good()) == (200, None, None)


async def test_after_the_ladder_an_unknown_method_is_told_at_404() -> None:
    meta, headers = good()

    assert await refused(meta, {**headers, "method": "tools/list"}, "tools/list") == (404, -32601, None)
    assert (await refused(meta, headers, "tools/list"))[:2] == (400, -32020)


WRONG: dict[str, tuple[dict[str, Any], dict[str, str | None], tuple[int, int]]] = {
    "no version in _meta": ({VERSION_KEY: None}, {}, (400, -32602)),
    "a version that is a number": ({VERSION_KEY: 7}, {}, (400, -32020)),
    "capabilities that are a list": ({CAPABILITIES_KEY: []}, {}, (400, -32602)),
    "no version header": ({}, {"version": None}, (400, -32020)),
    "no method header": ({}, {"method": None}, (400, -32020)),
    "no name header": ({}, {"name": None}, (400, -32020)),
    "an empty name header": ({}, {"name": ""}, (400, -32020)),
    "a method in capitals": ({}, {"method": "Resources/Read"}, (400, -32020)),
    "a broken encoding": ({}, {"name": "=?base64?***?="}, (400, -32020)),
}


@pytest.mark.parametrize(("meta", "headers", "expected"), WRONG.values(), ids=WRONG)
async def test_a_missing_or_malformed_value_is_refused(
    meta: dict[str, Any], headers: dict[str, str | None], expected: tuple[int, int]
) -> None:
    good_meta, good_headers = good()
    spoiled = {key: value for key, value in {**good_meta, **meta}.items() if value is not None}

    assert (await refused(spoiled, {**good_headers, **headers}))[:2] == expected


async def test_an_encoded_name_is_decoded_before_it_is_compared() -> None:
    meta, headers = good()

    assert await refused(meta, {**headers, "name": "=?base64?YnVpbGQ6Ly83L2xvZw==?="}) == (200, None, None)


ERAS: dict[str, tuple[dict[str, Any] | None, str | None, tuple[int, int | None]]] = {
    "no _meta, no header": (None, None, (200, None)),
    "an older header": (None, "2025-06-18", (200, None)),
    "a foreign _meta": ({"progressToken": 1}, "2025-11-25", (200, None)),
    "the new header alone": (None, "2026-07-28", (400, -32602)),
    "a header of no era": (None, "2099-01-01", (400, -32022)),
    "an older version in _meta too": (
        {VERSION_KEY: "2025-11-25", CAPABILITIES_KEY: {}},
        "2025-11-25",
        (400, -32022),
    ),
    "capabilities alone": ({CAPABILITIES_KEY: {}}, None, (400, -32602)),
    "_meta without a header": ({VERSION_KEY: "2026-07-28", CAPABILITIES_KEY: {}}, None, (400, -32020)),
}


@pytest.mark.parametrize(("meta", "header", "expected"), ERAS.values(), ids=ERAS)
async def test_the_older_era_has_neither_the_meta_nor_the_header_of_the_new(
    meta: dict[str, Any] | None, header: str | None, expected: tuple[int, int | None]
) -> None:
    headers = {"version": header, "method": "resources/read", "name": URI}

    assert (await refused(meta, headers))[:2] == expected


async def test_what_is_supported_in_any_era_is_said_to_a_client_of_none() -> None:
    _, _, data = await refused(None, {"version": "2099-01-01"})

    assert data["requested"] == "2099-01-01"
    assert data["supported"][0] == "2026-07-28"


async def test_a_session_of_the_older_era_means_nothing_to_a_modern_request() -> None:
    meta, headers = good()
    headers["session"] = "of another era"

    assert (await refused(meta, headers))[:2] == (200, None)
    headers["version"] = None
    assert (await refused(meta, headers))[:2] == (400, -32020)
