"""`serve`: campaigns over HTTP."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from maxentry.cli import options, output
from maxentry.cli.options import option

TOKENS = "MAXENTRY_READ_TOKEN", "MAXENTRY_WRITE_TOKEN"


commands = typer.Typer()


@commands.command(
    rich_help_panel="Server",
    epilog="The API is described at /api/v1/openapi.json. From Python: maxentry.connect('http://127.0.0.1:8765').",
)
def serve(
    host: Annotated[
        str, typer.Option("--host", help="The address to listen on; any but 127.0.0.1 needs tokens.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="The port; 0: any that is free.")
    ] = 8765,
    read_token: Annotated[
        str | None,
        option("--read-token-file", metavar="FILE", help=f"Holds the token for reading; or {TOKENS[0]}."),
    ] = None,
    write_token: Annotated[
        str | None,
        option("--write-token-file", metavar="FILE", help=f"Holds the token for writing; or {TOKENS[1]}."),
    ] = None,
    allow_host: Annotated[
        list[str] | None,
        option("--allow-host", metavar="NAME", help="A further name by which this machine is called."),
    ] = None,
    certificate: Annotated[
        str | None, option("--tls-certificate", metavar="FILE", help="Speak HTTPS, with this certificate …")
    ] = None,
    certificate_key: Annotated[str | None, option("--tls-key", metavar="FILE", help="… and its key.")] = None,
    max_body: Annotated[
        int, typer.Option("--max-body", min=1, help="MiB of a request at most; larger ones are refused.")
    ] = 16,
    rate: Annotated[
        float, typer.Option("--rate", min=0, help="Requests a second of one client; 0: any number.")
    ] = 50.0,
    max_entries: Annotated[
        int, typer.Option("--max-entries", min=4, help="Entries of the largest matrix that may be begun.")
    ] = 25_000_000,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Fits at the same time.")] = 2,
    storage: options.Storage = options.STORAGE,
) -> None:
    """Serve the campaigns of a storage: a dashboard for browsers, REST for instruments, `maxentry.connect` for Python.

    The dashboard (maps, batches, values) is at the address itself, http://127.0.0.1:8765 if nothing else is said. Only
    this machine can reach it, unless --host says otherwise; then tokens are needed. Ctrl-C ends it.
    """
    from maxentry.errors import MissingDependencyError, ParameterError
    from maxentry.server.options import Options, ServerLimits, Tokens

    if (certificate is None) != (certificate_key is None):
        raise ParameterError("expected a TLS certificate together with its key, got only one of them.")
    given = Options(
        host=host,
        port=port,
        tokens=Tokens(_token(read_token, TOKENS[0]), _token(write_token, TOKENS[1])),
        limits=ServerLimits(body=max_body * 2**20, rate=rate, entries=max_entries, workers=workers),
        hosts=tuple(allow_host or ()),
        certificate=None if certificate is None else (certificate, certificate_key or ""),
    )
    if not given.local and certificate is None:
        output.warn(
            "Tokens and data go over the network as they are: use --tls-certificate, or a proxy that does."
        )
    try:
        from maxentry.server.app import serve as run
    except ImportError as error:
        raise MissingDependencyError(
            f"the server needs {error.name}: pip install 'maxentry[server]'."
        ) from None
    run(storage, given, announce=lambda address: output.say(f"maxentry at {address}; Ctrl-C ends it."))


def _token(file: str | None, variable: str) -> str | None:
    """The token in the file, else in the environment. Never on the command line, which others can see."""
    from maxentry.server.options import read_token

    return read_token(file) if file is not None else os.environ.get(variable) or None
