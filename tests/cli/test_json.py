"""`push --kind json`, and `tail` and `ls` of a document."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from itertools import groupby

import pytest
from requirement import requirement

from cli.cutting_proxy import cutting
from cli.program import TIMEOUT_S, Live, line_of, live, started, streamres, written

PATCHES = rb"""
{"op":"add","path":"","value":{"text":"","n":0}}
[{"op":"append","path":"/text","value":"one \u00e9"},{"op":"replace","path":"/n","value":18446744073709551617}]

  [ {"op" : "replace", "path" : "/n", "value" : 1.0} ]
{"op":"append","path":"/text","value":" two\n"}
{"op":"add","path":"","value":null}
{"op":"add","path":"","value":["end"]}"""

DOCUMENTS = [
    b"null\n",
    b'{"text":"","n":0}\n',
    '{"text":"one é","n":18446744073709551617}\n'.encode(),
    '{"text":"one é","n":1.0}\n'.encode(),
    '{"text":"one é two\\n","n":1.0}\n'.encode(),
    b"null\n",
    b'["end"]\n',
]


@pytest.fixture(scope="module")
def server() -> Iterator[Live]:
    """One for all tests: each has documents of its own."""
    with live("serve", "--port", "0") as server:
        yield server


@requirement("SR-2.3")
@requirement("SR-2.5.a")
def test_each_line_pushed_is_a_patch_and_each_line_tailed_is_the_document_after_it() -> None:
    with live("serve", "--port", "0") as server, started("push", server.url, "a:state", "--kind", "json") as push:
        with started("tail", server.url) as tail:
            written(push, b'[{"op":"test","path":"","value":null}]\n')
            shown = [line_of(tail)]  # of the resource that is there now
            for line, document in zip(filter(None, PATCHES.split(b"\n")), DOCUMENTS[1:], strict=True):
                written(push, line + b"\n")
                while shown[-1] != document:
                    shown.append(line_of(tail))
            push.communicate(timeout=TIMEOUT_S)
            rest, err = tail.communicate(timeout=TIMEOUT_S)

        assert (push.returncode, tail.returncode, rest) == (0, 0, b"")
        assert err in (b"", b"streamres: no resource yet; waiting for the first\n")  # whichever was there first
        # The first may come twice: where tail was there before the patch that tests it.
        assert [document for document, _ in groupby(shown)] == DOCUMENTS
        assert streamres("ls", server.url).stdout.decode().split() == ["a:state", "json", "complete", "8"]
        late = streamres("tail", server.url, "a:state")
        assert (late.returncode, late.stdout) == (0, b'["end"]\n')


@requirement("SR-2.3")
def test_a_last_line_without_an_end_is_a_patch_too_and_late_readers_see_the_document_alone(server: Live) -> None:
    pushed = streamres("push", server.url, "a:late", "--kind", "json", stdin=PATCHES)

    assert (pushed.returncode, pushed.stderr) == (0, b"")
    for options in ([], ["--no-follow"], ["--last", "1"]):
        assert streamres("tail", server.url, "a:late", *options).stdout == b'["end"]\n'


@requirement("C3")
@requirement("SR-3.2")
def test_a_document_tailed_over_cuts_ends_as_it_was_pushed() -> None:
    with live("serve", "--port", "0") as server, started("push", server.url, "a:state", "--kind", "json") as push:
        written(push, b'{"op":"add","path":"","value":{"log":"","items":[]}}\n')
        expected = ""
        with cutting(server.port, [2_000] * 4) as proxy, started("tail", proxy.url) as tail:
            while b'"items":[]' not in line_of(tail):
                pass
            documents = []
            for number in range(60):
                word = f"{number} é\n"
                expected += word
                growth = {"op": "append", "path": "/log", "value": word}
                patch = [growth, {"op": "add", "path": "/items/0", "value": number}]
                written(push, json.dumps(patch).encode() + b"\n")
                documents.append(json.loads(line_of(tail)))
            push.communicate(timeout=TIMEOUT_S)
            out, _ = tail.communicate(timeout=TIMEOUT_S)

    assert documents[-1] == {"log": expected, "items": list(range(59, -1, -1))}
    assert [len(document["items"]) for document in documents] == list(range(1, 61)), "each document once"
    assert all(expected.startswith(document["log"]) for document in documents)
    assert proxy.cuts >= 2
    assert (tail.returncode, out) == (0, b"")


BAD_LINES: dict[str, tuple[bytes, str]] = {
    "no JSON": (b"more text\n", "not JSON"),
    "a patch that fails": (b'{"op":"remove","path":"/none"}\n', "cannot be applied"),
}


@requirement("SR-2.3.b")
@pytest.mark.parametrize(("line", "words"), BAD_LINES.values(), ids=BAD_LINES)
def test_a_line_that_is_refused_is_said_in_one_line_and_what_came_before_stays(
    server: Live, line: bytes, words: str
) -> None:
    uri = f"a:refused:{len(line)}"
    lines = b'{"op":"add","path":"","value":1}\n' + line

    done = streamres("push", server.url, uri, "--kind", "json", stdin=lines)

    assert done.returncode == 1
    assert words in done.stderr.decode()
    assert done.stderr.strip().count(b"\n") == 0, "one line, and no traceback"
    shown = streamres("tail", server.url, uri)
    # Sealed as aborted, so that nobody waits for the rest.
    assert shown.stdout == b"1\n"
    assert b"aborted" in shown.stderr


def test_into_a_text_no_patch_is_pushed(server: Live) -> None:
    streamres("push", server.url, "a:log", stdin=b"text")
    done = streamres("push", server.url, "a:log", "--kind", "json", stdin=b"[]\n")

    assert done.returncode == 1
    assert "its kind is text" in done.stderr.decode()


@requirement("SR-5.2")
def test_a_document_is_not_guessed_from_a_cursor() -> None:
    with live("serve", "--port", "0") as server, started("push", server.url, "a:state", "--kind", "json") as push:
        written(push, b'{"op":"add","path":"","value":[1]}\n')
        with started("tail", server.url) as tail:
            while line_of(tail) != b"[1]\n":
                pass
            tail.send_signal(signal.SIGINT)
            _, err = tail.communicate(timeout=TIMEOUT_S)
        cursor = re.search(r"--since (\S+)", err.decode())
        assert cursor is not None
        push.communicate(b'{"op":"add","path":"/-","value":2}\n', timeout=TIMEOUT_S)

        since = streamres("tail", server.url, "a:state", f"--since={cursor[1]}")
        whole = streamres("tail", server.url, "a:state")

    assert (since.returncode, since.stdout) == (1, b"")
    assert "tail a json resource without --since" in since.stderr.decode()
    assert whole.stdout == b"[1,2]\n"
