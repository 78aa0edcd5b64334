"""What carries the messages. Knows no method names."""

from streamres.transport.guard import Guard
from streamres.transport.http import HttpEndpoint
from streamres.transport.serve import bind, origin_of, serving

__all__ = ["Guard", "HttpEndpoint", "bind", "origin_of", "serving"]
