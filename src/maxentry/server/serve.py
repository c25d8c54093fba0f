"""Running the server: opens the storage, listens, and ends in good order."""

from __future__ import annotations

import logging
import os
import socket
import ssl
from collections.abc import Callable
from types import FrameType

from maxentry.campaign.storage import Storage
from maxentry.errors import MissingDependencyError, ParameterError, StorageError
from maxentry.server.options import Options

GRACE = 10  # seconds for what is under way when the server is told to end


def serve(storage: str, options: Options, *, announce: Callable[[str], None] | None = None) -> None:
    """Serve the campaigns of a storage until told to stop (Ctrl-C, SIGTERM)."""
    try:
        import uvicorn

        from maxentry.server.app import create_app
        from maxentry.server.connections import Connection
    except ImportError as error:
        raise MissingDependencyError(
            f"expected {error.name} for the server, but it is not installed: pip install 'maxentry[server]'."
        ) from None

    class Server(uvicorn.Server):
        async def startup(self, sockets: list[socket.socket] | None = None) -> None:
            """Say where it is once it answers."""
            await super().startup(sockets=sockets)
            if announce is not None and self.started:
                announce(address(options, listening.getsockname()[1]))

        def handle_exit(self, sig: int, frame: FrameType | None) -> None:
            """Streams of events end at once, rather than keep the server alive."""
            app.state.lab.jobs.closing = True
            super().handle_exit(sig, frame)

        async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
            """Whoever waits for work in the background hears at once that it is called off."""
            app.state.lab.jobs.call_off()
            await super().shutdown(sockets=sockets)

    _check_certificate(options)
    with _listening(options) as listening, Storage(storage, create=True) as kept:
        app = create_app(kept, options)
        config = uvicorn.Config(
            app,
            http=Connection,
            ws="none",
            log_level="info",
            access_log=False,  # addresses hold labels; the application says what matters
            server_header=False,
            date_header=True,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=GRACE,
            h11_max_incomplete_event_size=64 * 1024,
            ssl_certfile=None if options.certificate is None else options.certificate[0],
            ssl_keyfile=None if options.certificate is None else options.certificate[1],
        )
        logging.getLogger("maxentry.server").setLevel(logging.INFO)
        Server(config).run(sockets=[listening])


def _check_certificate(options: Options) -> None:
    """Read the certificate before anything else is done, so that one that will not do is one sentence."""
    if options.certificate is None:
        return
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*options.certificate)
    except OSError as error:  # of files, and of OpenSSL
        certificate, key = options.certificate
        reason = error.strerror or type(error).__name__
        raise ParameterError(
            f"expected a TLS certificate in {certificate} and its key in {key}, but: {reason}."
        ) from None


def _listening(options: Options) -> socket.socket:
    """The socket, bound before anything else is done, so that a port in use is one sentence."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    if os.name == "posix":  # elsewhere it would let others take the port over
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
    except (OSError, OverflowError) as error:
        listening.close()
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"expected to listen on {options.host}:{options.port}, but: {reason}.") from None
    return listening


def address(options: Options, port: int) -> str:
    """The address that a browser or `maxentry.connect` takes."""
    host = f"[{options.host}]" if ":" in options.host else options.host
    return f"http{'' if options.certificate is None else 's'}://{host}:{port}"
