"""The methods of the server: which request leads to which outcome. Knows no transport."""

from streamres.server.dispatch import Dispatcher
from streamres.server.outcome import Accepted, Cancel, LongReply, Outcome, Pending, Reply, Stream, Write

__all__ = ["Accepted", "Cancel", "Dispatcher", "LongReply", "Outcome", "Pending", "Reply", "Stream", "Write"]
