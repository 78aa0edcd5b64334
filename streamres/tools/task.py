"""What is kept of a task, in the store of the resources: its record, and what its client wants of it.

The record is a text, the JSON of the task, replaced at each change and sealed at the end; only the server that
runs the task writes it. What a client wants, whichever server it asks, is a line in a second text, which that
server watches. Neither is listed. A record that is sealed `aborted` is of a server that is gone.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

import orjson

from streamres.errors import InvalidParams, ResourceNotFound, ResourceSealed, StoreError
from streamres.model import Description, Snapshot
from streamres.protocol.error_codes import INTERNAL_ERROR
from streamres.tools.asking import answers, request_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from streamres.limits import Limits
    from streamres.sources.resource import Resource
    from streamres.store import Store
    from streamres.tools.asking import Question
    from streamres.tools.outputs import Lease
    from streamres.tools.work import Work

logger = logging.getLogger("streamres.tools")

POLL_INTERVAL_MS: Final = 1_000
"""What clients that poll are told to wait; who listens hears at once."""

AGAIN_S: Final = 1.0
"""Seconds after which a store is read again that could not be."""


@dataclass(frozen=True, slots=True)
class Known:
    """A task as the store has it."""

    task: Mapping[str, Any]
    """MCP's `DetailedTask`."""
    outputs: tuple[str, ...]
    """The URIs of its outputs."""


class TaskRecord:
    """The record of a task that this server runs."""

    def __init__(self, store: Store, limits: Limits, work: Work, lease: Lease | None) -> None:
        self.id = work.id
        self.uri = record_uri(work.id)
        self._wants_uri = wants_uri(work.id)
        self.uris = (self.uri, self._wants_uri)
        """What is kept of it."""
        self._store = store
        self._limits = limits
        self._work = work
        self._created = datetime.now(UTC)
        self._state: dict[str, Any] = {"status": "working"}
        self._message: str | None = None
        self._outputs = work.outputs.uris
        self._ttl_ms = round((work.seconds + limits.task_ttl_s) * 1000)
        self._questions: dict[str, Question] = {}
        self._answered: dict[str, asyncio.Future[Any]] = {}
        self._heard = 0
        self._writing = asyncio.Lock()
        self._lease = lease
        self._leases = ExitStack()
        self._hearing: asyncio.Task[None] | None = None

    async def create(self) -> dict[str, Any]:
        """Keeps the record, and gives the task; from here on every server knows of it."""
        await self._store.create(_description(self._wants_uri))
        await self._store.create(_description(self.uri), self._encoded())
        if self._lease is not None:
            self._leases.enter_context(self._lease(self.uri))
        self._hearing = asyncio.create_task(self._hear())
        return self._task()

    async def named(self, output: Resource) -> None:
        """Adds an output."""
        self._outputs.append(output.uri)
        await self._write()

    async def working(self, message: str) -> None:
        """Says in words how far the task is."""
        self._message = message
        await self._write()

    async def ask(self, questions: Mapping[str, Question]) -> dict[str, Any]:
        """Asks the client, and waits for all the responses."""
        loop = asyncio.get_running_loop()
        for key, question in questions.items():
            self._questions[key] = question
            self._answered[key] = loop.create_future()
        await self._write()
        try:
            return {key: await self._answered[key] for key in questions}
        finally:
            for key in questions:
                self._questions.pop(key, None)
                self._answered.pop(key).cancel()

    async def end(self, state: Mapping[str, Any]) -> None:
        """Keeps how it ended, for `Limits.task_ttl_s` from now on."""
        if self._hearing is not None:
            self._hearing.cancel()
        self._state = dict(state)
        self._questions = {}
        age_s = (datetime.now(UTC) - self._created).total_seconds()
        self._ttl_ms = round((age_s + self._limits.task_ttl_s) * 1000)
        await self._write()
        for uri in self.uris:
            with suppress(ResourceSealed, ResourceNotFound):
                await self._store.append(uri, b"", seal="complete")
        self._leases.close()

    async def _write(self) -> None:
        async with self._writing:
            await self._store.replace(self.uri, self._encoded())

    def _encoded(self) -> bytes:
        return orjson.dumps({"task": self._task(), "outputs": self._outputs})

    def _task(self) -> dict[str, Any]:
        task: dict[str, Any] = {
            "taskId": self.id,
            **self._state,
            "createdAt": _iso(self._created),
            "lastUpdatedAt": _iso(datetime.now(UTC)),
            "ttlMs": self._ttl_ms,
            "pollIntervalMs": POLL_INTERVAL_MS,
        }
        if self._questions:
            task["status"] = "input_required"
            task["inputRequests"] = {key: request_of(question) for key, question in self._questions.items()}
        if self._message is not None and "statusMessage" not in task:
            task["statusMessage"] = self._message
        return task

    async def _hear(self) -> None:
        """Hears what clients want, and does it, whatever goes wrong meanwhile."""
        while True:
            try:
                await self._hear_on()
            except StoreError as exc:
                logger.error("what is wanted of task %s cannot be read: %s", self.id, exc)
                await asyncio.sleep(AGAIN_S)

    async def _hear_on(self) -> None:
        with self._store.watch([self._wants_uri]) as watch:
            while True:
                step = (await self._store.read(self._wants_uri)).step
                assert isinstance(step, Snapshot)
                lines = b"".join(step.slices()).split(b"\n")[:-1]
                for line in lines[self._heard :]:
                    self._heard += 1
                    await self._do(orjson.loads(line))
                await watch.wait()
                watch.take()

    async def _do(self, wanted: Mapping[str, Any]) -> None:
        if wanted.get("cancel"):
            # In a task of its own: the end of the work ends this one.
            self._cancelling = asyncio.create_task(self._work.cancel())
            return
        answered = False
        for key, response in wanted["responses"].items():
            question = self._questions.get(key)
            if question is not None and answers(question, response) and not self._answered[key].done():
                self._answered[key].set_result(response)
                del self._questions[key]
                answered = True
        if answered:
            self._work.context.basis = wanted.get("basis") or self._work.context.basis
            await self._write()


