"""Log lines for programs and for people: one line an event, its members beside the message."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from typing import Final, Literal, get_args

LogFormat = Literal["json", "text"]
LOG_FORMATS: Final[tuple[LogFormat, ...]] = get_args(LogFormat)

_OWN: Final = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
"""What every record has; whatever else is there belongs to the event."""


class _Lines(logging.Formatter):
    """One line a record, a traceback in it."""

    def __init__(self, form: LogFormat) -> None:
        super().__init__()
        self._form = form

    def format(self, record: logging.LogRecord) -> str:
        members: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        members |= {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.exc_info:
            members["traceback"] = self.formatException(record.exc_info)
        if self._form == "json":
            return json.dumps(members, default=str)
        fixed = [str(members.pop(name)) for name in ("time", "level", "logger", "message")]
        # Quoted as JSON: no line end and no escape sequence of anybody's text reaches the terminal.
        fixed[3] = json.dumps(fixed[3])[1:-1].replace('\\"', '"')
        rest = [f"{name}={json.dumps(value, default=str)}" for name, value in members.items()]
        return " ".join([*fixed, *rest])


def write_logs(form: LogFormat) -> None:
    """Writes what the server has to say to standard error, a line each, from the level INFO on."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(form))
    logger = logging.getLogger("streamres")
    logger.handlers = [handler]
    logger.setLevel(logging.INFO)
    logger.propagate = False
