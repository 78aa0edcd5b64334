"""The conformance check of the note against any server, by raw HTTP.

Independent by construction: nothing here is shared with the server, the model or the client of this library, so
that a mistake of theirs is not believed. A test holds that.
"""

from streamres.check.finding import Finding, Status
from streamres.check.limits import Waits
from streamres.check.run import CannotRun, Request, run

__all__ = ["CannotRun", "Finding", "Request", "Status", "Waits", "run"]