def record_uri(task_id: str) -> str:
    """Gives the URI of a task's record."""
    return f"task:{task_id}"


def wants_uri(task_id: str) -> str:
    """Gives the URI of what clients want of a task."""
    return f"task:{task_id}/wants"


async def look_up(store: Store, task_id: object) -> Known:
    """Gives what is known of a task.

    Raises:
        InvalidParams: there is none of this id, or its time is over.
    """
    unknown = InvalidParams("params.taskId is not that of a task that is known here", reason="unknown_task")
    if not isinstance(task_id, str) or not task_id.replace("-", "").replace("_", "").isalnum():
        raise unknown
    try:
        reading = await store.read(record_uri(task_id))
    except ResourceNotFound as exc:
        raise unknown from exc
    assert isinstance(reading.step, Snapshot)
    kept = orjson.loads(b"".join(reading.step.slices()))
    task = kept["task"]
    ended_s = datetime.fromisoformat(task["createdAt"]).timestamp() + task["ttlMs"] / 1000
    if datetime.now(UTC).timestamp() > ended_s:
        raise unknown
    if reading.state == "aborted":
        task = {key: value for key, value in task.items() if key not in ("inputRequests", "statusMessage")}
        task["status"] = "failed"
        task["error"] = {"code": INTERNAL_ERROR, "message": "the server ended while the task was at work"}
    return Known(task, tuple(kept["outputs"]))


async def want(store: Store, task_id: str, wanted: Mapping[str, Any]) -> None:
    """Lets the server that runs the task know what its client wants; nothing where the task has ended."""
    with suppress(ResourceSealed, ResourceNotFound):
        await store.append(wants_uri(task_id), orjson.dumps(wanted) + b"\n")


def _description(uri: str) -> Description:
    return Description(uri=uri, name="task", mime_type="application/json", listed=False)


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
