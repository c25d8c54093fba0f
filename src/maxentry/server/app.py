"""The server: the application (routes, middlewares, description in OpenAPI) and how uvicorn runs it."""

from __future__ import annotations

import ctypes
import logging
import os
import socket
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from types import FrameType
from typing import Any

import uvicorn
from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response

from maxentry import __version__
from maxentry.campaign.storage import Storage
from maxentry.errors import MaxentryError, ParameterError, StorageError
from maxentry.server import problems
from maxentry.server.connections import LimitedProtocol
from maxentry.server.jobs import Unfinished
from maxentry.server.options import Options
from maxentry.server.problems import PROBLEMS, HttpProblem, ProblemDocument
from maxentry.server.routes import ask_tell, campaigns, dashboard, jobs, posterior
from maxentry.server.routes.dependencies import check_parameters
from maxentry.server.schemas import Health, JobResponse
from maxentry.server.security import API, AccessControl, SafeResponses, WholeBodies, allowed_hosts
from maxentry.server.service import Service

ABOUT = """Which entries of a matrix to measure next.

Create a campaign, `ask` for entries, measure them, `tell` the values, and look at the predictions. Every refusal is a
problem document (RFC 9457) with one sentence that says what was expected; nothing was changed then. Work that takes
long answers 202 with a job to look at (`/jobs/{id}`) or to follow (`/jobs/{id}/events`).
"""
M_ARENA_MAX = -8  # of glibc's mallopt
GRACE = 10  # seconds for requests under way when the server is to end
MOST_CONNECTIONS = 500  # below what a process may open by default; beyond, 503


def create_app(storage: Storage, options: Options | None = None) -> FastAPI:
    """Build the application over one storage, which it closes when it ends."""
    options = options or Options()
    service = Service(storage, options.limits)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="maxentry",
        version=__version__,
        description=ABOUT,
        license_info={"name": "MIT", "identifier": "MIT"},
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # both load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # to an address made of the Host header, which anybody may send
        lifespan=lifespan,
        middleware=[
            Middleware(SafeResponses, limits=options.limits),
            Middleware(TrustedHostMiddleware, allowed_hosts=allowed_hosts(options), www_redirect=False),
            Middleware(AccessControl, options=options),
            Middleware(RequestBodyLimitMiddleware, max_body_size=options.limits.body),
            Middleware(WholeBodies, limits=options.limits),
        ],
    )
    app.state.service, app.state.options, app.state.streams = service, options, Counter()
    strict = [Depends(check_parameters)]
    for part in (campaigns, ask_tell, posterior, jobs, dashboard):
        app.include_router(part.router, prefix=API, responses=PROBLEMS, dependencies=strict)

    refusals: dict[int | str, Any] = {status: PROBLEMS[status] for status in (422, 503)}

    @app.get(f"{API}/health", tags=["server"], responses=refusals, dependencies=strict)
    def health() -> Health:
        """The server is running and its storage is there. Needs no token, and shows nothing of campaigns.

        The status is `disk-full` while the last attempt to write found the disk full; what is stored can be read.
        """
        service.storage.check()
        return Health(status="disk-full" if service.storage.full else "ok", version=__version__)

    dashboard.add_pages(app)
    app.add_exception_handler(Unfinished, _accept)
    for kind in (HttpProblem, MaxentryError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, _refuse)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


async def _refuse(_: Request, error: Exception) -> Response:
    return problems.from_error(error).response()


async def _accept(_: Request, error: Exception) -> Response:
    """Answer 202 with the job if the work goes on in the background."""
    assert isinstance(error, Unfinished)
    body = JobResponse.model_validate(error.job).model_dump_json()
    headers = {"Location": f"{API}/jobs/{error.job.id}", "Retry-After": "1"}
    return Response(body, 202, headers, "application/json")


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The description in OpenAPI, with the problem document and the tokens."""
    document = FastAPI.openapi(app)
    parts = document["components"]
    parts["schemas"]["ProblemDocument"] = ProblemDocument.model_json_schema()
    text = "The token for reading, or the one for writing."
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": text}}
    if app.state.options.tokens.needed:
        document["security"] = [{"token": []}]
    return document


# Running it


def serve(storage: str, options: Options, *, announce: Callable[[str], None]) -> None:
    """Serve the campaigns of a storage until Ctrl-C or SIGTERM; `announce` is told the address."""
    _share_heaps()
    _check_certificate(options)
    with listen(options) as listening, Storage(storage, create=True) as opened:
        where = address(options, listening.getsockname()[1])
        app = create_app(opened, options)
        server = Server(app, options, lambda: announce(where))
        logging.getLogger("maxentry.server").setLevel(logging.INFO)
        server.run(sockets=[listening])
    if app.state.service.jobs.running:  # in compiled code, which cannot be interrupted
        os._exit(0)


def _share_heaps() -> None:
    """Let all threads share two heaps of glibc: of one each, every thread would keep pieces of the fits it made."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).mallopt(M_ARENA_MAX, 2)


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
    except (OSError, ValueError) as error:  # of files, and of OpenSSL
        certificate, key = options.certificate
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise ParameterError(
            f"expected a TLS certificate in {certificate} and its key in {key}, got: {reason}."
        ) from None


def listen(options: Options) -> socket.socket:
    """Bind the socket before the storage is opened, so that a port in use is refused in one sentence."""
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    # By its name, or asyncio does not send small answers at once: each would wait 40 ms for an acknowledgement.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":  # elsewhere it would let others take the port over
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((options.host, options.port))
    except (OSError, OverflowError, ValueError, TypeError) as error:  # names of hosts may be no names at all
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
            http=LimitedProtocol,
            proxy_headers=bool(options.proxies),  # anybody can make them up
            forwarded_allow_ips=list(options.proxies),
            ws="none",
            log_level="info",
            access_log=False,
            server_header=False,
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
        # Connections start TLS themselves, after they are counted.
        self.config.app.state.tls, self.config.ssl = self.config.ssl, None  # type: ignore[union-attr]
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
