"""What carries the messages. Knows no method names."""

from streamres.transport.guard import Guard
from streamres.transport.http import HttpEndpoint
from streamres.transport.serve import allow_connections, bind, origin_of, serving

__all__ = ["Guard", "HttpEndpoint", "allow_connections", "bind", "origin_of", "serving"]
