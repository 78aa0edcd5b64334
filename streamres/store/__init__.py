"""Where resources live: the `Store` protocol and its backends."""

from streamres.model import Description, Entry, Kind
from streamres.store.base import Store, Watch, covering
from streamres.store.memory import MemoryStore

__all__ = ["Description", "Entry", "Kind", "MemoryStore", "Store", "Watch", "covering"]
