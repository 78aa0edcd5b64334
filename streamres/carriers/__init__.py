"""The ways of carrying output that grows: a file each, those of others by entry points `streamres.carriers`."""

from streamres.carriers.carrier import Carrier, Seen, Traits
from streamres.carriers.reach import Cut, Reach, Refused
from streamres.carriers.registry import carriers, lines_of
from streamres.carriers.source import TOOL, URI, Source

__all__ = ["TOOL", "URI", "Carrier", "Cut", "Reach", "Refused", "Seen", "Source", "Traits", "carriers", "lines_of"]
