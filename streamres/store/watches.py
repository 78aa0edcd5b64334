"""Who watches what in one process, and is to be told."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamres.store.base import Watch, covering

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from streamres.model import Head


class Watches:
    """The open watches of one store; see `Store.watch`."""

    def __init__(self) -> None:
        self._of: defaultdict[str, set[Watch]] = defaultdict(set)
        self._of_list: set[Watch] = set()

    @contextmanager
    def watch(self, uris: Iterable[str], *, list_changed: bool = False) -> Iterator[Watch]:
        """Keeps a watch while the context lasts."""
        watch = Watch()
        watched = tuple(uris)
        for uri in watched:
            self._of[uri].add(watch)
        if list_changed:
            self._of_list.add(watch)
        try:
            yield watch
        finally:
            self._of_list.discard(watch)
            for uri in watched:
                watches = self._of[uri]
                watches.discard(watch)
                if not watches:
                    del self._of[uri]

    def __len__(self) -> int:
        return len(self._of) + len(self._of_list)

    def mark(self, uri: str, head: Head) -> None:
        """Marks a resource for those that watch it, or a prefix of it."""
        for covered_by in covering(uri):
            for watch in self._of.get(covered_by, ()):
                watch.mark(uri, head)

    def mark_list(self) -> None:
        """Marks the list for those that watch it."""
        for watch in self._of_list:
            watch.mark_list()
