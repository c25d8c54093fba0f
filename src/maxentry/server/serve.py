"""Running the server: opens the storage, listens, and ends in good order."""

from __future__ import annotations

import logging
import os
import socket
import ssl
from collections.abc import Callable

from maxentry.campaign.storage import Storage
from maxentry.errors import MissingDependencyError, ParameterError, StorageError
from maxentry.server.options import Options


def serve(storage: str, options: Options, *, announce: Callable[[str], None] | None = None) -> None:
    """Serve the campaigns of a storage until told to stop (Ctrl-C, SIGTERM)."""
    try:
        from maxentry.server.app import create_app
        from maxentry.server.connections import Server
    except ImportError as error:
        raise MissingDependencyError(
            f"expected {error.name} for the server, but it is not installed: pip install 'maxentry[server]'."
        ) from None

    def began() -> None:
        if announce is not None:
            announce(address(options, listening.getsockname()[1]))

    _check_certificate(options)
    with _listening(options) as listening, Storage(storage, create=True) as kept:
        server = Server(create_app(kept, options), options, began)
        logging.getLogger("maxentry.server").setLevel(logging.INFO)
        server.run(sockets=[listening])


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
