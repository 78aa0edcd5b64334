"""Real NATS servers with JetStream in files: one, or a cluster of three whose members can be killed."""

from __future__ import annotations

import json
import socket
import subprocess
import sysconfig
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal
from urllib.error import URLError
from urllib.request import urlopen

import nats

PROGRAM = Path(sysconfig.get_path("scripts")) / "nats-server"
READY_S = 30.0

_names = count()


_shared = ExitStack()
_addresses: dict[str, str] = {}


def shared(which: Literal["single", "cluster"]) -> str:
    """Gives the address of one that all tests share, started for the first of them."""
    if which not in _addresses:
        servers = [_shared.enter_context(single())] if which == "single" else _shared.enter_context(cluster())
        _addresses[which] = address(servers)
    return _addresses[which]


@asynccontextmanager
async def empty_stream(which: Literal["single", "cluster"]) -> AsyncIterator[str]:
    """Gives the address of a stream that is not there yet, and removes it afterwards."""
    name = f"store-{next(_names)}"
    servers = shared(which)
    try:
        yield f"{servers}/{name}"
    finally:
        async with await nats.connect(servers.split(",")) as client:
            await client.jetstream().delete_stream(name)


def end_shared() -> None:
    _addresses.clear()
    _shared.close()


def address(servers: Sequence[NatsServer]) -> str:
    return "nats://" + ",".join(server.url for server in servers)


class NatsServer:
    """One server, on ports and in a folder of its own, that can be killed and started again."""

    def __init__(self, folder: Path, port: int, http_port: int, config: str = "") -> None:
        self.port = port
        self._http_port = http_port
        self._config = folder / "nats.conf"
        self._config.write_text(
            f'listen: "127.0.0.1:{port}"\nhttp: "127.0.0.1:{http_port}"\n'
            f'jetstream {{ store_dir: "{folder}/js" }}\n{config}'
        )
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(
            [PROGRAM, "-c", self._config],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        """Ends it with SIGKILL."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def url(self) -> str:
        return f"127.0.0.1:{self.port}"

    def wait_until_ready(self) -> None:
        """Returns once it has all that it takes to serve a stream."""
        until = time.monotonic() + READY_S
        while not self._is_ready():
            assert self._process is not None
            assert self._process.poll() is None, f"{PROGRAM} ended"
            assert time.monotonic() < until, "no NATS server"
            time.sleep(0.02)  # nothing tells that a process listens; it is asked again and again

    def _is_ready(self) -> bool:
        try:
            with urlopen(f"http://127.0.0.1:{self._http_port}/healthz", timeout=5) as answer:
                return bool(json.load(answer)["status"] == "ok")
        except (URLError, OSError):
            return False


def _free_ports(number: int) -> list[int]:
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(number)]
        return [sock.getsockname()[1] for sock in taken]


@contextmanager
def single(config: str = "") -> Iterator[NatsServer]:
    """Runs one server while the context lasts."""
    with TemporaryDirectory(prefix="nats-", ignore_cleanup_errors=True) as folder:
        server = NatsServer(Path(folder), *_free_ports(2), config)
        server.start()
        try:
            server.wait_until_ready()
            yield server
        finally:
            server.kill()


@contextmanager
def cluster() -> Iterator[list[NatsServer]]:
    """Runs three servers that are one cluster while the context lasts."""
    with TemporaryDirectory(prefix="nats-", ignore_cleanup_errors=True) as folder:
        ports = _free_ports(9)
        routes = ", ".join(f'"nats://127.0.0.1:{port}"' for port in ports[6:])
        servers = []
        for index in range(3):
            (home := Path(folder) / str(index)).mkdir()
            config = (
                f'server_name: "n{index}"\n'
                f'cluster {{ name: "c", listen: "127.0.0.1:{ports[6 + index]}", routes: [{routes}] }}\n'
            )
            servers.append(NatsServer(home, ports[index], ports[3 + index], config))
        try:
            for server in servers:
                server.start()
            for server in servers:
                server.wait_until_ready()
            yield servers
        finally:
            for server in servers:
                server.kill()
