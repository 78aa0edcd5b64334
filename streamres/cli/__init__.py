"""The command line: parse, call, print. What a command does stands in the module of its name."""

from __future__ import annotations

import sys
from pathlib import Path  # noqa: TC003 - typer reads the annotations
from typing import Annotated, Literal

import typer

from streamres.cli import words
from streamres.cli.check import check
from streamres.cli.compare import compare
from streamres.cli.doctor import doctor
from streamres.cli.gc import gc
from streamres.cli.options import (
    HOST,
    PORT,
    HistoryBytes,
    HistoryS,
    LogFormat,
    OptionalHost,
    OptionalPort,
    Stdio,
    Store,
)
from streamres.limits import BUFFER_BYTES, SPOOL_BYTES, TASK_AFTER_S

_Host = Annotated[str, typer.Option(help="Address to listen on.")]
_Port = Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one.", min=0, max=65535)]
_Kind = Annotated[
    Literal["text", "blob"], typer.Option(help="text: UTF-8, anything else as U+FFFD; blob: the very bytes.")
]
_Url = Annotated[str, typer.Argument(help="The server, as http://127.0.0.1:8765/mcp.", show_default=False)]

app = typer.Typer(
    name="streamres",
    help="Output that is still being written, as MCP resources with revisions.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.command("run", context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
def _run(
    command: Annotated[list[str], typer.Argument(help="The command and its arguments.", show_default=False)],
    uri: Annotated[str | None, typer.Option(help="URI of the log.", show_default="run://local/…")] = None,
    kind: _Kind = "text",
    host: _Host = HOST,
    port: _Port = PORT,
    linger: Annotated[float, typer.Option(help="Seconds to serve the log after the end.", min=0)] = 0,
    pty: Annotated[
        bool | None,
        typer.Option(
            "--pty/--no-pty",
            help="Give the command a pseudo-terminal.",
            show_default="where the output is a terminal",
        ),
    ] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep it where `streamres serve` does.")] = False,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Keep it elsewhere: sqlite:PATH or nats://HOST:PORT.",
            show_default="memory:, gone at the end",
        ),
    ] = None,
) -> None:
    """Run a command as always and serve its output live.

    Exits with the command's code; 125 if it was not run, 126 if it cannot be executed, 127 if it is not found.
    """
    from streamres.cli.run import run

    if keep and store is None:
        from streamres.cli.keeping import default_store

        store = default_store()
    raise typer.Exit(
        run(command, uri=uri, kind=kind, host=host, port=port, linger_s=linger, pty=pty, store=store or "memory:")
    )


@app.command("tail")
def _tail(
    url: _Url,
    uri: Annotated[str | None, typer.Argument(help="Which resource.", show_default="the newest")] = None,
    since: Annotated[str | None, typer.Option(help="Go on from this cursor.", show_default=False)] = None,
    last: Annotated[
        int | None, typer.Option(help="Begin with the last N lines.", min=0, metavar="N", show_default=False)
    ] = None,
    follow: Annotated[bool, typer.Option("--follow/--no-follow", help="Go on until the log's end.")] = True,
) -> None:
    """Write a log to standard output, live, until its producer seals it.

    Of a json resource it writes the document after each change, one a line.
    """
    from streamres.cli.tail import tail

    raise typer.Exit(tail(url, uri, since=since, last=last, follow=follow))


@app.command("ls")
def _ls(url: _Url) -> None:
    """List the resources of a server, oldest first."""
    from streamres.cli.ls import ls

    raise typer.Exit(ls(url))


