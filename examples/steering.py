"""A task that is steered while it works: its output names the message that led to it.

The client follows the output, and answers when it has seen the first finding. The tool learns from `basis` how
much its caller had seen by then; the reader learns from `causes` which part of the output answers the message.
"""

import asyncio

from streamres import Client, Server, Update
from streamres.tools import Context, Elicit

WISH = {"type": "object", "properties": {"wish": {"type": "string"}}, "required": ["wish"]}
server = Server("research")


@server.tool(task_after_s=0)
async def research(context: Context, topic: str) -> str:
    """Researches a topic, and can be told meanwhile what to look at."""
    notes = await context.text("notes", uri="research://1/notes")
    steering = asyncio.create_task(context.ask("wish-1", Elicit(message="What matters to you?", schema=WISH)))
    await notes.append(f"{topic}: there are three kinds\n")
    answer = await steering
    await notes.append(f"about {answer['content']['wish']}: the second kind\n", cause="wish-1")
    return f"answered one who had seen {'some of it' if context.basis else 'nothing'}"


async def main() -> None:
    """Serves, calls, follows and steers."""
    seen: list[Update] = []
    has_seen = asyncio.Event()

    async def follow(client: Client) -> None:
        async for update in client.follow("research://1/notes"):
            seen.append(update)
            has_seen.set()
            if update.text:
                print(f"because of {', '.join(update.causes) or 'the call'}: {update.text}", end="")

    async with server.serve(port=0) as url, Client(url) as client, asyncio.TaskGroup() as group:

        async def steer(requests: object) -> dict[str, object]:
            group.create_task(follow(client))
            await has_seen.wait()
            return {"wish-1": {"action": "accept", "content": {"wish": "cost"}}}

        result = await client.call_tool(
            "research",
            {"topic": "bridges"},
            tasks=True,
            capabilities={"elicitation": {}},
            on_input=steer,
            basis=lambda: seen[-1].cursor if seen else None,
        )
    print(result.text)


asyncio.run(main())
