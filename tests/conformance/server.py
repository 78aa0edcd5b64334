"""The suite's fixtures, served by the library: `PYTHONPATH=tests python -m conformance.server --port N`.

It prints its URL when it is ready.
"""

from __future__ import annotations

import argparse

import anyio

from conformance.asking import offer_questions, offer_states
from conformance.tasks import offer_asking_jobs, offer_jobs
from conformance.tools import PNG, offer_contents, offer_notices, offer_schemas
from streamres import Server


async def make_resources(server: Server) -> None:
    text = await server.create("test://static-text", name="Static text", mime_type="text/plain")
    await text.append("Text that does not change.")
    await text.seal()
    image = await server.create("test://static-binary", kind="blob", name="Static binary", mime_type="image/png")
    await image.append(PNG)
    await image.seal()
    made = await server.create("test://template/123/data", name="Data of 123", mime_type="application/json")
    await made.append('{"id": "123"}')
    await made.seal()
    watched = await server.create("test://watched-resource", name="Watched", mime_type="text/plain")
    await watched.append("Text that goes on.")


async def main(port: int) -> None:
    server = Server("conformance")
    await make_resources(server)
    offers = (
        offer_contents,
        offer_notices,
        offer_schemas,
        offer_questions,
        offer_states,
        offer_jobs,
        offer_asking_jobs,
    )
    for offer in offers:
        offer(server)
    async with server.serve(port=port) as url:
        print(url, flush=True)
        await anyio.sleep_forever()


if __name__ == "__main__":
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--port", type=int, default=0, help="0, the default, takes a free one")
    anyio.run(main, arguments.parse_args().port)
