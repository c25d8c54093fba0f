"""The application: routes, middlewares and the description in OpenAPI."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response

from maxentry import __version__
from maxentry.campaign.storage import Storage
from maxentry.errors import MaxentryError
from maxentry.server import problems
from maxentry.server.jobs import Unfinished
from maxentry.server.options import Options
from maxentry.server.problems import PROBLEMS, Problem, ProblemDocument
from maxentry.server.routes import ask_tell, campaigns, dashboard, jobs, posterior
from maxentry.server.routes.dependencies import accepted, known_parameters
from maxentry.server.schemas import Health
from maxentry.server.security import API, AccessControl, SafeResponses, WholeBodies, allowed_hosts
from maxentry.server.service import Service

ABOUT = """Which entries of a matrix to measure next.

Create a campaign, `ask` for entries, measure them, `tell` the values, and look at the predictions. Every refusal is a
problem document (RFC 9457) with one sentence that says what was expected; nothing was changed then. Work that takes
long answers 202 with a job to look at (`/jobs/{id}`) or to follow (`/jobs/{id}/events`).
"""


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
    app.state.service, app.state.options, app.state.streams = service, options, set()
    strict = [Depends(known_parameters)]
    for part in (campaigns, ask_tell, posterior, jobs, dashboard):
        app.include_router(part.router, prefix=API, responses=PROBLEMS, dependencies=strict)

    @app.get(f"{API}/health", tags=["server"], responses={422: PROBLEMS[422]}, dependencies=strict)
    def health() -> Health:
        """The server is running. Needs no token, and shows nothing of campaigns."""
        return Health(status="ok", version=__version__)

    dashboard.add_pages(app)
    _add_problems(app, storage.name)
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _add_problems(app: FastAPI, storage: str) -> None:
    """Answer every error with a problem document, and work that is not done yet with 202."""

    async def refuse(_: Request, error: Exception) -> Response:
        return problems.from_error(error, storage).response()

    async def refuse_form(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problems.invalid(error.errors()).response()

    async def refuse_address(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        headers = dict(error.headers or {})
        return problems.from_status(error.status_code, str(error.detail), headers).response()

    async def accept(_: Request, error: Exception) -> Response:
        assert isinstance(error, Unfinished)
        return accepted(error.job)

    app.add_exception_handler(Unfinished, accept)
    for kind in (Problem, MaxentryError):
        app.add_exception_handler(kind, refuse)
    app.add_exception_handler(RequestValidationError, refuse_form)
    app.add_exception_handler(HTTPException, refuse_address)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """The description in OpenAPI, with the problem document and the tokens."""
    if app.openapi_schema is None:
        document = FastAPI.openapi(app)
        parts = document.setdefault("components", {})
        schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        parts.setdefault("schemas", {})["ProblemDocument"] = schema
        text = "The token for reading, or the one for writing."
        parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer", "description": text}}
        if app.state.options.tokens.needed:
            document["security"] = [{"token": []}]
    assert app.openapi_schema is not None
    return app.openapi_schema
