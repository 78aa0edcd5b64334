"""Whoever watches a file is told what changes in it, by this program or another, and never backwards (SR-6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from streamres.store.sqlite.rows import COLUMNS, row_of
from streamres.store.sqlite.schema import as_it_is, explained

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from streamres.store.sqlite.books import News
    from streamres.store.watches import Watches


class Lookout:
    """Marks changes for the watches of one store, by its connection that reads."""

    def __init__(self, db: sqlite3.Connection, path: Path, watches: Watches) -> None:
        self._db = db
        self._path = path
        self._watches = watches
        self._seen, self._list_seen = self._counted()
        self._version = self._data_version()

    def told(self, news: News) -> None:
        """Hears from the writer, in the loop, what a batch changed.

        What `find_news` found before is not marked again: it may have found later heads, and marks do not go back.
        """
        if news.change > self._seen:
            if news.change == self._seen + 1:
                self._seen = news.change
            for uri, head in news.heads.items():
                self._watches.mark(uri, head)
        if news.list_change > self._list_seen:
            if news.list_change == self._list_seen + 1:
                self._list_seen = news.list_change
            self._watches.mark_list()

    def find_news(self) -> None:
        """Marks what other programs have written since the last look."""
        with explained(self._path), as_it_is(self._db):
            if (version := self._data_version()) == self._version:
                return
            _, list_change = self._counted()
            rows = self._db.execute(
                f"SELECT {COLUMNS} FROM resource WHERE change > ? ORDER BY change", (self._seen,)
            ).fetchall()
        self._version = version
        for values in rows:
            row = row_of(values)
            self._seen = row.change
            self._watches.mark(row.description.uri, row.head)
        if list_change > self._list_seen:
            self._list_seen = list_change
            self._watches.mark_list()

    def _data_version(self) -> int:
        return int(self._db.execute("PRAGMA data_version").fetchone()[0])

    def _counted(self) -> tuple[int, int]:
        """The numbers of the newest change of a resource and of the list."""
        counted = dict(self._db.execute("SELECT name, value FROM counter").fetchall())
        return counted["change"], counted["list"]
