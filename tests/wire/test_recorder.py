"""A frame that is off the schemas is noticed in whichever test it is sent."""

from __future__ import annotations

import pytest
from server.frames import Binding
from server.wire import URI, serving
from transport.stdio_peer import talking

from streamres import Client
from streamres.protocol import messages
from streamres.protocol.binding import ReadRequest

from .recorder import Recorder


@pytest.fixture(scope="module")
def anyio_backend() -> tuple[str, dict[str, bool]]:
    return "asyncio", {"use_uvloop": False}


@pytest.fixture
def no_cursors(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that makes every cursor the same, and none."""
    monkeypatch.setattr(messages, "encode_cursor", lambda position, uri: "")


@pytest.mark.usefixtures("no_cursors")
@pytest.mark.parametrize("binding", ["fields", "meta"])
async def test_a_result_is_looked_at(recorder: Recorder, binding: Binding) -> None:
    async with serving() as wire:
        await wire.read(binding)

    (fault,) = recorder.take()
    assert "cursor: '' should be non-empty" in fault


@pytest.mark.usefixtures("no_cursors")
async def test_every_frame_of_a_stream_is_looked_at(recorder: Recorder) -> None:
    async with serving() as wire, wire.listen("fields", {URI: {"deliver": "delta"}}) as frames:
        await frames.take()
        await wire.append("a")
        await frames.take()

    acknowledged, updated = recorder.take()
    assert "AcknowledgedNotificationParams" in acknowledged
    assert "ResourceUpdatedNotificationParams" in updated


async def test_a_long_answer_is_put_together(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving() as wire:
        await wire.append("x" * 1_000_000)
        assert (await wire.read("fields")).text
        assert not recorder.take()
        monkeypatch.setattr(messages, "encode_cursor", lambda position, uri: "")
        await wire.read("fields")

    assert len(recorder.take()) == 1


async def test_an_error_is_looked_at(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamres.server.dispatch.data_of", lambda exc: {"reason": "invalid_cursor"})
    async with serving() as wire:
        await wire.read("fields", since="none")

    (fault,) = recorder.take()
    assert "errors.json" in fault


async def test_an_uploads_answer_is_looked_at(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamres.sources.upload.encode_cursor", lambda position, uri: 7)
    async with serving(upload=True) as wire:
        await wire.http.post(wire.url.replace("/mcp", "/upload"), params={"uri": URI}, content=b"a")

    (fault,) = recorder.take()
    assert "upload.json" in fault


async def test_a_member_nobody_asked_for_is_a_fault(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamres.server.resources.read_request", lambda params: ReadRequest(binding="fields"))
    async with serving() as wire:
        await wire.ask("resources/read", {"uri": URI})

    (fault,) = recorder.take()
    assert "['cursor', 'revision', 'state']: no member of ReadResourceResult in the binding plain" in fault


async def test_what_our_client_asks_is_looked_at(recorder: Recorder) -> None:
    async with serving() as wire, Client(wire.url) as client:
        with pytest.raises(Exception, match="maxBytes"):
            await client.read(URI, max_bytes=0)

    (fault,) = recorder.take()
    assert "maxBytes: 0 is less than the minimum of 1" in fault


async def test_what_is_right_is_counted_and_passes(recorder: Recorder) -> None:
    before = recorder.frames
    async with serving() as wire, Client(wire.url) as client:
        await client.read(URI)

    assert recorder.frames == before + 2
    assert not recorder.take()


async def test_a_line_over_stdio_is_looked_at(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    async with talking() as talk:
        await talk.read()
        await talk.hear()
        assert not recorder.take()
        monkeypatch.setattr(messages, "encode_cursor", lambda position, uri: "")
        await talk.read(request_id=2)
        await talk.hear()

    (fault,) = recorder.take()
    assert "ReadResourceResult" in fault
