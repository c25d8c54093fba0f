"""The application: routes, guards and problems put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.responses import Response

from maxentry import __version__
from maxentry.campaign.storage import Storage
from maxentry.errors import MaxentryError
from maxentry.server import answers, links, pages, problems
from maxentry.server.answers import PROBLEMS, ProblemDocument, described
from maxentry.server.bodies import Bodies
from maxentry.server.guard import API, Guard, Shield
from maxentry.server.lab import Lab
from maxentry.server.options import Options
from maxentry.server.plain import Json
from maxentry.server.problems import Problem
from maxentry.server.routes import campaigns, jobs, loop, posterior, window
from maxentry.server.routes.common import known_parameters

ABOUT = """Which entries of a matrix to measure next.

Begin a campaign, `ask` for entries, measure them, `tell` the values; look at what is believed. Every refusal is a
problem document (RFC 9457) with one sentence that says what was expected and what came; nothing was changed then.
What takes long answers 202 with a job to look at (`/jobs/{id}`) or to follow (`/jobs/{id}/events`).
"""


def create_app(storage: Storage, options: Options | None = None) -> FastAPI:
    """The application over one storage, which it closes when it ends."""
    options = options or Options()
    lab = Lab(storage, options.limits)

    @asynccontextmanager
    async def living(_: FastAPI) -> AsyncIterator[None]:
        yield
        lab.close()

    app = FastAPI(
        title="maxentry",
        version=__version__,
        description=ABOUT,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,  # both load their scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # to an address made of the Host header, which anybody may send
        lifespan=living,
        middleware=[
            Middleware(Shield),
            Middleware(Guard, options=options),
            Middleware(Bodies, limits=options.limits),
        ],
    )
    app.state.lab, app.state.options, app.state.streams = lab, options, set()
    strict = [Depends(known_parameters)]
    for part in (campaigns, loop, posterior, jobs, window):
        app.include_router(part.router, prefix=API, responses=PROBLEMS, dependencies=strict)
    _add_health(app)
    pages.add(app)
    _add_problems(app, storage.name)
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    return app


def _add_health(app: FastAPI) -> None:
    strict, form = [Depends(known_parameters)], described(200, answers.Health) | {422: PROBLEMS[422]}

    @app.get(f"{API}/health", tags=["server"], responses=form, dependencies=strict)
    def health() -> Response:
        """That the server is there. Needs no token, says nothing of campaigns."""
        return Json({"status": "ok", "version": __version__})


def _add_problems(app: FastAPI, storage: str) -> None:
    async def refused(_: Request, error: Exception) -> Response:
        return problems.of(error, storage).response()

    async def malformed(_: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        return problems.invalid(error.errors()).response()

    async def no_such(_: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        title = {404: "Nothing here", 405: "No such method here", 400: "Not JSON"}.get(
            error.status_code, "Refused"
        )
        detail = {
            404: "expected an address of this server, but there is nothing at this one.",
            405: "expected another method for this address.",
            400: "expected a body that is JSON, but it cannot be read as that.",
        }.get(error.status_code, str(error.detail))
        kind = {404: "no-address", 405: "no-method", 400: "no-json"}.get(error.status_code, "refused")
        return Problem(error.status_code, kind, title, detail, dict(error.headers or {})).response()

    for kind in (Problem, MaxentryError):
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(RequestValidationError, malformed)
    app.add_exception_handler(HTTPException, no_such)


def _described(app: FastAPI) -> dict[str, Any]:
    """The description in OpenAPI, with the problem document and the tokens."""
    if app.openapi_schema is None:
        made = get_openapi(
            title=app.title, version=app.version, description=app.description, routes=app.routes,
            license_info={"name": "MIT", "identifier": "MIT"},
        )  # fmt: skip
        parts = made.setdefault("components", {})
        schema = ProblemDocument.model_json_schema(ref_template="#/components/schemas/{model}")
        parts.setdefault("schemas", {})["ProblemDocument"] = schema
        parts["securitySchemes"] = {
            "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "The token for reading, or for writing.",
            }
        }
        if app.state.options.tokens.needed:
            made["security"] = [{"token": []}]
        links.add(made)
        app.openapi_schema = made
    return app.openapi_schema
