"""Output of a tool, a build or an agent, while it is still working, as MCP resources with revisions."""

from streamres.app import Server
from streamres.client import Client, ListChanged, Listed, Producer, Subscription, Timeouts, Updated
from streamres.errors import (
    ConnectionLost,
    CursorInvalid,
    DeltaError,
    DigestMismatch,
    LimitExceeded,
    ProtocolError,
    ResourceError,
    ResourceExists,
    ResourceNotFound,
    ResourceSealed,
    RpcError,
    StreamresError,
)
from streamres.limits import Limits
from streamres.model import Update
from streamres.sources.resource import Resource

__all__ = [
    "Client",
    "ConnectionLost",
    "CursorInvalid",
    "DeltaError",
    "DigestMismatch",
    "Limits",
    "ListChanged",
    "Listed",
    "LimitExceeded",
    "Producer",
    "ProtocolError",
    "Resource",
    "ResourceError",
    "ResourceExists",
    "ResourceNotFound",
    "ResourceSealed",
    "RpcError",
    "Server",
    "StreamresError",
    "Subscription",
    "Timeouts",
    "Update",
    "Updated",
]
