"""The dashboard's files: the page at `/`, what it loads from `/static`, and plotly.js from the installed package."""

from __future__ import annotations

import gzip
import re
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

STATIC = Path(__file__).parent / "static"
FOREVER = "public, max-age=31536000, immutable"
# Style sheets for maps of the earth that plotly.js puts into a page unless it finds an element of their name.
SHEETS = re.compile(rb'document\.getElementById\("([0-9a-f]{64})"\)')
REVALIDATED = "no-cache"  # kept by the browser, but never used before the server has said that it is the same


class Files(StaticFiles):
    """Our own modules and styles, which change with the version of maxentry and not with their names."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        """A file, to be asked for again next time."""
        answer = await super().get_response(path, scope)
        answer.headers["Cache-Control"] = REVALIDATED
        return answer


def add(app: FastAPI) -> None:
    """The page and its files. They show nothing of any campaign, and need no token."""
    plotly = _plotly()
    address = "" if plotly is None else f"/static/lib/plotly-{version('plotly')}.min.js"
    page = (STATIC / "index.html").read_text(encoding="utf-8").replace("{{plotly}}", address)
    page = page.replace("{{sheets}}", "" if plotly is None else _sheets(plotly))

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return HTMLResponse(page, headers={"Cache-Control": REVALIDATED})

    if plotly is not None:

        @app.get(address, include_in_schema=False)
        def library(request: Request) -> Response:
            kept: dict[str, Any] = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
            kind = "text/javascript"
            if "gzip" not in request.headers.get("accept-encoding", ""):
                return FileResponse(plotly, media_type=kind, headers=kept)
            return Response(_packed(plotly), media_type=kind, headers=kept | {"Content-Encoding": "gzip"})

    app.mount("/static", Files(directory=STATIC), name="static")


def _plotly() -> Path | None:
    """plotly.js in the installed package, which is found but not loaded: that would take a second."""
    found = find_spec("plotly")
    if found is None or found.origin is None:
        return None
    path = Path(found.origin).parent / "package_data" / "plotly.min.js"
    return path if path.is_file() else None


@cache
def _sheets(path: Path) -> str:
    """Names of the style sheets that plotly.js is to leave away, since the policy allows none inside the page."""
    return " ".join(sorted({name.decode() for name in SHEETS.findall(path.read_bytes())}))


@cache
def _packed(path: Path) -> bytes:
    """A third of its five megabytes."""
    return gzip.compress(path.read_bytes(), compresslevel=6)
