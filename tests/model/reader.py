"""A reader of a `ResourceLog` as a client is one: it has cursors and texts only, and what it shows is its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.model import Append, Reassembler, Update, decode_cursor, encode_cursor

from .histories import URI, shown

if TYPE_CHECKING:
    from streamres.model import Reading, ResourceLog


def answer_of(uri: str, reading: Reading) -> Update:
    """What goes over the wire: a delta, which says `since` what, or a snapshot."""
    step = reading.step
    return Update(
        text=shown(step).decode(),
        since=encode_cursor(step.start, uri) if isinstance(step, Append) else None,
        cursor=encode_cursor(step.stop, uri),
        revision=step.stop.revision,
        state=reading.state,
        reset=reading.reset,
        start=0 if isinstance(step, Append) else step.begin,
        digest=reading.digest,
        more=reading.more,
    )


def ask(log: ResourceLog, since: str | None = None, *, max_bytes: int | None = None) -> Update:
    position = None if since is None else decode_cursor(since, log.uri)
    return answer_of(log.uri, log.read(position, max_bytes=max_bytes))


class Reader:
    """Shows what its reassembler hands over, by the rule of `Update`: a reset replaces, all else continues."""

    def __init__(self, uri: str, *, since: str | None = None, text: str = "") -> None:
        self.reassembler = Reassembler(uri, since=since)
        self.text = text

    def take(self, answer: Update) -> str:
        if answer.since is not None:
            outcome = self.reassembler.delta(answer)
            if outcome == "applied":
                self.text += answer.text
            return outcome
        news = self.reassembler.snapshot(answer)
        self.text = news.text if news.reset else self.text + news.text
        return "snapshot"

    def catch_up(self, log: ResourceLog, *, max_bytes: int | None = None) -> None:
        for _ in range(1_000):
            answer = ask(log, self.reassembler.cursor, max_bytes=max_bytes)
            self.take(answer)
            if not answer.more:
                return
        raise AssertionError("the reader reads for ever")


def reader_of(log: ResourceLog) -> Reader:
    """A reader that has read all there is."""
    reader = Reader(URI)
    reader.catch_up(log)
    return reader


def appended(log: ResourceLog, text: str) -> Update:
    """The delta of one append, as a notification carries it."""
    before = log.head.position
    log.commit(text.encode())
    return answer_of(URI, log.read(before))


def known(reader: Reader) -> tuple[str, str | None, str]:
    return reader.text, reader.reassembler.cursor, reader.reassembler.state
