"""One run of the check: find the server, find what it declares and how it is written to, check, report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx2

from streamres.check.binding import EXTENSION
from streamres.check.finding import Broken
from streamres.check.limits import Waits
from streamres.check.runner import check
from streamres.check.session import VERSION, Session
from streamres.check.stage import Stage, discover
from streamres.check.writer import Upload, Writer, find_upload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from streamres.check.finding import Finding
    from streamres.check.writer import Act

MCP_PATH = "/mcp"


class CannotRun(Exception):
    """There is nothing to check; the text says why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to check, and by what means."""

    url: str
    uris: tuple[str, ...] = ()
    """Resources to use; without them those of the list."""
    only: tuple[str, ...] = ()
    """Clauses to check, as `SR-5`, `SR-5.5` or `SR-5.5.a`; none is all."""
    upload: str | None = None
    """Where appends go, in the form of section 9; `none` is nowhere, None is `upload` beside the MCP endpoint."""
    commands: Mapping[Act, str] = field(default_factory=dict)
    """Shell commands that change a resource, by what they do."""
    forbidden: tuple[str, ...] = ()
    """Resources that the server refuses to this reader."""
    replica: str | None = None
    """A second server over the same store."""
    prefix: str = "check://streamres/"
    """Where the check makes resources of its own."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """HTTP headers of every request, `Authorization` say."""
    waits: Waits = field(default_factory=Waits)


async def run(request: Request, progress: Callable[[str], None] = lambda _: None) -> list[Finding]:
    """Gives one finding a clause.

    Raises:
        CannotRun: no server, not MCP, or the extension is not declared.
    """
    url = endpoint(request.url)
    session = Session(url, request.waits, request.headers)
    replica = (
        None if request.replica is None else Session(endpoint(request.replica), request.waits, request.headers)
    )
    try:
        settings = await _declared(session)
        writer = await _writer(session, request)
        stage = Stage(
            session,
            writer,
            request.waits,
            settings,
            uris=request.uris,
            forbidden=request.forbidden,
            replica=replica,
            prefix=request.prefix,
        )
        return await check(stage, only=request.only, progress=progress)
    finally:
        await session.close()
        if replica is not None:
            await replica.close()


def endpoint(url: str) -> httpx2.URL:
    """Gives the MCP endpoint that a URL means: itself, or `/mcp` where it has no path.

    Raises:
        CannotRun: it is no http URL.
    """
    try:
        target = httpx2.URL(url)
    except httpx2.InvalidURL as exc:
        raise CannotRun(f"{url!r} is not a URL: {exc}") from exc
    if target.scheme not in ("http", "https") or not target.host:
        raise CannotRun(f"{url!r} is not an http URL; it looks like http://127.0.0.1:8765/mcp")
    return target if target.path not in ("", "/") else target.copy_with(path=MCP_PATH)


async def _declared(session: Session) -> Mapping[str, Any]:
    try:
        settings = await discover(session)
    except Broken as exc:
        exchange = exc.exchange
        if exchange is not None and exchange.status is None:
            raise CannotRun(f"nothing answers at {session.url} ({exc.got})") from exc
        raise CannotRun(f"{session.url} does not answer as MCP {VERSION}: {exc.got}") from exc
    if settings is None:
        raise CannotRun(f"{session.url} does not declare {EXTENSION} in server/discover")
    return settings


async def _writer(session: Session, request: Request) -> Writer:
    if request.upload == "none":
        return Writer(request.commands)
    if request.upload is not None:
        return Upload(session, endpoint(request.upload), request.commands)
    if "append" not in request.commands and await find_upload(session, beside := session.url.join("upload")):
        return Upload(session, beside, request.commands)
    return Writer(request.commands)
