"""Options that several commands have, in the same words."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import typer

HOST: Final = "127.0.0.1"
PORT: Final = 8765

OptionalHost = Annotated[str | None, typer.Option("--host", help="Address to listen on.", show_default=HOST)]
OptionalPort = Annotated[
    int | None,
    typer.Option(
        "--port",
        help="Port to listen on; 0 takes a free one.",
        min=0,
        max=65535,
        show_default=f"{PORT}; none with --stdio",
    ),
]
HistoryBytes = Annotated[
    int | None,
    typer.Option(
        "--history-bytes",
        help="Deltas to keep of each resource, in bytes.",
        min=1,
        metavar="N",
        show_default="all",
    ),
]
HistoryS = Annotated[
    float | None,
    typer.Option(
        "--history-s", help="Seconds for which a cursor stays good.", min=0, metavar="S", show_default="always"
    ),
]
Stdio = Annotated[
    bool, typer.Option("--stdio", help="Serve the client that started this, on standard input and output.")
]
Store = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="ADDRESS",
        help="Where to keep it: memory:, sqlite:PATH or nats://HOST:PORT.",
        show_default="sqlite: in your data folder",
    ),
]
LogFormat = Annotated[
    Literal["json", "text"] | None,
    typer.Option(
        "--log-format", help="Write a line to standard error for each event.", show_default="failures alone"
    ),
]
