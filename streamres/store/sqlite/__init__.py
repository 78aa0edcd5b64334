"""The store in one file."""

from streamres.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
