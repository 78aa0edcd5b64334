"""What all checks of one run share: the server, what it declares, and the scenes that are made once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Final

from streamres.check.answers import caching_hints
from streamres.check.binding import ENTRY_MEMBERS, EXTENSION, members_of
from streamres.check.exchange import short
from streamres.check.finding import Broken, NotOffered, NotTested, demand, scene
from streamres.check.session import VERSION

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from streamres.check.bench import Bench, History
    from streamres.check.content import Kind, Step
    from streamres.check.limits import Waits
    from streamres.check.session import Session
    from streamres.check.writer import Writer

_LIST_PAGES: Final = 20
"""Pages of `resources/list` that are looked through for a resource of each kind."""

_TEXTS: Final = (
    "compiling für Ωmega\n",
    "linking 漢字 and 😀\n",
    "testing é, ü and \U0001f9ea\n",
    "packing\n",
)
_BLOBS: Final = (b"\x00\xff\xfe\x80first", b"\xc3\x28second\n", bytes(range(192, 256)), b"\xf0\x9f\x98")


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """An entry of `resources/list` that is streamable."""

    uri: str
    kind: str
    state: str


class Stage:
    """One run against one server."""

    def __init__(
        self,
        session: Session,
        writer: Writer,
        waits: Waits,
        settings: Mapping[str, Any],
        *,
        uris: Sequence[str] = (),
        forbidden: Sequence[str] = (),
        replica: Session | None = None,
        prefix: str = "check://streamres/",
    ) -> None:
        self.session = session
        self.writer = writer
        self.waits = waits
        self.settings = settings
        """What the server declares for the extension."""
        self.uris = tuple(uris)
        self.forbidden = tuple(forbidden)
        self.replica = replica
        """A second server over the same store."""
        self._prefix = f"{prefix}{token_hex(4)}/"
        self._numbers = count(1)
        self._shared: dict[tuple[str, str, str], History | Exception] = {}
        self._listed: list[Listed] | None = None

    def new_uri(self) -> str:
        """Gives a URI at which nothing is."""
        return f"{self._prefix}{next(self._numbers)}/log"

    def piece(self, kind: Kind, number: int) -> Step:
        """Gives what the check writes as its `number`-th change to a resource of its own."""
        match kind:
            case "text":
                return _TEXTS[number % len(_TEXTS)].encode()
            case "blob":
                return _BLOBS[number % len(_BLOBS)]
            case "json" if number == 0:
                document = {"log": "", "items": [], "done": False, "é/~": None}
                return [{"op": "replace", "path": "", "value": document}]
            case "json" if number % 2:
                return [{"op": "add", "path": "/items/-", "value": {"number": number, "name": "😀"}}]
            case "json":
                return [{"op": "append", "path": "/log", "value": f"step {number} für Ω\n"}]

    async def shared(self, bench: Bench, name: str, make: Callable[[], Awaitable[History]]) -> History:
        """Gives a scene, made the first time; one that could not be made is not tried again."""
        key = (name, bench.binding, bench.kind)
        if key not in self._shared:
            try:
                with scene():
                    self._shared[key] = await make()
            except (Broken, NotOffered, NotTested) as exc:
                self._shared[key] = exc
        made = self._shared[key]
        if isinstance(made, Exception):
            raise made
        return made

    async def existing(self, kind: Kind, *, open_only: bool = False, sealed_only: bool = False) -> str | None:
        """Gives a resource of this kind: one that was given by its URI, else one of the list."""
        every = [await self.given(uri) for uri in self.uris] if self.uris else await self.listed()
        for listed in every:
            sealed = listed.state != "open"
            if listed.kind == kind and not (sealed and open_only) and (sealed or not sealed_only):
                return listed.uri
        return None

    async def listed(self) -> list[Listed]:
        """Gives the streamable resources of the list, up to its twentieth page.

        Raises:
            Broken: an entry or a page is wrong.
        """
        if self._listed is None:
            self._listed = await self._list()
        return self._listed

    async def given(self, uri: str) -> Listed:
        """Gives what a resource is, by its delta since the head: not every server lists all that it has.

        Raises:
            Broken: it is not streamable.
        """
        head = (await self.session.ask("resources/read", {"uri": uri, "tailBytes": 0})).result
        params = {"uri": uri, "since": head.get("cursor")}
        answer = await self.session.ask("resources/read", params)
        delta = answer.result.get("delta")
        kind = delta.get("kind") if isinstance(delta, dict) else None
        demand(isinstance(kind, str), f"{uri} is not streamable: {short(answer.result)}", clause="SR-5.2.a")
        return Listed(uri=uri, kind=str(kind), state=str(answer.result.get("state")))

    async def _list(self) -> list[Listed]:
        found: list[Listed] = []
        cursor: object = None
        for _ in range(_LIST_PAGES):
            params = {} if cursor is None else {"cursor": cursor}
            answer = await self.session.ask("resources/list", params, declared={"binding": "fields"})
            result, exchange = answer.result, answer.exchange
            caching_hints(result, exchange)
            for entry in result["resources"]:
                stream = members_of(entry, ENTRY_MEMBERS, "fields", exchange).get("stream")
                if stream is not None:
                    holds = isinstance(stream, dict) and isinstance(stream.get("kind"), str)
                    demand(holds, f"stream is {short(stream)}", clause="SR-8.1.a", exchange=exchange)
                    found.append(Listed(uri=entry["uri"], kind=stream["kind"], state=str(stream.get("state"))))
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        return found


async def discover(session: Session) -> Mapping[str, Any] | None:
    """Gives what the server declares for the extension, None where it declares nothing.

    Raises:
        Broken: it does not answer as MCP 2026-07-28.
    """
    answer = await session.ask("server/discover", declared={"binding": "fields"})
    capabilities, versions = answer.result.get("capabilities"), answer.result.get("supportedVersions")
    if not isinstance(capabilities, dict) or not isinstance(versions, list):
        raise Broken(f"no server/discover of MCP: {short(answer.result)}", exchange=answer.exchange)
    if VERSION not in versions:
        raise Broken(f"its versions are {short(versions)}", exchange=answer.exchange)
    extensions = capabilities.get("extensions")
    settings = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    if settings is None:
        return None
    return settings if isinstance(settings, dict) else {}
