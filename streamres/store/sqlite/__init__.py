"""The store in one file."""

from streamres.store.sqlite.store import SqliteStore
from streamres.store.sqlite.verify import verify

__all__ = ["SqliteStore", "verify"]
