"""The dashboard: its page with the files that it needs, what the reader may do there, and files that it is given."""

from __future__ import annotations

import gzip
import html
import io
import json
import re
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, get_args

from fastapi import APIRouter, FastAPI, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from maxentry import tables
from maxentry.cells import with_points
from maxentry.errors import DataError
from maxentry.posterior.rank import MOSTLY_MEANS
from maxentry.server import schemas
from maxentry.server.security import parse_bearer
from maxentry.summary.reasons import STANDS_OUT
from maxentry.tables import doubts
from maxentry.tables.layout import find_line_numbers, find_long
from maxentry.transform import PERCENT, Kind
from maxentry.wording import is_word, sentence

router = APIRouter(tags=["the dashboard"])


@router.get("/access")
def access(request: Request) -> schemas.AccessResponse:
    """What the token of the request allows: reading, or writing too."""
    token = parse_bearer(request.headers.get("authorization"))
    return schemas.AccessResponse(may=request.app.state.options.tokens.access(token))


TABLE_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            kind: {"schema": {"type": "string", "format": "binary"}}
            for kind in ("application/octet-stream", "text/csv")
        },
    }
}


@router.post("/tables", openapi_extra=TABLE_BODY)
async def read_table(
    request: Request,
    sheet: Annotated[str | None, Query(max_length=200, description="Of an Excel file.")] = None,
) -> schemas.TableResponse:
    """Read a file (CSV in any common dialect, Excel or Parquet) as text cells with decimal points. Stores nothing."""
    return await run_in_threadpool(_read_table, await request.body(), sheet)


def _read_table(content: bytes, sheet: str | None) -> schemas.TableResponse:
    table = tables.read(io.BytesIO(content), source="the file", sheet=sheet, most=tables.MOST_CELLS)
    written = [[tables.cell_text(cell) for cell in line] for line in zip(*table.columns, strict=True)]
    lines = [
        [_with_points(text, table.where(k), table.decimal_comma) for text in line]
        for k, line in enumerate(written)
    ]
    words = [dict.fromkeys(x) for x in table.columns if all(map(is_word, x))]
    labels = [[*x] for x in (table.names, *words) if len(x) <= doubts.MOST_LABELS]
    return schemas.TableResponse(
        names=table.names,
        lines=lines,
        written=None if written == lines else written,
        sheets=tables.sheet_names(content),
        encoding=table.encoding,
        title=table.title,
        notes=[*table.notes, *filter(None, [sentence(find_line_numbers(table.names, table.columns))])],
        roles=find_long(table.names, table.columns),  # type: ignore[arg-type]
        totals=[x for side in labels for x in doubts.find_totals(side)],
        alike=[[*pair] for side in labels for pair in doubts.find_alike(side)],
    )


def _with_points(text: str, where: str, decimal_comma: tables.DecimalComma) -> str:
    """A cell with decimal points; 1,234 of which nobody knows what it means as it is: no value, but maybe a label.

    1.234 among decimal commas is refused: as it is, it would be a value.
    """
    try:
        return with_points(text, where, decimal_comma)
    except DataError:
        if decimal_comma == "only":
            raise
        return text


# The page and its files. They show nothing of any campaign, and need no token.

STATIC = Path(__file__).parents[1] / "static"
FOREVER = "public, max-age=31536000, immutable"
# The criteria in the words of the form for a new campaign, the default first.
CRITERIA = {
    "predictive_variance": "most uncertain entries (default)",
    "integrated_variance": "lowers the total uncertainty most",
    "maxent": "the paper's",
    "maxent_nearest": "the paper's, with the nearest projections",
    "balanced": "spread evenly over rows and columns",
    "uniform": "at random",
}
# The kinds of values in the words of the form, the default first.
KINDS = {"numbers": "numbers", "yes/no": "yes or no, pass or fail", "grades": "grades in an order"}
# Where fits run, in the words of the form, the default first.
ENGINES = {"cpu": "the processor", "gpu": "a GPU", "auto": "a GPU if the table is large"}
# From which values on the page says that a row, a column or an sd stands out, and that a fit rests on rank 0.
THRESHOLDS = {"stands_out": STANDS_OUT, "mostly_means": MOSTLY_MEANS}
# Style sheets for geographic maps that plotly.js puts into a page unless it finds an element of their name.
SHEETS = re.compile(rb'document\.getElementById\("([0-9a-f]{64})"\)')


def add_pages(app: FastAPI) -> None:
    """Serve the page at `/`, its files at `/static`, and plotly.js from the installed package."""
    words = [(name, f"{name.replace('_', ' ')}: {said}") for name, said in CRITERIA.items()]
    choices = {
        "acquisition": words,
        "transform": [(name, name) for name in (*get_args(Kind), PERCENT)],
        "kind": list(KINDS.items()),
        "engine": list(ENGINES.items()),
    }
    plotly = _find_plotly()
    address = "" if plotly is None else f"/static/lib/plotly-{version('plotly')}.min.js"
    page = (STATIC / "index.html").read_text(encoding="utf-8").replace("{{plotly}}", address)
    page = page.replace("{{sheets}}", "" if plotly is None else _sheet_names(plotly))
    page = page.replace("{{choices}}", html.escape(json.dumps(choices)))
    page = page.replace("{{thresholds}}", html.escape(json.dumps(THRESHOLDS)))

    @app.get("/", include_in_schema=False)
    def index() -> Response:
        return HTMLResponse(page)

    if plotly is not None:

        @app.get(address, include_in_schema=False)
        def library(request: Request) -> Response:
            headers = {"Cache-Control": FOREVER, "Vary": "Accept-Encoding"}
            if "gzip" not in request.headers.get("accept-encoding", ""):
                return FileResponse(plotly, media_type="text/javascript", headers=headers)
            headers["Content-Encoding"] = "gzip"
            return Response(_compress(plotly), media_type="text/javascript", headers=headers)

    app.mount("/static", StaticFiles(directory=STATIC), name="static")


def _find_plotly() -> Path | None:
    """plotly.js in the installed package, which is found but not imported: that would take a second."""
    package = find_spec("plotly")
    if package is None or package.origin is None:
        return None
    path = Path(package.origin).parent / "package_data" / "plotly.min.js"
    return path if path.is_file() else None


@cache
def _sheet_names(path: Path) -> str:
    """Names of the style sheets that plotly.js is not to insert, since the security policy allows none."""
    return " ".join(sorted({name.decode() for name in SHEETS.findall(path.read_bytes())}))


@cache
def _compress(path: Path) -> bytes:
    """A third of its five megabytes."""
    return gzip.compress(path.read_bytes(), compresslevel=6)
