"""What a server sends on one connection, cut into the parts that a fault takes whole: events, chunks, bodies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

import httptools

if TYPE_CHECKING:
    from collections.abc import Iterator

_EVENT_END: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_HEAD_END: Final = b"\r\n\r\n"
_LAST_CHUNK: Final = b"0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Part:
    """Bytes as they go on to the reader."""

    data: bytes
    kind: Literal["head", "event", "body", "rest", "end"]
    """The head of an answer; one event of a stream; all of another answer, head included; what has no
    message in it; the mark that ends a stream."""


class Answers:
    """Takes bytes as they come and gives the parts that are whole. Each event is in a chunk of its own."""

    _head: bytes
    _body: bytes
    _in_body: bool
    _is_stream: bool
    _is_chunked: bool
    _is_done: bool
    _parser: httptools.HttpResponseParser

    def __init__(self) -> None:
        self._begin()

    def feed(self, data: bytes) -> Iterator[Part]:
        """Takes bytes.

        Raises:
            httptools.HttpParserError: they are not HTTP.
        """
        if not self._in_body:
            head, end, data = (self._head + data).partition(_HEAD_END)
            self._head = head + end
            if not end:
                return
            self._in_body = True
            self._parser.feed_data(self._head)
            if self._is_stream:
                yield Part(self._head, "head")
        if data:
            self._parser.feed_data(data)
        if self._is_stream:
            while (end_at := _EVENT_END.search(self._body)) is not None:
                event, self._body = self._body[: end_at.end()], self._body[end_at.end() :]
                framed = b"%x\r\n%b\r\n" % (len(event), event)
                yield Part(framed, "event" if b"data" in event else "rest")
        if self._is_done:
            if self._is_stream:
                yield Part(_LAST_CHUNK, "end")
            else:
                yield Part(self._head + self._framed(), "body")
            self._begin()

    # What httptools calls.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Takes note of what kind of answer it is."""
        match name.lower():
            case b"content-type":
                self._is_stream = value.startswith(b"text/event-stream")
            case b"transfer-encoding":
                self._is_chunked = b"chunked" in value

    def on_body(self, body: bytes) -> None:
        """Takes a piece of the body."""
        self._body += body

    def on_message_complete(self) -> None:
        """Takes note of the end."""
        self._is_done = True

    def _begin(self) -> None:
        self._head, self._body = b"", b""
        self._in_body = self._is_stream = self._is_chunked = self._is_done = False
        self._parser = httptools.HttpResponseParser(self)

    def _framed(self) -> bytes:
        if not self._is_chunked:
            return self._body
        chunk = b"%x\r\n%b\r\n" % (len(self._body), self._body) if self._body else b""
        return chunk + _LAST_CHUNK
