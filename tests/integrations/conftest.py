from __future__ import annotations

import pytest

from .site import KINDS, Kind


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> Kind:
    """What the server is built with."""
    return request.param


@pytest.fixture(params=[kind for kind in KINDS if kind != "FastMCP"])
def listening_kind(request: pytest.FixtureRequest) -> Kind:
    """Of those, one that can have a `subscriptions/listen` of its own; FastMCP 4.2 has none."""
    return request.param
