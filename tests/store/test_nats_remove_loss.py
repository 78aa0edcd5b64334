"""A removal over NATS while a server is cut off, or does not hear the answer to what it wrote."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import pytest
from requirement import requirement

from streamres.errors import ResourceNotFound, StoreError

from .scene import OTHER, URI, content, described, uris
from .test_nats_loss import Scene, scene, until_same
from .test_nats_remove import until_gone


async def until_same_list(at: Scene) -> None:
    while await at.far.list(limit=9) != await at.near.list(limit=9):
        await anyio.sleep(0.005)


async def gone(at: Scene) -> bytes | None:
    await at.near.remove(URI)
    return None


async def gone_and_made_again(at: Scene) -> bytes | None:
    await at.near.remove(URI)
    await at.near.append(URI, b"again\n", create=described(URI))
    return b"again\n"


async def gone_made_again_and_rolled_up(at: Scene) -> bytes | None:
    """No message is left that says that it was removed."""
    await gone_and_made_again(at)
    for _ in range(20):
        await at.near.append(URI, b"more\n" * 100)
    await at.near.replace(URI, b"new\n")
    await at.near.append(URI, b"end\n")  # not before what there was is rolled up
    assert await at.messages_left() <= 3
    return b"new\nend\n"


AWAY = [gone, gone_and_made_again, gone_made_again_and_rolled_up]


@requirement("SR-4.2.a")
@pytest.mark.parametrize("meanwhile", AWAY)
async def test_a_server_that_was_cut_off_meanwhile_finds_what_there_is(
    meanwhile: Callable[[Scene], Awaitable[bytes | None]],
) -> None:
    with anyio.fail_after(30):
        async with scene() as at:
            await at.near.create(described(OTHER))
            await until_same_list(at)
            with at.far.watch([URI], list_changed=True) as watch:
                at.link.cut()
                expected = await meanwhile(at)
                await at.link.mend()
                while not watch.take_list_changed():
                    await watch.wait()
                    watch.take()
            await until_same_list(at)

            for store in (at.near, at.far):
                if expected is None:
                    with pytest.raises(ResourceNotFound):
                        await store.read(URI)
                    assert await uris(store) == [OTHER]
                else:
                    assert await content(store) == expected
                    assert await uris(store) == [OTHER, URI]
            if expected is not None:
                await at.near.append(URI, b"on")
                await at.far.append(URI, b" and on")
                await until_same(at.near, at.far)
                assert await content(at.near) == expected + b"on and on"


@requirement("S1")
@pytest.mark.parametrize("made_again", [False, True], ids=["and nothing follows", "and it is made again"])
async def test_a_removal_whose_acknowledgement_is_lost_is_made_once(made_again: bool) -> None:
    with anyio.fail_after(30):
        async with scene() as at:
            async with anyio.create_task_group() as tasks:
                before = await at.messages()
                at.link.is_deaf = True
                tasks.start_soon(at.far.remove, URI)
                await at.until_more_than(before)
                at.link.cut()
                await until_gone(at.near)
                if made_again:
                    await at.near.append(URI, b"again\n", create=described(URI))
                await at.link.mend()

            await until_same_list(at)
            assert await uris(at.far) == ([URI] if made_again else [])
            assert await at.messages() == before + 1 + made_again


@requirement("S1")
async def test_who_lost_the_answer_to_an_append_and_finds_a_removal_is_told_that_nobody_knows() -> None:
    """The message that was kept is gone with the resource, and nothing remembers its name."""
    with anyio.fail_after(10):
        async with scene() as at:
            refused: list[str] = []

            async def append() -> None:
                with pytest.raises(StoreError, match="whether it was kept is not known") as caught:
                    await at.far.append(URI, b"once\n")
                refused.append(str(caught.value))

            async with anyio.create_task_group() as tasks:
                before = await at.messages()
                at.link.is_deaf = True
                tasks.start_soon(append)
                await at.until_more_than(before)
                at.link.cut()
                while await content(at.near) != b"before\nonce\n":
                    await anyio.sleep(0.005)
                await at.near.remove(URI)
                await at.link.mend()

            assert len(refused) == 1
            await until_same_list(at)
            for store in (at.near, at.far):
                with pytest.raises(ResourceNotFound):
                    await store.append(URI, b"x")
