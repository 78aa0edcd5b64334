"""A reader's side of a subscription, written against the clauses alone: it takes only what continues its chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .wire import moved

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .frames import Binding, Frames


@dataclass
class ChainReader:
    """Holds the text up to `cursor`; a delta from anywhere else is a gap or a repeat, and fails the test."""

    binding: Binding
    cursor: str
    text: str = ""
    state: str = "open"
    revisions: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)

    def take(self, frame: Mapping[str, Any]) -> None:
        members = moved(self.binding, frame)
        delta = members["delta"]
        assert self.state == "open", "a delta after the seal"
        assert delta["from"] == self.cursor, "the chain is broken"
        assert delta["to"] == members["cursor"]
        assert delta["kind"] == "text"
        self.text += delta["text"]
        self.cursor, self.state = members["cursor"], members["state"]
        self.revisions.append(members["revision"])
        self.sizes.append(len(delta["text"].encode()))

    async def until(self, frames: Frames, text: str) -> None:
        """Takes frames until the text is `text`."""
        while self.text != text:
            self.take(await frames.take())
            assert text.startswith(self.text), "not a beginning of what was committed"

    async def until_sealed(self, frames: Frames) -> None:
        while self.state == "open":
            self.take(await frames.take())
