"""Bytes of any kind to UTF-8, with a code point that is cut by the end of a piece held back (SR-2.1)."""

from __future__ import annotations

import codecs


class Utf8Decoder:
    """Takes bytes as they come and gives valid UTF-8 of whole code points.

    What is not UTF-8 becomes U+FFFD, one for each maximal ill-formed part, and is counted.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self.replaced = 0
        """Bytes that were not UTF-8 so far."""

    def copy(self) -> Utf8Decoder:
        """Gives a decoder that goes on from here by itself."""
        twin = Utf8Decoder()
        twin._decoder.setstate(self._decoder.getstate())
        twin.replaced = self.replaced
        return twin

    @property
    def holds_back(self) -> bool:
        """Says whether a code point waits for its end."""
        return self.held_bytes > 0

    @property
    def held_bytes(self) -> int:
        """How many bytes wait for the end of their code point."""
        return len(self._decoder.getstate()[0])

    def decode(self, data: bytes, *, final: bool = False) -> bytes:
        """Gives what is whole of `data` and of what was held back; with `final` nothing is held back."""
        if not self.holds_back and data.isascii():
            return data
        text = self._decoder.decode(data, final)
        try:
            return text.encode("utf-8")
        except UnicodeEncodeError:
            raw = text.encode("utf-8", "surrogateescape")
            self.replaced += sum("\udc80" <= char <= "\udcff" for char in text)
            return raw.decode("utf-8", "replace").encode("utf-8")
