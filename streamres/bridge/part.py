"""One output of a call through the bridge, and how it grows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.bridge.outcome import Assembled
from streamres.bridge.parts import patch_of
from streamres.errors import DeltaError
from streamres.model import MAX_CAUSE_CHARS

if TYPE_CHECKING:
    from streamres.limits import Limits
    from streamres.model import Update
    from streamres.sources.resource import Resource


class Part:
    """One output, and what was assembled in it."""

    def __init__(self, output: Resource) -> None:
        self.output = output
        self.assembled = Assembled()
        self.is_list = False
        """Whether it is the list of structured content that came bit by bit."""

    async def add(self, data: bytes, *, replaces: bool, cause: str | None) -> None:
        """Adds bytes, or puts them in place of all there is."""
        if replaces and self.output.revision:
            await self.output.replace(data)
            self.assembled = Assembled()
        else:
            await self.output.append(data, cause=cause)
        self.assembled.add(data)

    async def change(self, structured: object, limits: Limits, cause: str | None) -> None:
        """Applies a patch of our own kind; of any other structured content, makes a list.

        How that is merged is between the other server and its clients, so nothing of it is merged here.
        """
        patch = None if self.is_list else patch_of(structured, limits)
        if patch is not None:
            await self.output.patch(patch, cause=cause)
        elif not self.is_list and not self.output.revision:
            await self.output.patch([{"op": "replace", "path": "", "value": [structured]}])
            self.is_list = True
        elif self.is_list:
            await self.output.patch([{"op": "add", "path": "/-", "value": structured}])
        else:
            raise DeltaError("structured content that is no patch follows a patch")

    async def follow(self, update: Update) -> None:
        """Applies a step of the resource that it is a copy of."""
        cause = one_cause(list(update.causes))
        if update.kind == "json":
            if update.patch is not None:
                await self.output.patch(update.patch, cause=cause)
            else:
                await self.output.replace(update.value)
        elif update.data or update.reset is not None:
            await self.add(update.data, replaces=update.reset is not None, cause=cause)


def one_cause(causes: object) -> str | None:
    """Gives what led to a step of the other server (SR-8.4.a), where it is one thing: an append names no more."""
    match causes:
        case [str(cause)] if len(cause) <= MAX_CAUSE_CHARS:
            return cause
        case _:
            return None
