"""How the check makes a resource change: by the upload endpoint of section 9, by commands, or not at all.

A writer that cannot do a thing says what it would take, and the clause is reported as not tested.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final, Literal

import anyio

from streamres.check.exchange import short
from streamres.check.finding import Broken, NotTested

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx2

    from streamres.check.content import Kind, Step
    from streamres.check.exchange import Exchange
    from streamres.check.session import Session

Act = Literal["append", "seal", "replace", "compact"]
Seal = Literal["complete", "aborted"]

URI_VARIABLE: Final = "STREAMRES_URI"
"""Environment variable in which a command finds the resource that it is to change."""

KIND_VARIABLE: Final = "STREAMRES_KIND"
"""The one in which it finds its kind, `text`, `blob` or `json`; the input of a json is a patch."""

COMMAND_S: Final = 30.0
"""Longest that a command runs."""


class Writer:
    """Changes resources by commands; without one for an act it cannot."""

    def __init__(self, commands: Mapping[Act, str]) -> None:
        self._commands = commands

    @property
    def writes(self) -> bool:
        """Whether it can append."""
        return "append" in self._commands

    @property
    def makes(self) -> bool:
        """Whether an append to what is not there makes it, without fail."""
        return False

    @property
    def uploads(self) -> Upload:
        """The upload endpoint.

        Raises:
            NotTested: there is none.
        """
        raise NotTested("needs an upload endpoint (section 9): --upload URL")

    async def append(self, uri: str, kind: Kind, step: Step) -> None:
        """Adds to a resource, and makes it where it is not there and the server lets us.

        Raises:
            NotTested: it cannot.
        """
        await self._run("append", uri, kind, as_bytes(step))

    async def seal(self, uri: str, kind: Kind) -> None:
        """Seals a resource as complete; raises as `append`."""
        await self._run("seal", uri, kind, b"")

    async def replace(self, uri: str, kind: Kind, content: bytes) -> None:
        """Puts other content in place; raises as `append`."""
        await self._run("replace", uri, kind, content)

    async def compact(self, uri: str, kind: Kind) -> None:
        """Makes the server forget all of the history but the head; raises as `append`."""
        await self._run("compact", uri, kind, b"")

    async def _run(self, act: Act, uri: str, kind: Kind, data: bytes) -> None:
        command = self._commands.get(act)
        if command is None:
            also = "" if act == "compact" else " or --upload"
            raise NotTested(f"needs a way to {act}: --{act}-command{also}")
        environment = {**os.environ, URI_VARIABLE: uri, KIND_VARIABLE: kind}
        try:
            with anyio.fail_after(COMMAND_S):
                done = await anyio.run_process(command, input=data, check=False, env=environment)
        except TimeoutError as exc:
            raise NotTested(f"the --{act}-command did not end within {COMMAND_S:g} s") from exc
        if done.returncode != 0:
            said = done.stderr.decode("utf-8", "replace").strip()[-200:]
            raise NotTested(f"the --{act}-command ended with code {done.returncode}: {said}")


class Upload(Writer):
    """Writes over HTTP: `POST URL?uri=…&kind=…`, the body is what is added; `PUT`, it replaces all content."""

    def __init__(self, session: Session, url: httpx2.URL, commands: Mapping[Act, str]) -> None:
        super().__init__(commands)
        self._session = session
        self._url = url

    @property
    def writes(self) -> bool:
        """Always."""
        return True

    @property
    def makes(self) -> bool:
        """Always."""
        return True

    @property
    def uploads(self) -> Upload:
        """Itself."""
        return self

    async def append(self, uri: str, kind: Kind, step: Step) -> None:
        """Adds to a resource; makes it where it is not there."""
        await self._done(uri, kind, as_bytes(step))

    async def seal(self, uri: str, kind: Kind) -> None:
        """Seals a resource as complete."""
        await self._done(uri, kind, b"", seal="complete")

    async def replace(self, uri: str, kind: Kind, content: bytes) -> None:
        """Puts other content in place, by the command where there is one."""
        if "replace" in self._commands:
            await super().replace(uri, kind, content)
            return
        query = {"uri": uri, "kind": kind}
        exchange = await self._session.upload(self._url, query, content, method="PUT")
        if exchange.status != 200:
            raise NotTested(f"needs a way to replace: --replace-command (PUT gives HTTP status {exchange.status})")

    async def send(self, uri: str, kind: Kind, data: bytes, **query: str) -> Exchange:
        """Gives what one upload is answered with; `query` are its further parameters."""
        return await self._session.upload(self._url, {"uri": uri, "kind": kind, **query}, data)

    async def _done(self, uri: str, kind: Kind, data: bytes, **query: str) -> None:
        exchange = await self.send(uri, kind, data, **query)
        if exchange.status != 200:
            raise NotTested(f"the upload was refused (HTTP status {exchange.status}): {short(exchange.got)}")


async def find_upload(session: Session, url: httpx2.URL) -> bool:
    """Says whether a URL takes uploads: one without a URI is refused there in the words of the note (SR-13.1)."""
    try:
        exchange = await session.upload(url, {}, b"")
    except Broken:
        return False
    return upload_error(exchange).get("reason") == "invalid_uri"


def upload_error(exchange: Exchange) -> dict[str, Any]:
    """Gives the `data` of an upload's error, empty where there is none."""
    got = exchange.got[-1] if exchange.got else None
    error = got.get("error") if isinstance(got, dict) else None
    data = error.get("data") if isinstance(error, dict) else None
    return data if isinstance(data, dict) else {}


def as_bytes(step: Step) -> bytes:
    """Gives what is sent for a step: its bytes, or the JSON of a patch."""
    return step if isinstance(step, bytes) else json.dumps(step).encode()
