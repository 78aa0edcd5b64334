"""The methods of the server: which request leads to which outcome. Knows no transport."""

from streamres.server.dispatch import Dispatcher
from streamres.server.more import Method
from streamres.server.outcome import Accepted, Begun, Cancel, LongReply, Outcome, Pending, Reply, Stream, Write

__all__ = [
    "Accepted",
    "Begun",
    "Cancel",
    "Dispatcher",
    "LongReply",
    "Method",
    "Outcome",
    "Pending",
    "Reply",
    "Stream",
    "Write",
]
