"""A real TCP proxy that cuts connections, after a number of bytes towards the reader or when it is told to."""

from __future__ import annotations

import socket
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Lock, Thread


class CuttingProxy:
    """Each new connection carries as many bytes to the reader as the next of `budgets` says, then is cut."""

    def __init__(self, target_port: int, budgets: Iterable[int]) -> None:
        self._target = ("127.0.0.1", target_port)
        self._budgets = iter(budgets)
        self._lock = Lock()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        self.cuts = 0
        self.carried = 0
        """Bytes that went towards the reader."""
        Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/mcp"

    def close(self) -> None:
        self._server.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                reader, _ = self._server.accept()
                try:
                    server = socket.create_connection(self._target)
                except OSError:
                    reader.close()
                    continue
                with self._lock:
                    budget = next(self._budgets, None)
                Thread(target=self._carry, args=(reader, server, budget), daemon=True).start()

    def _carry(self, reader: socket.socket, server: socket.socket, budget: int | None) -> None:
        with reader, server:
            upwards = Thread(target=self._up, args=(reader, server), daemon=True)
            upwards.start()
            self._down(server, reader, budget)
            for end in (server, reader):
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
            upwards.join()

    def _up(self, reader: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := reader.recv(65536):
                server.sendall(data)
        with suppress(OSError):
            server.shutdown(socket.SHUT_WR)

    def _down(self, server: socket.socket, reader: socket.socket, budget: int | None) -> None:
        with suppress(OSError):
            while budget is None or budget > 0:
                data = server.recv(65536 if budget is None else min(budget, 65536))
                if not data:
                    break
                reader.sendall(data)
                with self._lock:
                    self.carried += len(data)
                if budget is not None:
                    budget -= len(data)
            else:
                with self._lock:
                    self.cuts += 1


@contextmanager
def cutting(target_port: int, budgets: Iterable[int]) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(target_port, budgets)
    try:
        yield proxy
    finally:
        proxy.close()
