"""One request and what came back for it, exactly, for the report."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from streamres.check.finding import Broken


@dataclass(slots=True, kw_only=True)
class Exchange:
    """Grows while a subscription goes on."""

    sent: Any
    """The JSON-RPC message, or for other HTTP requests `{"http": "POST …", "body": …}`."""
    status: int | None = None
    """The HTTP status, None where no answer came."""
    got: list[Any] = field(default_factory=list)
    """Each message in its order; text where it was not JSON."""
    session_id: str | None = None
    """The session that the answer begins: an older version of MCP."""
    fault: str | None = None
    """What went wrong below the messages: a time-out, a cut."""

    def as_json(self) -> dict[str, Any]:
        """Gives it for the machine-readable report."""
        told = {"sent": self.sent, "status": self.status, "got": self.got}
        return told if self.fault is None else {**told, "fault": self.fault}


@dataclass(frozen=True, slots=True)
class Answer:
    """The one message that answers a request."""

    exchange: Exchange
    message: dict[str, Any]

    @property
    def status(self) -> int | None:
        """The HTTP status."""
        return self.exchange.status

    @property
    def result(self) -> dict[str, Any]:
        """The result.

        Raises:
            Broken: it is an error, or lacks what the core demands.
        """
        result = self.message.get("result")
        if not isinstance(result, dict):
            raise Broken(f"no result but {short(self.message.get('error', self.message))}", exchange=self.exchange)
        if result.get("resultType") != "complete":
            got = f"resultType is {short(result.get('resultType'))}"
            raise Broken(got, clause="MCP-result-type", exchange=self.exchange)
        return result

    @property
    def error(self) -> dict[str, Any]:
        """The error.

        Raises:
            Broken: it is a result, or an error without a code.
        """
        error = self.message.get("error")
        if not isinstance(error, dict):
            raise Broken("an answer, not an error", exchange=self.exchange)
        if not isinstance(error.get("code"), int):
            raise Broken(f"an error without a code: {short(error)}", exchange=self.exchange)
        return error

    @property
    def data(self) -> dict[str, Any]:
        """The error's `data`, empty where it has none."""
        data = self.error.get("data")
        return data if isinstance(data, dict) else {}


def short(value: object, chars: int = 160) -> str:
    """Gives JSON for a person, cut where it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "backslashreplace").decode()  # half a code point can be printed nowhere
    return text if len(text) <= chars else f"{text[:chars]}… ({len(text)} characters)"
