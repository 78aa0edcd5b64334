"""Plays the scenes of a golden file on real servers, and gives what was said."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any

from .channels import House
from .golden import Case, Frame
from .names import Names
from .stage import Stage, staged


async def play(house: House, contents: Mapping[str, Any], *, first_epoch: int, compare: bool) -> dict[str, Any]:
    """Gives the file as the servers make it, with epochs from `first_epoch` on.

    With `compare` the frames of the servers have to be the golden ones; else they take their places.
    """
    played = []
    names, stage = Names(), None
    async with AsyncExitStack() as servers:
        for stored in contents["cases"]:
            case = Case.of(stored)
            setup = case.setup
            if setup is not None:
                await servers.aclose()
                names = Names()
                at = staged(house, setup, transport=contents.get("transport", "http"), first_epoch=first_epoch)
                stage, setup = await servers.enter_async_context(at)
                for golden, actual in zip(case.setup or (), setup, strict=True):
                    if "cursor" in golden:
                        names.bind(golden["cursor"], actual["cursor"])
            assert stage is not None, "the first case has a setup"
            frames = await _frames(case, stage, names, compare=compare)
            played.append(Case(setup, frames).stored(stored))
    return {**contents, "cases": played}


async def _frames(case: Case, stage: Stage, names: Names, *, compare: bool) -> list[Frame]:
    frames: list[Frame] = []
    for golden in case.frames:
        match golden.get("from"):
            case "client":
                frame = names.translated(golden)
                await stage.channel.send(frame)
            case "server":
                frame = await stage.channel.receive()
                if compare:
                    names.compare(golden, frame)
                else:
                    names.learn(golden, frame)
            case _:
                frame = golden
                await stage.until_held()
                for action in golden["do"]:
                    await stage.act(action)
        frames.append(frame)
    await stage.channel.until_ended()
    return frames
