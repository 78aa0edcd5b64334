"""A store over NATS is opened by its address; a stream that would forget, or has forgotten, is refused."""

from __future__ import annotations

import subprocess
import sys

import anyio
import nats
import pytest
from nats.js.api import DiscardPolicy, StreamConfig
from requirement import requirement

from streamres.errors import StoreError
from streamres.limits import Limits
from streamres.store.nats import NatsStore
from streamres.store.nats.address import Address
from streamres.store.opening import open_store

from .nats_work import opened
from .scene import URI, content, described, uris


def test_an_address_names_servers_and_a_stream_and_hides_passwords() -> None:
    whole = Address.parse("nats://user:secret@a:1,b:2/logs")

    assert whole == Address(servers=("nats://user:secret@a:1", "nats://b:2"), stream="logs")
    assert Address.parse("nats://a:1").stream == "streamres"
    assert "secret" not in whole.shown
    for wrong in ("nats:a", "nats://", "nats:///logs", "nats://a/b.c", "nats://u:secret@a/b c"):
        with pytest.raises(StoreError) as caught:
            Address.parse(wrong)
        assert "secret" not in str(caught.value)


async def test_a_store_is_opened_by_its_address(address: str) -> None:
    async with open_store(address, Limits()) as store:
        await store.create(described(URI))
        assert await uris(store) == [URI]


async def test_where_nobody_listens_the_address_is_named(free_port: int) -> None:
    with anyio.fail_after(10), pytest.raises(StoreError, match=f"127.0.0.1:{free_port}/streamres: .*"):
        async with NatsStore.open(f"nats://127.0.0.1:{free_port}", open_s=0.2):
            pass


def test_without_nats_py_everything_else_imports_and_the_store_says_how_to_get_it() -> None:
    code = (
        "import sys; sys.modules['nats'] = None\n"
        "import anyio, streamres\n"
        "from streamres.store.opening import open_store\n"
        "async def main():\n"
        "    async with open_store('nats://127.0.0.1:1', streamres.Limits()): pass\n"
        "try: anyio.run(main)\n"
        "except streamres.StreamresError as exc: print(exc)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)

    assert "pip install 'streamres[nats]'" in done.stdout


async def test_a_stream_that_would_forget_is_refused(address: str) -> None:
    servers, _, name = address.rpartition("/")
    async with await nats.connect(servers) as client:
        subjects = Address.parse(address).subjects
        await client.jetstream().add_stream(
            StreamConfig(
                name=name, subjects=subjects, max_age=60.0, allow_rollup_hdrs=True, discard=DiscardPolicy.NEW
            )
        )

    with pytest.raises(StoreError, match="max_age"):
        async with NatsStore.open(address):
            pass


@requirement("SR-5.5.b")
async def test_where_a_message_was_removed_nothing_is_served_in_its_place(address: str) -> None:
    servers, _, name = address.rpartition("/")
    async with opened(address, 1) as (store,):
        for data in (b"a", b"b", b"c"):
            await store.append(URI, data, create=described(URI))
        async with await nats.connect(servers) as client:
            await client.jetstream().delete_msg(name, 2)

        assert await content(store) == b"abc"
        with pytest.raises(StoreError, match="messages were removed"):
            async with NatsStore.open(address):
                pass
