"""The golden files are what a real server says, and it says them again: only its epochs are others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from secrets import randbelow
from typing import Any

import anyio
import pytest

from .channels import House, opened
from .golden import WIRE, paths, read
from .names import Different, Names
from .play import play


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture(scope="module")
async def house() -> AsyncIterator[House]:
    async with opened() as house:
        yield house


@pytest.mark.parametrize("path", paths(), ids=lambda path: path.stem)
async def test_a_server_says_again_what_the_golden_file_says(house: House, path: Path) -> None:
    await play(house, read(path), first_epoch=2 + randbelow(2**40), compare=True)


async def test_another_answer_than_the_golden_one_is_noticed(house: House) -> None:
    contents = read(WIRE / "read-delta.json")
    contents["cases"][0]["frames"][1]["message"]["result"]["delta"]["text"] = "Linking\n"

    with pytest.raises(Different, match=r"delta.text: 'linking\\n', not 'Linking\\n'"):
        await play(house, contents, first_epoch=7, compare=True)


async def test_a_golden_frame_that_does_not_come_is_noticed(house: House) -> None:
    contents = read(WIRE / "read-delta.json")
    frames = contents["cases"][0]["frames"]
    frames.append(frames[-1])

    with pytest.raises(anyio.EndOfStream):
        await play(house, contents, first_epoch=7, compare=True)


async def test_a_frame_too_many_is_noticed(house: House) -> None:
    contents = read(WIRE / "listen-delta.json")
    contents["cases"][0]["frames"].pop()

    with pytest.raises(AssertionError, match="one frame too many"):
        await play(house, contents, first_epoch=7, compare=True)


async def test_what_is_written_is_what_a_server_says(house: House) -> None:
    contents = read(WIRE / "read-bounded.json")
    blank = {**contents, "cases": [dict(case) for case in contents["cases"]]}
    for case in blank["cases"]:
        case["frames"] = [{**frame, "message": {}} if "status" in frame else frame for frame in case["frames"]]

    assert await play(house, blank, first_epoch=1, compare=False) == contents


SAME = {"cursor": "a", "items": [{"since": "b"}, {"since": "a"}]}


@pytest.mark.parametrize(
    "other",
    [
        {"cursor": "A", "items": [{"since": "B"}, {"since": "B"}]},
        {"cursor": "A", "items": [{"since": "A"}, {"since": "A"}]},
        {"cursor": "A", "items": [{"since": "B"}, {"since": "b"}]},
        {"cursor": "A", "items": [{"since": "B"}]},
        {"cursor": "A", "items": [{"since": "B"}, {"since": "A"}], "more": True},
        {"cursor": 7, "items": [{"since": "B"}, {"since": "A"}]},
    ],
    ids=repr,
)
def test_cursors_have_to_agree(other: dict[str, Any]) -> None:
    Names().compare(SAME, {"cursor": "A", "items": [{"since": "B"}, {"since": "A"}]})

    with pytest.raises(Different):
        Names().compare(SAME, other)
