"""One log line an event, for programs and for people."""

from __future__ import annotations

import json
import logging
import re

import httpx2
import pytest
from cli.program import live

from streamres.observe import LogFormat, write_logs


@pytest.fixture(autouse=True)
def _logger_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    logger = logging.getLogger("streamres")
    for name in ("handlers", "level", "propagate"):
        monkeypatch.setattr(logger, name, getattr(logger, name))


@pytest.mark.parametrize("form", ["json", "text"])
def test_serve_writes_a_line_an_event(form: LogFormat) -> None:
    with live("serve", "--port", "0", "--store", "memory:", "--log-format", form) as server:
        upload = server.url.replace("/mcp", "/upload?uri=a:b&revision=7")
        with httpx2.Client(trust_env=False) as http:
            assert http.post(upload, content=b"x").status_code == 409
        server.process.terminate()
        _, _, err = server.end()

    (line,) = [line for line in err.splitlines() if "upload_refused" in line]
    if form == "json":
        entry = json.loads(line)
        assert entry.pop("time").endswith("+00:00")
        assert entry == {
            "level": "info",
            "logger": "streamres.upload",
            "message": "upload refused: resource 'a:b' is at revision 0, not 7",
            "event": "upload_refused",
            "reason": "revision",
        }
    else:
        assert re.fullmatch(
            r"\S+ info streamres\.upload upload refused: resource 'a:b' is at revision 0, not 7"
            r' event="upload_refused" reason="revision"',
            line,
        )


@pytest.mark.parametrize("form", ["json", "text"])
def test_a_record_is_one_line_whatever_is_in_it(form: LogFormat, capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(form)

    try:
        raise ValueError("two\nlines")
    except ValueError as exc:
        logging.getLogger("streamres.server").error("odd\n\x1b[31m %s", "é", exc_info=exc, extra={"event": "x\ny"})

    (line,) = capsys.readouterr().err.splitlines()
    assert "\x1b" not in line
    assert "Traceback" in line
    assert "two" in line
    if form == "json":
        assert json.loads(line)["message"] == "odd\n\x1b[31m é"


def test_what_is_of_no_interest_is_not_written(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs("text")

    logging.getLogger("streamres.server").debug("small")
    logging.getLogger("elsewhere").info("not ours")

    assert capsys.readouterr().err == ""
