"""Who may talk to a server on this machine: the defence against DNS rebinding and foreign pages.

A page that was lured here by a rebound name still sends that name as `Host`, so only names that are known to
mean this server pass, and addresses, which cannot be rebound. A page of another site sends its own `Origin`.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Collection


class Guard:
    """Checks `Host` and `Origin`; `allowed_hosts` are names, without port, that mean this server."""

    def __init__(self, allowed_hosts: Collection[str] = ()) -> None:
        self._names = {"localhost", *(name.lower() for name in allowed_hosts)}
        self._passed: tuple[bytes | None, bytes | None] | None = None

    def refusal(self, host: bytes | None, origin: bytes | None) -> str | None:
        """Gives why the request is refused, None where it may pass."""
        if self._passed == (host, origin):
            return None
        if not self._is_this_server(host):
            return f"the Host {_shown(host)} is not served here; the server can be started with it allowed"
        if origin is not None and not self._is_near(origin, host):
            return f"a page of the Origin {_shown(origin)} may not use this server"
        self._passed = (host, origin)
        return None

    def _is_this_server(self, host: bytes | None) -> bool:
        name = _host_name(b"//" + (host or b""))
        return name in self._names or _address(name) is not None

    def _is_near(self, origin: bytes, host: bytes | None) -> bool:
        name = _host_name(origin)
        address = _address(name)
        same = origin.partition(b"://")[2] == host
        return same or name in self._names or (address is not None and address.is_loopback)


def _host_name(url: bytes) -> str:
    try:
        return urlsplit(url.decode("latin-1")).hostname or ""
    except ValueError:
        return ""


def _address(name: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(name)
    except ValueError:
        return None


def _shown(value: bytes | None) -> str:
    return "(none)" if value is None else repr(value.decode("latin-1")[:200])
