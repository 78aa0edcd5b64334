"""The client: read, listen and follow streamable resources of any MCP server that offers them."""

from streamres.client.client import Client, Subscription
from streamres.client.connection import Timeouts
from streamres.client.push import Producer
from streamres.client.wire import ListChanged, Listed, Updated

__all__ = ["Client", "ListChanged", "Listed", "Producer", "Subscription", "Timeouts", "Updated"]
