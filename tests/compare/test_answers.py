"""What a server sends is the same parts, however it is cut on its way."""

from __future__ import annotations

import pytest

from streamres.compare.answers import Answers, Part

EVENTS = b"8\r\ndata: 1\n\r\n1\r\n\n\r\n3\r\n:\n\n\r\n12\r\ndata: 2\n\ndata: 3\n\n\r\n0\r\n\r\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
PLAIN = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4\r\n\r\nnull"
LONG = HEAD.replace(b"text/event-stream", b"application/json") + b"2\r\nnu\r\n2\r\nll\r\n0\r\n\r\n"


def parts(data: bytes, step: int) -> list[Part]:
    answers = Answers()
    return [part for at in range(0, len(data), step) for part in answers.feed(data[at : at + step])]


@pytest.mark.parametrize("step", range(1, 40))
def test_events_are_parts_of_their_own(step: int) -> None:
    found = parts(HEAD + EVENTS, step)

    assert [part.kind for part in found] == ["head", "event", "rest", "event", "event", "end"]
    assert found[1].data == b"9\r\ndata: 1\n\n\r\n"
    assert found[-1].data == b"0\r\n\r\n"


@pytest.mark.parametrize("step", range(1, 40))
def test_any_other_answer_is_one_part(step: int) -> None:
    answers = Answers()
    found = [
        part
        for whole in (PLAIN, LONG)
        for at in range(0, len(whole), step)
        for part in answers.feed(whole[at : at + step])
    ]

    assert {part.kind for part in found} == {"body"}
    assert found[0].data == PLAIN
    assert found[1].data.endswith(b"4\r\nnull\r\n0\r\n\r\n")
