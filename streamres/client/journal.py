"""The journal of a spool: JSON, a line each, appended; a line that was cut at the end of a process is none.

The first line says whose it is. `{"seq", "begin", "end"}` is an append, `{"kept"}` says up to where the bytes are
on the disk, `{"source"}` from which file they come.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

from streamres.client.backlog import Numbered
from streamres.client.segments import sync_folder
from streamres.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

FORMAT: Final = 1
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_SPARE_LINES: Final = 4096


class Journal:
    """What is known of a spool's bytes."""

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self._path = path
        self.about: dict[str, Any] = {"format": FORMAT, **about, "boot": _boot_id()}
        """The first line; `write` puts it into the file."""
        self.appends: list[Numbered] = []
        self.kept = 0
        """Up to where the bytes are on the disk, however the machine ends."""
        self.source: dict[str, int] | None = None
        """The regular file that the bytes come from, and where in it their offset 0 is."""
        self.found = False
        """Whether there was one."""
        self.same_boot = True
        """Whether the machine has not begun anew since."""
        self._fd = -1
        self._lines = 0
        self._read()
        self.rewrite()

    def add(self, append: Numbered) -> None:
        """Writes an append down."""
        self.appends.append(append)
        self._write({name: value for name, value in asdict(append).items() if value or name in _ALWAYS})

    def keep(self, end: int) -> None:
        """Writes down up to where the bytes are on the disk."""
        self.kept = end
        self._write({"kept": end})

    def come_from(self, source: dict[str, int]) -> None:
        """Writes down the file that the bytes come from."""
        self.source = source
        self._write({"source": source})

    def sync(self) -> None:
        """Returns when all of it is on the disk."""
        os.fdatasync(self._fd)

    @property
    def overgrown(self) -> bool:
        """Says whether most of it says nothing any more."""
        return self._lines > 2 * len(self.appends) + _SPARE_LINES

    def rewrite(self) -> None:
        """Writes it anew, without what says nothing any more."""
        lines: list[dict[str, Any]] = [self.about, {"kept": self.kept}]
        if self.source is not None:
            lines.append({"source": self.source})
        lines += [asdict(append) for append in list(self.appends)]  # others may remove some meanwhile
        temporary = self._path.with_suffix(".new")
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        _write_all(fd, b"".join(orjson.dumps(line) + b"\n" for line in lines))
        os.fdatasync(fd)
        temporary.replace(self._path)
        sync_folder(self._path.parent)
        self.close()
        self._fd, self._lines = fd, len(lines)

    def close(self) -> None:
        """Closes the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> None:
        try:
            lines = self._path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return
        except OSError as exc:
            raise StoreError(f"{self._path}: {exc.strerror}") from exc
        entries = _entries(lines)
        first = entries[0] if entries else {}
        if first.get("format") != FORMAT:
            raise StoreError(f"{self._path} is not the journal of a spool of this version; choose another folder")
        self._check(first)
        self.found = True
        self.same_boot = first["boot"] == self.about["boot"]
        self.about |= {"producer": first["producer"], "epoch": first["epoch"]}
        for entry in entries[1:]:
            match entry:
                case {"seq": _}:
                    self.appends.append(Numbered(**entry))
                case {"kept": end}:
                    self.kept = end
                case {"source": source}:
                    self.source = source

    def _check(self, first: Mapping[str, Any]) -> None:
        for name in ("uri", "kind", "producer"):
            asked = self.about[name]
            if asked is not None and first[name] != asked:
                raise StoreError(
                    f"{self._path.parent} is the spool of {name} {first[name]!r}, not of {asked!r};"
                    " give each push a folder of its own"
                )

    def _write(self, line: Mapping[str, Any]) -> None:
        _write_all(self._fd, orjson.dumps(line) + b"\n")
        self._lines += 1


_ALWAYS: Final = ("seq", "begin", "end")


def _entries(lines: Sequence[bytes]) -> list[dict[str, Any]]:
    """The lines up to the first that is none: what follows one that was cut was not written in order."""
    entries: list[dict[str, Any]] = []
    for line in lines:
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            break
        if not isinstance(entry, dict):
            break
        entries.append(entry)
    return entries


def _write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


def _boot_id() -> str | None:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None
