"""What a streamable resource is: positions, deltas, history, reassembly. Pure: no I/O, no clock, no chance."""

from streamres.model.content import KINDS, Kind
from streamres.model.cursor import EPOCH_BITS, Position, decode_cursor, encode_cursor
from streamres.model.decode import Utf8Decoder
from streamres.model.delta import Append, Delta, Patch, Snapshot, fold
from streamres.model.description import MIME_TYPES, Audience, Description, Entry
from streamres.model.log import SEALS, Head, Reading, Reset, ResourceLog, Seal, State
from streamres.model.producer import AppendNumber
from streamres.model.reassembler import Reassembler, Update
from streamres.model.retention import Retention

__all__ = [
    "KINDS",
    "MIME_TYPES",
    "EPOCH_BITS",
    "SEALS",
    "Append",
    "AppendNumber",
    "Audience",
    "Delta",
    "Description",
    "Entry",
    "Head",
    "Kind",
    "Patch",
    "Position",
    "Reading",
    "Reassembler",
    "Reset",
    "ResourceLog",
    "Retention",
    "Seal",
    "Snapshot",
    "State",
    "Update",
    "Utf8Decoder",
    "decode_cursor",
    "encode_cursor",
    "fold",
]
