"""A reader at the far end: it asks, takes what arrives in whatever order, and keeps the content."""

from __future__ import annotations

import json
from itertools import count
from typing import TYPE_CHECKING, Any, Literal

from streamres.client import wire
from streamres.model import Reassembler

if TYPE_CHECKING:
    from streamres.model import Kind, Update

    from .links import Link, Message

Binding = Literal["fields", "meta", "uri"]

URI = "build://7/log"
STREAM = "dev.streamres/stream"
EXTENSION = "dev.streamres/streamable-resources"


class Reader:
    """Goes by the rules of `follow`: one read at a time, and what is announced waits for its answer."""

    def __init__(self, link: Link, kind: Kind, binding: Binding, *, append_op: bool) -> None:
        self.link = link
        self.kind = kind
        self.content = b""
        self.resets: list[str] = []
        self.asked: int | None = None
        self.more = False
        self._binding = binding
        self._append_op = append_op
        self._reassembler = Reassembler(URI)
        self._ids = count(1)
        self._held: list[Message] = []

    @property
    def cursor(self) -> str | None:
        return self._reassembler.cursor

    @property
    def sealed(self) -> bool:
        return self._reassembler.sealed

    @property
    def value(self) -> object:
        return self._reassembler.with_value(_NOTHING).value

    def read(self, max_bytes: int | None) -> None:
        """Asks for what follows the cursor, unless an answer is still awaited."""
        if self.asked is not None:
            return
        members: dict[str, Any] = {} if self.cursor is None else {"since": self.cursor}
        if max_bytes is not None:
            members["maxBytes"] = max_bytes
        match self._binding:
            case "uri":
                members.setdefault("maxBytes", 1 << 20)
                params = {"uri": URI + "?" + "&".join(f"{name}={value}" for name, value in members.items())}
            case "meta":
                params = {"uri": URI, "_meta": {STREAM: members}}
            case "fields":
                params = {"uri": URI, **members}
        self.asked = self._send("resources/read", params)

    def listen(self) -> None:
        """Subscribes from the cursor on."""
        if self._binding == "uri":
            return
        wanted = {"deliver": "delta"} if self.cursor is None else {"deliver": "delta", "since": self.cursor}
        members = {"resourceStreams": {URI: wanted}}
        params: dict[str, Any] = {"notifications": {}, "_meta": {}}
        if self._binding == "meta":
            params["_meta"] = {STREAM: members}
        else:
            params["notifications"] = members
        self._send("subscriptions/listen", params)

    def lose(self) -> None:
        """What was asked is not answered any more: the connection is gone, or the time is up."""
        self.asked = None

    def take(self, message: Message) -> None:
        """Takes one message that arrived; those of a subscription wait while a read is unanswered."""
        if "method" in message:
            self._held.append(message)
        elif message.get("id") == self.asked:
            self.asked = None
            assert "result" in message, message
            self._answer(self._members(message["result"]))
        if self.asked is None:
            held, self._held = self._held, []
            for notification in held:
                self._notified(notification)

    def _answer(self, result: Message) -> None:
        update = wire.read_update(URI, result)
        if update.since is None:
            self._apply(self._reassembler.snapshot(update))
        elif self._reassembler.delta(update) == "applied":
            self._apply(update)
        self.more = update.more

    def _notified(self, message: Message) -> None:
        if message["method"] != "notifications/resources/updated":
            return
        event = wire.updated(self._members(message["params"]))
        if event.update is not None and self._reassembler.delta(event.update) == "applied":
            self._apply(event.update)

    def _apply(self, update: Update) -> None:
        if update.reset is not None:
            self.resets.append(update.reset)
            self.content = b""
        if self.kind != "json":
            self.content += update.data

    def _send(self, method: str, params: Message) -> int:
        settings: dict[str, Any] = {"binding": "meta" if self._binding == "meta" else "fields"}
        if self._append_op:
            settings["patchOps"] = ["append"]
        capabilities = {"extensions": {EXTENSION: settings}} if self._binding != "uri" else {}
        envelope = {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities,
        }
        params = {**params, "_meta": {**params.get("_meta", {}), **envelope}}
        request_id = next(self._ids)
        self.link.send({"jsonrpc": "2.0", "id": request_id, "method": method, "params": params})
        return request_id

    def _members(self, holder: Message) -> Message:
        """The members of the extension in the open, wherever this binding has them."""
        if self._binding == "meta":
            return {**holder, **holder["_meta"].get(STREAM, {})}
        if self._binding != "uri":
            return holder
        (item,) = holder["contents"]
        members = {**holder, **item["_meta"][STREAM]}
        if "delta" in members:
            name, payload = self.kind, item["blob" if self.kind == "blob" else "text"]
            if name == "json":
                name, payload = "patch", json.loads(payload)
            members["delta"] = {**members["delta"], name: payload}
        return members


_NOTHING = wire.Update(kind="json", cursor="", revision=0, state="open")
