"""Where resources live: the `Store` protocol and its backends."""

from streamres.store.base import Description, Entry, Kind, Store, Watch
from streamres.store.memory import MemoryStore

__all__ = ["Description", "Entry", "Kind", "MemoryStore", "Store", "Watch"]
