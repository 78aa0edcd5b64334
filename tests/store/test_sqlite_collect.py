"""A file is made to keep less: what is sealed goes, the oldest first, and the disk has the space back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import pytest
from cli.program import streamres

from streamres.errors import ResourceNotFound, StoreError
from streamres.model import Description
from streamres.store.sqlite import SqliteStore, verify

from .scene import content, text_of, uris

if TYPE_CHECKING:
    from pathlib import Path

DAY_S = 86_400.0
BYTES = 400_000


async def filled(path: Path) -> None:
    """Six logs, one a day; all but the fourth are sealed, the first a second time on the last day."""
    now = 0.0
    async with SqliteStore.open(path, clock=lambda: now) as store:
        for day in range(6):
            now = day * DAY_S
            uri = f"build://{day}/log"
            await store.create(Description(uri=uri, name="log"))
            await store.append(uri, b"%d" % day * BYTES, seal=None if day == 3 else "complete")
        await store.append("build://0/log", b"", seal="complete")


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        ({"keep_s": 10 * DAY_S}, [0, 1, 2, 3, 4, 5]),
        ({"keep_s": 3.5 * DAY_S}, [2, 3, 4, 5]),
        ({"keep_s": 0.0}, [3, 5]),
        ({"keep_bytes": 10 * BYTES}, [0, 1, 2, 3, 4, 5]),
        ({"keep_bytes": 3.5 * BYTES}, [3, 4, 5]),
        ({"keep_bytes": 0}, [3]),
        ({"keep_s": 4.5 * DAY_S, "keep_bytes": 4.5 * BYTES}, [2, 3, 4, 5]),
    ],
)
async def test_what_is_sealed_goes_by_age_and_then_until_the_rest_fits(
    tmp_path: Path, keep: dict[str, float], left: list[int]
) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    before = path.stat().st_size

    async with SqliteStore.open(path, clock=lambda: 5 * DAY_S) as store:
        removed = await store.collect(**keep)  # type: ignore[arg-type]

        assert await uris(store) == [f"build://{day}/log" for day in left]
        assert removed == [f"build://{day}/log" for day in range(6) if day not in left]
        for day in left:
            assert await content(store, f"build://{day}/log") == b"%d" % day * BYTES
        for uri in removed:
            with pytest.raises(ResourceNotFound):
                await store.read(uri)
        assert path.stat().st_size <= before - len(removed) * BYTES
        await store.append("build://3/log", b"and on")
    assert list(verify(path)) == []


async def test_those_who_watch_the_list_are_told_and_a_slow_reader_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    async with SqliteStore.open(path) as store, SqliteStore.open(path) as other:
        slices = (await other.read("build://1/log")).step.slices()  # type: ignore[union-attr]
        first = next(slices)
        with other.watch([], list_changed=True) as watch, anyio.fail_after(5):
            await store.collect(keep_s=0.0)
            await watch.wait()
            assert watch.take_list_changed()

        with pytest.raises(StoreError, match="removed while it was read"):
            list(slices)
        assert set(first) == set(b"1")
        again = await other.create(Description(uri="build://1/log", name="log"), b"another")
        assert text_of(await store.read("build://1/log")) == b"another"
        assert again.position.revision == 0


async def test_a_server_goes_on_while_it_is_collected(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)
    async with SqliteStore.open(path) as store, SqliteStore.open(path) as other:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: other.collect(keep_s=0.0))
            for count in range(100):
                await store.append("build://3/log", b"%d " % count)
        assert (await content(store, "build://3/log")).endswith(b"98 99 ")
        assert await uris(store) == ["build://3/log"]
    assert list(verify(path)) == []


async def test_the_command_writes_what_it_removed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    await filled(path)

    nothing = streamres("gc", str(path))
    wrong = streamres("gc", str(path), "--keep", "3 days")
    some = streamres("gc", f"sqlite:{path}", "--keep-bytes", "1.5MB")
    rest = streamres("gc", str(path), "--keep", "30d")
    missing = streamres("gc", str(tmp_path / "none"), "--keep", "1d")

    assert b"give --keep or --keep-bytes" in nothing.stderr
    assert b"does not look like 30d" in wrong.stderr
    assert (nothing.returncode, wrong.returncode, missing.returncode) == (2, 2, 1)
    assert some.stdout.split() == [b"build://0/log", b"build://1/log", b"build://2/log"]
    assert rest.stdout.split() == [b"build://4/log", b"build://5/log"]
    assert not (tmp_path / "none").exists()
