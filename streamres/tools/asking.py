"""What a tool asks its caller for, and the state of a call that goes through the caller's hands meanwhile.

A plain call is answered with the questions, and comes again with the responses and the state (multi round-trip
requests). Nothing of it is kept here: the tool begins anew, and what was answered before is in the state. The
state is signed, is good for this call alone, and only for a while.
"""

from __future__ import annotations

import hmac
import time
from base64 import b64decode, urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from streamres.errors import InvalidParams, MissingCapability

if TYPE_CHECKING:
    from collections.abc import Mapping

STATE_S: Final = 3_600.0
"""Seconds for which the state of a call is good: a user may be at lunch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Elicit:
    """Asks the user, by a form: the response is `{"action": "accept", "content": {…}}`, or declines."""

    message: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Asks the client's model: the response is `{"role", "content", "model", …}`."""

    prompt: str
    max_tokens: int
    system: str | None = None


@dataclass(frozen=True, slots=True)
class Roots:
    """Asks which folders the client works in: the response is `{"roots": [{"uri", "name"?}, …]}`."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """Asks what another server asks, as it is: a request with `method` and `params`."""

    request: Mapping[str, Any]


Question = Elicit | Sample | Roots | Foreign

_CAPABILITY: Final = {
    "elicitation/create": "elicitation",
    "sampling/createMessage": "sampling",
    "roots/list": "roots",
}


class InputRequired(BaseException):
    """Ends a plain call with questions. No `Exception`: a tool that catches those does not catch this."""

    def __init__(
        self, questions: Mapping[str, Question], answered: Mapping[str, Any], state: str | None = None
    ) -> None:
        super().__init__(", ".join(questions))
        self.questions = questions
        self.answered = answered
        self.state = state
        """The state in place of one that is made of `answered`."""


@dataclass(frozen=True, slots=True)
class Round:
    """How far a call has come: the rounds so far, and what was answered in them."""

    count: int = 0
    answered: Mapping[str, Any] = field(default_factory=dict)


def demand_askable(question: Question, capabilities: Mapping[str, Any]) -> None:
    """Refuses a question that the client has not declared that it can answer (MissingCapability)."""
    name = _CAPABILITY.get(request_of(question)["method"])
    if name is not None and name not in capabilities:
        raise MissingCapability({name: {}})


def request_of(question: Question) -> dict[str, Any]:
    """Gives a question as MCP's request."""
    match question:
        case Elicit():
            params = {"mode": "form", "message": question.message, "requestedSchema": question.schema}
            return {"method": "elicitation/create", "params": params}
        case Sample():
            messages = [{"role": "user", "content": {"type": "text", "text": question.prompt}}]
            asked: dict[str, Any] = {"messages": messages, "maxTokens": question.max_tokens}
            if question.system is not None:
                asked["systemPrompt"] = question.system
            return {"method": "sampling/createMessage", "params": asked}
        case Roots():
            return {"method": "roots/list", "params": {}}
        case Foreign():
            return dict(question.request)


def answers(question: Question, response: object) -> bool:
    """Says whether a response answers a question; one that does not is asked for again."""
    if not isinstance(response, dict):
        return False
    match question:
        case Elicit():
            if response.get("action") != "accept":
                return response.get("action") in ("decline", "cancel")
            try:
                Draft202012Validator(question.schema).validate(response.get("content"))
            except ValidationError:
                return False
            return True
        case Sample():
            return isinstance(response.get("role"), str) and "content" in response
        case Roots():
            return isinstance(response.get("roots"), list)
        case Foreign():
            return True


class States:
    """Signs and reads the states of one server's calls; `key` is the secret that its replicas share."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def sign(self, tool: str, arguments: Mapping[str, Any], reached: Round) -> str:
        """Gives the state of a call that has come so far."""
        payload = orjson.dumps(
            [_call(tool, arguments), time.time() + STATE_S, reached.count, reached.answered],
            option=orjson.OPT_SORT_KEYS,
        )
        return urlsafe_b64encode(self._mac(payload) + payload).decode("ascii")

    def read(self, state: str | None, tool: str, arguments: Mapping[str, Any]) -> Round:
        """Gives how far a call has come.

        Raises:
            InvalidParams: the state is not one that this server gave for this call, or too old.
        """
        if state is None:
            return Round()
        refused = InvalidParams(
            "params.requestState is not the one that was given for this call; call again without it",
            reason="request_state",
        )
        try:
            signed = b64decode(state.encode("ascii"), altchars=b"-_", validate=True)
        except ValueError as exc:
            raise refused from exc
        size = sha256().digest_size
        payload = signed[size:]
        if not hmac.compare_digest(self._mac(payload), signed[:size]):
            raise refused
        call, until, count, answered = orjson.loads(payload)
        if call != _call(tool, arguments) or until < time.time():
            raise refused
        return Round(count, answered)

    def _mac(self, payload: bytes) -> bytes:
        return hmac.digest(self._key, payload, "sha256")


def _call(tool: str, arguments: Mapping[str, Any]) -> str:
    return sha256(orjson.dumps([tool, arguments], option=orjson.OPT_SORT_KEYS)).hexdigest()
