from __future__ import annotations

import pytest
from requirement import requirement

from streamres.errors import UriInvalid
from streamres.model import Description
from streamres.model.description import MAX_URI_CHARS


@pytest.mark.parametrize(
    "uri",
    [
        "build://7/log",
        "urn:uuid:6e8b",
        "file:///tmp/a%20b",
        "x:y",
        "a+b.c-d://[::1]:80/p?q=1#f",
        "x:" + "y" * 2046,
    ],
    ids=["custom", "urn", "escaped", "short", "every part", "longest"],
)
def test_an_absolute_uri_names_a_resource(uri: str) -> None:
    assert Description(uri=uri, name="log").uri == uri


@requirement("SR-12.3")
@pytest.mark.parametrize(
    "uri",
    [
        "",
        "log",
        "/log",
        "build:",
        ":log",
        "7://log",
        "a://b c",
        "a://b\n",
        "a://b\0",
        "a://é",
        "a://\udc80",
        "a://{x}",
        "x:" + "y" * (MAX_URI_CHARS - 1),
    ],
    ids=ascii,
)
def test_anything_else_does_not(uri: str) -> None:
    with pytest.raises(UriInvalid):
        Description(uri=uri, name="log")
