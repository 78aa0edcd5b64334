"""What a streamable resource is: positions, deltas, history, reassembly. Pure: no I/O, no clock, no chance."""

from streamres.model.causes import MAX_CAUSE_CHARS, Causes, Run
from streamres.model.content import BLOCK_BYTES, KINDS, BlobContent, Kind, TextContent
from streamres.model.cursor import EPOCH_BITS, Position, decode_cursor, encode_cursor
from streamres.model.decode import Utf8Decoder
from streamres.model.delta import Append, Delta, Patch, Snapshot, fold
from streamres.model.description import MIME_TYPES, Audience, Description, Entry
from streamres.model.document import Document
from streamres.model.json_content import JsonContent
from streamres.model.json_value import JsonValue, encode_json, parse_json
from streamres.model.log import SEALS, Head, Reading, Reset, ResourceLog, Seal, State
from streamres.model.operations import Operations
from streamres.model.producer import WINDOW, AppendNumber, Producers, ProducerStanding
from streamres.model.reassembler import Reassembler, Update
from streamres.model.retention import Retention
from streamres.model.revisions import Revisions

__all__ = [
    "Append",
    "AppendNumber",
    "Audience",
    "BLOCK_BYTES",
    "BlobContent",
    "Causes",
    "Delta",
    "Description",
    "Document",
    "EPOCH_BITS",
    "Entry",
    "Head",
    "JsonContent",
    "JsonValue",
    "KINDS",
    "Kind",
    "MAX_CAUSE_CHARS",
    "MIME_TYPES",
    "Operations",
    "Patch",
    "Position",
    "ProducerStanding",
    "Producers",
    "Reading",
    "Reassembler",
    "Reset",
    "ResourceLog",
    "Retention",
    "Revisions",
    "Run",
    "SEALS",
    "Seal",
    "Snapshot",
    "State",
    "TextContent",
    "Update",
    "Utf8Decoder",
    "WINDOW",
    "decode_cursor",
    "encode_cursor",
    "encode_json",
    "fold",
    "parse_json",
]
