"""A server that refuses the protocol version of a request (-32022)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import anyio
import pytest

from streamres import Client
from streamres.errors import RpcError

from .lying import READ, acknowledged, error, lying, result, sse

if TYPE_CHECKING:
    from collections.abc import Callable

URI = "build://7/log"


class Refusing:
    """Refuses the first requests, and answers those after them."""

    def __init__(self, times: int, supported: object, answer: Callable[[dict[str, Any]], bytes]) -> None:
        self.requests: list[dict[str, Any]] = []
        self._times = times
        self._supported = supported
        self._answer = answer

    def __call__(self, request: dict[str, Any]) -> bytes:
        self.requests.append(request)
        if len(self.requests) > self._times:
            return self._answer(request)
        version = request["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"]
        data = {"supported": self._supported, "requested": version}
        return error(request, -32022, data=data, status="400 Bad Request")


def read(request: dict[str, Any]) -> bytes:
    return result(request, READ)


async def test_a_version_that_is_served_after_all_is_asked_for_once_more() -> None:
    server = Refusing(1, ["2030-01-01", "2026-07-28"], read)
    async with lying(server) as url, Client(url) as client:
        with anyio.fail_after(5):
            update = await client.read(URI)

    assert update.text == "text"
    first, second = server.requests
    assert first.pop("id") != second.pop("id")
    assert first == second


async def test_a_subscription_is_asked_for_once_more_too() -> None:
    server = Refusing(1, ["2026-07-28"], lambda request: sse(acknowledged(request), whole=False))
    async with lying(server) as url, Client(url) as client:
        with anyio.fail_after(5):
            async with client.listen({URI: None}) as subscription:
                assert subscription.cursors == {}

    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("supported", "requests"),
    [(["2026-07-28"], 2), (["2025-11-25"], 1), ([], 1), ("2026-07-28", 1), (None, 1)],
    ids=["still", "only older ones", "none", "no list", "null"],
)
async def test_a_version_that_stays_refused_is_an_error(supported: object, requests: int) -> None:
    server = Refusing(9, supported, read)
    async with lying(server) as url, Client(url) as client:
        with anyio.fail_after(5), pytest.raises(RpcError) as refused:
            await client.read(URI)

    assert refused.value.code == -32022
    assert len(server.requests) == requests
