"""The form in which a digest is told (SR-3.4, RFC 9530)."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import _Hash


def digest_of(sha: _Hash) -> str:
    """Gives `sha-256=:BASE64:` for what a SHA-256 hash was given so far."""
    return f"sha-256=:{b64encode(sha.digest()).decode()}:"
