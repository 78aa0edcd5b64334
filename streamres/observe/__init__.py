"""What an operator sees of a server: its health, its numbers, its log lines and its spans."""

from streamres.observe.endpoints import HEALTH_PATH, METRICS_PATH, Health, Metrics
from streamres.observe.logs import LOG_FORMATS, LogFormat, write_logs
from streamres.observe.numbers import Numbers
from streamres.observe.spans import Spans, spans
from streamres.observe.store import ObservedStore

__all__ = [
    "HEALTH_PATH",
    "Health",
    "LOG_FORMATS",
    "LogFormat",
    "METRICS_PATH",
    "Metrics",
    "Numbers",
    "ObservedStore",
    "Spans",
    "spans",
    "write_logs",
]