@app.command("serve")
def _serve(
    host: OptionalHost = None,
    port: OptionalPort = None,
    history_bytes: HistoryBytes = None,
    history_s: HistoryS = None,
    stdio: Stdio = False,
    store: Store = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="Offer its builds as tools; see examples/builds.toml."),
    ] = None,
    log_format: LogFormat = None,
) -> None:
    """Serve what is kept, and what others push; /healthz and /metrics say how it is.

    With --stdio an AI client starts it and reads from it, until it closes standard input. What is pushed meanwhile
    comes in by --port, or by another server of the same store.
    """
    from streamres.cli.keeping import default_store
    from streamres.cli.serve import serve, serve_stdio
    from streamres.limits import Limits
    from streamres.observe import write_logs

    limits = Limits(history_bytes=history_bytes, history_s=history_s)
    store = store or default_store()
    if log_format is not None:
        write_logs(log_format)
    if not stdio:
        port = PORT if port is None else port
        raise typer.Exit(serve(host=host or HOST, port=port, store=store, limits=limits, config=config))
    if port is None and host is not None:
        raise typer.BadParameter("with --stdio it needs --port", param_hint="--host")
    raise typer.Exit(serve_stdio(host=host or HOST, port=port, store=store, limits=limits, config=config))


@app.command("bridge", context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
def _bridge(
    upstream: Annotated[
        list[str],
        typer.Argument(
            help="The URL of the other server; or, after --, the command that is it.", show_default=False
        ),
    ],
    host: OptionalHost = None,
    port: OptionalPort = None,
    history_bytes: HistoryBytes = None,
    history_s: HistoryS = None,
    stdio: Stdio = False,
    store: Store = None,
    log_format: LogFormat = None,
    task_after: Annotated[
        float,
        typer.Option(
            "--task-after-s", help="Seconds until a call becomes a task, for clients that take tasks.", min=0
        ),
    ] = TASK_AFTER_S,
) -> None:
    """Offer the tools of another MCP server, and keep what they put out while they work.

    Whoever comes later reads and follows it from the beginning, as many as want to. The other server needs nothing
    for that: partial results (SEP-2998), progress and tasks are taken as they come.
    """
    from streamres.cli.bridge import bridge
    from streamres.cli.keeping import default_store
    from streamres.limits import Limits
    from streamres.observe import write_logs

    if log_format is not None:
        write_logs(log_format)
    if stdio and port is None and host is not None:
        raise typer.BadParameter("with --stdio it needs --port", param_hint="--host")
    raise typer.Exit(
        bridge(
            upstream,
            host=host or HOST,
            port=PORT if port is None and not stdio else port,
            stdio=stdio,
            store=store or default_store(),
            limits=Limits(history_bytes=history_bytes, history_s=history_s),
            task_after_s=task_after,
        )
    )


@app.command("push")
def _push(
    url: _Url,
    uri: Annotated[str, typer.Argument(help="URI of the log, made if need be.", show_default=False)],
    kind: Annotated[
        Literal["text", "blob", "json"],
        typer.Option(help="text: UTF-8, anything else as U+FFFD; blob: the very bytes; json: a patch a line."),
    ] = "text",
    spool: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep in this folder what is not delivered; a push that is started again with it goes on.",
            show_default="in memory, and gone with the process",
        ),
    ] = None,
    spool_bytes: Annotated[
        int, typer.Option(help="The most that the spool holds undelivered.", min=1, metavar="N")
    ] = SPOOL_BYTES,
    buffer_bytes: Annotated[
        int, typer.Option(help="The most that is held undelivered without a spool.", min=1, metavar="N")
    ] = BUFFER_BYTES,
    on_full: Annotated[
        Literal["block", "drop-oldest", "fail"],
        typer.Option(help="With no room for more: wait, leave out the oldest and say so, or end."),
    ] = "block",
    producer: Annotated[
        str | None,
        typer.Option(
            metavar="ID", help="Take over from whoever pushed with this id.", show_default="one of its own"
        ),
    ] = None,
) -> None:
    """Append standard input to a resource of a running server, and seal it at the end."""
    from streamres.cli.push import Options, push

    if on_full == "drop-oldest" and kind == "json":
        raise typer.BadParameter("a patch cannot be left out of a document", param_hint="--on-full")
    options = Options(
        kind=kind,
        producer=producer,
        spool=spool,
        spool_bytes=spool_bytes,
        buffer_bytes=buffer_bytes,
        on_full=on_full,
    )
    raise typer.Exit(push(url, uri, options))


app.command("check")(check)
app.command("compare")(compare)
app.command("doctor")(doctor)
app.command("gc")(gc)


def main() -> None:
    """Runs the command line; the entry point of `streamres`."""
    words.open_standard_files()
    sys.exit(app())
