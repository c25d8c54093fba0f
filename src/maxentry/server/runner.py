"""Running the server: uvicorn over a storage, from the first socket to an orderly end."""

from __future__ import annotations

import logging
import os
import socket
import ssl
from collections.abc import Callable
from types import FrameType

import uvicorn
from fastapi import FastAPI

from maxentry.campaign.storage import Storage
from maxentry.errors import ParameterError, StorageError
from maxentry.server.app import create_app
from maxentry.server.options import Options

GRACE = 10  # seconds for requests under way when the server is to end
MOST_CONNECTIONS = 500  # below what a process may open by default; beyond, 503


def serve(storage: str, options: Options, *, announce: Callable[[str], None] | None = None) -> None:
    """Serve the campaigns of a storage until Ctrl-C or SIGTERM; `announce` is told the address."""
    _check_certificate(options)
    with _listen(options) as listening, Storage(storage, create=True) as opened:

        def started() -> None:
            if announce is not None:
                announce(address(options, listening.getsockname()[1]))

        server = Server(create_app(opened, options), options, started)
        logging.getLogger("maxentry.server").setLevel(logging.INFO)
        server.run(sockets=[listening])


def address(options: Options, port: int) -> str:
    """The address for a browser or for `maxentry.connect`."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"http{'' if options.certificate is None else 's'}://{host}:{port}"


def _check_certificate(options: Options) -> None:
    """Read the certificate first, so that a wrong one is refused in one sentence."""
    if options.certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*options.certificate)
    except OSError as error:  # of files, and of OpenSSL
        certificate, key = options.certificate
        reason = error.strerror or type(error).__name__
        raise ParameterError(
            f"expected a TLS certificate in {certificate} and its key in {key}, got: {reason}."
        ) from None


def _listen(options: Options) -> socket.socket:
    """Bind the socket before the storage is opened, so that a port in use is refused in one sentence."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere it would let others take the port over
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"expected to listen on {options.host}:{options.port}, got: {reason}.") from None
    return listening


class Server(uvicorn.Server):
    """uvicorn, which calls `started` once it answers, and cancels jobs and streams when it is to end."""

    def __init__(self, app: FastAPI, options: Options, started: Callable[[], None] = lambda: None) -> None:
        certificate, key = options.certificate or (None, None)
        config = uvicorn.Config(
            app,
            http="h11",
            ws="none",
            log_level="info",
            access_log=False,
            server_header=False,
            date_header=True,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=GRACE,
            limit_concurrency=MOST_CONNECTIONS,
            h11_max_incomplete_event_size=64 * 1024,
            ssl_certfile=certificate,
            ssl_keyfile=key,
        )
        super().__init__(config)
        # Addresses hold labels, and by mistake tokens: they are not logged, however this process logs.
        logging.getLogger("uvicorn.access").disabled = True
        self._jobs, self._on_start = app.state.service.jobs, started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets=sockets)
        if self.started:
            self._on_start()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End the streams of events at once: they would keep the server alive."""
        self._jobs.closing = True
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Cancel the jobs first, so that requests that wait for them are answered."""
        self._jobs.cancel_all()
        await super().shutdown(sockets=sockets)
