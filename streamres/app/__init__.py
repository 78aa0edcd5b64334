"""The server that people use: a store, the methods over it, and the transport, put together."""

from streamres.app.server import Server

__all__ = ["Server"]
