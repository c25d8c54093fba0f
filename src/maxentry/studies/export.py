"""Results as a table, one line a look: Parquet, or CSV where nothing for Parquet is installed."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from maxentry.errors import MissingDependencyError
from maxentry.studies.record import Look, Run
from maxentry.studies.whole import whole

OF_A_RUN = ("case", "strategy", "seed", "rows", "cols", "known", "scale")
CODE = ("code", "key", "settings")
COLUMNS = (*OF_A_RUN, *Look._fields, *CODE)


def lines(runs: Iterable[Run]) -> list[tuple[Any, ...]]:
    """The lines of the table, as `COLUMNS` names them; what was not measured is None."""
    return [
        (run.case, run.strategy, run.seed, *run.shape, run.known, run.scale,
         *(None if math.isnan(x) else x for x in look), run.code, run.key, settings)
        for run in runs
        for settings in [json.dumps(dict(run.identity), sort_keys=True)]
        for look in run.looks
    ]  # fmt: skip


def write_table(runs: Iterable[Run], folder: Path) -> Path:
    """Write runs.parquet, or runs.csv where pyarrow is not installed; the file. The other, of earlier runs, goes."""
    kept, parquet, text = list(runs), folder / "runs.parquet", folder / "runs.csv"
    try:
        written, old = write_parquet(kept, parquet), text
    except MissingDependencyError:
        written, old = write_csv(kept, text), parquet
    with suppress(OSError):
        old.unlink(missing_ok=True)
    return written


def write_parquet(runs: Iterable[Run], path: Path) -> Path:
    """Write the table as Parquet."""
    try:
        pa, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise MissingDependencyError(
            "expected pyarrow to write Parquet, but it is not installed: pip install 'maxentry[studies]'."
        ) from None
    table = pa.Table.from_pylist(
        [dict(zip(COLUMNS, line, strict=True)) for line in lines(runs)], schema=_schema(pa)
    )
    with whole(path) as part:
        parquet.write_table(table, str(part))
    return path


def _schema(pa: Any) -> Any:
    text, count = ("case", "strategy", *CODE), ("seed", "rows", "cols", "known", "n")
    kind = {**dict.fromkeys(text, pa.string()), **dict.fromkeys(count, pa.int64())}
    return pa.schema([(name, kind.get(name, pa.float64())) for name in COLUMNS])


def write_csv(runs: Iterable[Run], path: Path) -> Path:
    """Write the table as CSV."""
    with whole(path) as part, part.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(lines(runs))
    return path
