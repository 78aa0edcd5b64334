"""A server in front of any MCP server with tools: what they put out while they work is kept (SR-11.2)."""

from streamres.bridge.bridge import Bridge

__all__ = ["Bridge"]
