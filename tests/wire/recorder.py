"""Hears what every server in this process is sent and says, over HTTP and stdio, and holds it to the contract."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from .hearing import hear_http, hear_stdio

_OURS = "streamres"
"""The name by which the project's own client tells itself; what others send is their own affair."""

_SHOWN = 2_000


class Recorder:
    """Keeps what is wrong with the frames that were sent, and how many were looked at."""

    def __init__(self) -> None:
        self.frames = 0
        self._faults: list[str] = []

    def note(self, fault: AssertionError, frame: bytes) -> None:
        self._faults.append(f"{fault}\n    {frame[:_SHOWN].decode(errors='replace')}")

    def take(self) -> list[str]:
        """The faults since the last time."""
        faults, self._faults = self._faults, []
        return faults


class Talk:
    """One channel: the requests that came over it, and the messages that answer them."""

    def __init__(self, recorder: Recorder, header: str | None = None) -> None:
        self._recorder = recorder
        self._header = header
        self._open: list[dict[str, Any]] = []

    def asked(self, body: bytes) -> None:
        request = _json(body)
        if not isinstance(request, dict) or not isinstance(request.get("method"), str) or "id" not in request:
            return
        if not isinstance(request.get("params", {}), dict):
            return
        self._open.append(request)
        if _name_of(request) == _OURS:
            self._check(body, lambda contract: contract.check_request(request))

    def said(self, body: bytes) -> None:
        message = _json(body)

        def check(contract: Any) -> None:  # noqa: ANN401
            contract.demand(isinstance(message, dict) and message.get("jsonrpc") == "2.0", "not JSON-RPC")
            if "method" in message and not any(contract.is_modern(asked, self._header) for asked in self._open):
                contract.check_pushed(message, header=self._header)
                return
            meta = message.get("params", {}).get("_meta", {})
            named = meta.get(contract.SUBSCRIPTION_ID) if "method" in message else message.get("id")
            # Over stdio an id can be used again, even by mistake: any of the requests that have it will do.
            asked = [request for request in self._open if _same(request["id"], named)]
            if "method" in message and named is None:
                asked = [request for request in self._open if request["method"] == "tools/call"]
            fault: AssertionError | None = None
            for request in asked or [None]:
                try:
                    contract.check_answer(request, message, header=self._header)
                except contract.OffContract as exc:
                    fault = fault or exc
                    continue
                if request is not None and "method" not in message:
                    self._open.remove(request)  # V1: nothing answers it after that
                return
            assert fault is not None
            raise fault

        self._check(body, check)

    def uploaded(self, body: bytes, status: int) -> None:
        answer = _json(body)
        self._check(body, lambda contract: contract.check_upload(answer, status))

    def _check(self, frame: bytes, check: Any) -> None:  # noqa: ANN401
        from . import contract  # only now: a test without a frame has no use for the official types

        self._recorder.frames += 1
        try:
            check(contract)
        except AssertionError as exc:
            self._recorder.note(exc, frame)


def _same(one: object, other: object) -> bool:
    return type(one) is type(other) and one == other


def _json(body: bytes) -> Any:  # noqa: ANN401
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _name_of(request: dict[str, Any]) -> object:
    meta = request.get("params", {}).get("_meta")
    info = meta.get("io.modelcontextprotocol/clientInfo") if isinstance(meta, dict) else None
    return info.get("name") if isinstance(info, dict) else None


@contextmanager
def recording() -> Iterator[Recorder]:
    """Records while the context lasts."""
    recorder = Recorder()
    with pytest.MonkeyPatch.context() as patch:
        hear_http(patch, lambda header: Talk(recorder, header))
        hear_stdio(patch, lambda: Talk(recorder))
        yield recorder


@pytest.fixture(scope="session", autouse=True)
def recorder() -> Iterator[Recorder]:
    """Hears every server of this process, whatever the test."""
    with recording() as recorder:
        yield recorder
        assert not recorder.take(), "frames of the last servers"


@pytest.fixture(autouse=True)
def _frames_are_of_the_schemas(recorder: Recorder) -> Iterator[None]:
    yield
    faults = recorder.take()
    assert not faults, "\n".join(["frames that are off the schemas:", *faults])
