"""The suite's tools that become tasks, and the one that never does (SEP-2663)."""

from __future__ import annotations

from typing import Final

import anyio

from conformance.asking import NAME, filled_in, form
from streamres import RpcError, Server
from streamres.errors import ToolError
from streamres.tools import Context

INTERNAL_ERROR: Final = -32603


def offer_jobs(server: Server) -> None:
    """Offers jobs that end in each way there is."""

    @server.tool()
    async def greet(name: str) -> str:
        """Greets at once."""
        return f"Hello, {name}!"

    @server.tool(task_after_s=0)
    async def slow_compute(seconds: float, label: str) -> str:
        """Takes its time."""
        await anyio.sleep(seconds)
        return f"{label}: computed for {seconds:g} s."

    @server.tool(task_required=True)
    async def failing_job() -> str:
        """Fails after a while."""
        await anyio.sleep(1)
        raise ToolError("This job always fails.")

    @server.tool(task_after_s=0)
    async def protocol_error_job() -> str:
        """Ends with an error of the protocol."""
        raise RpcError(INTERNAL_ERROR, "This job breaks.")


def offer_asking_jobs(server: Server) -> None:
    """Offers jobs that ask while they are tasks, or before."""

    @server.tool(task_after_s=0)
    async def confirm_delete(context: Context, filename: str) -> str:
        """Asks the user before it goes on."""
        answer = await context.ask("confirm", form(f"Delete {filename}?", confirm="boolean"))
        return f"{filename} was {'deleted' if filled_in(answer, 'confirm') else 'kept'}."

    @server.tool(task_after_s=0)
    async def multi_input(context: Context) -> str:
        """Asks two things at once."""
        answers = await context.ask_all({"name": NAME, "confirm": form("Go on?", confirm="boolean")})
        name, confirm = filled_in(answers["name"], "name"), filled_in(answers["confirm"], "confirm")
        return f"{name} {'goes on' if confirm else 'stops'}."

    @server.tool()
    async def test_tool_with_task(context: Context) -> str:
        """Asks for a name, and greets it as a task."""
        name = filled_in(await context.ask("user_name", NAME), "name")
        await context.become_task()
        return f"Hello, {name}!"
