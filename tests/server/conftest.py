from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest

from .documents import Document, document_on
from .wire import Binding, Wire, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_numbers = count(1)


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture(params=["fields", "meta"])
def binding(request: pytest.FixtureRequest) -> Binding:
    """Where the members of the extension stand (SR-10.2, SR-10.3)."""
    return request.param


@pytest.fixture(scope="module")
async def module_wire() -> AsyncIterator[Wire]:
    async with serving() as wire:
        yield wire


@pytest.fixture
async def wire(module_wire: Wire) -> Wire:
    """The module's server, with an empty resource that is the test's own."""
    wire = Wire(module_wire.server, module_wire.url, module_wire.http, uri=f"build://of-test-{next(_numbers)}/log")
    await wire.server.create(wire.uri, name="log")
    return wire


@pytest.fixture(scope="module")
async def module_documents() -> AsyncIterator[Wire]:
    async with serving(upload=True) as wire:
        yield wire


@pytest.fixture
async def document(module_documents: Wire) -> Document:
    """A document that is the test's own, on a server of the module's that takes uploads."""
    return await document_on(module_documents)
