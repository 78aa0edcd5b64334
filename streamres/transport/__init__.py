"""What carries the messages. Knows no method names."""

from streamres.transport.descriptors import claim_standard_streams
from streamres.transport.guard import Guard
from streamres.transport.http import HttpEndpoint
from streamres.transport.serve import allow_connections, bind, origin_of, serving
from streamres.transport.stdio import StdioPeer

__all__ = [
    "Guard",
    "HttpEndpoint",
    "StdioPeer",
    "allow_connections",
    "bind",
    "claim_standard_streams",
    "origin_of",
    "serving",
]
