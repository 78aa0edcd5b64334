"""Three servers over a NATS cluster behind a plain round robin: any answers any cursor, and one can be killed."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from cli.program import TIMEOUT_S, Live, line_of, live, started, streamres, written
from requirement import requirement
from store.nats_server import address, cluster

CONFIG = Path(__file__).parents[2] / "examples" / "replicas" / "nginx.conf"
NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin")
LINES = 60


@contextmanager
def round_robin(folder: Path, servers: list[Live], port: int) -> Iterator[str]:
    """The example's own nginx, on other ports."""
    assert NGINX is not None
    text = CONFIG.read_text().replace("8770", str(port))
    for example, server in zip(("8771", "8772", "8773"), servers, strict=True):
        text = text.replace(example, str(server.port))
    (folder / "nginx.conf").write_text(text)
    command = [NGINX, "-p", str(folder), "-c", "nginx.conf", "-g", "daemon off;"]
    with subprocess.Popen(command, stderr=subprocess.PIPE) as nginx:
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            nginx.terminate()


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    with cluster() as servers:
        yield address(servers)


@requirement("SR-4.2.a")
@requirement("C3")
@pytest.mark.skipif(NGINX is None, reason="there is no nginx here: apt-get install nginx-light")
def test_a_log_is_pushed_and_followed_through_any_of_three_and_one_is_killed(
    store: str, tmp_path: Path, free_port: int
) -> None:
    expected = b"".join(b"%03d \xc3\xa9\n" % number for number in range(LINES))
    with ExitStack() as stack:
        servers = [
            stack.enter_context(live("serve", "--port", "0", "--store", f"{store}/replicas")) for _ in range(3)
        ]
        url = stack.enter_context(round_robin(tmp_path, servers, free_port))
        push = stack.enter_context(started("push", url, "build://7/log"))
        tail = stack.enter_context(started("tail", url))
        shown = b""
        for number, line in enumerate(expected.splitlines(keepends=True)):
            if number == LINES // 2:
                servers[0].process.kill()
            written(push, line)
            shown += line_of(tail)
        push.communicate(timeout=TIMEOUT_S)
        rest, said = tail.communicate(timeout=TIMEOUT_S)

        assert (push.returncode, tail.returncode, shown + rest) == (0, 0, expected)
        assert not re.search("another one", said.decode()), "no reset"
        for server in servers[1:]:
            assert streamres("tail", server.url, "build://7/log").stdout == expected
