"""Raw results as a table."""

import csv
import json
from pathlib import Path

import pytest
from tests.studies.test_store import made

from maxentry.errors import MissingDependencyError
from maxentry.studies import export

RUNS = [made("a"), made("b", seed=1)]


def test_parquet_has_a_line_for_every_look(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    export.write_csv(RUNS, tmp_path / "new" / "runs.csv")
    path = export.write_table(RUNS, tmp_path / "new")
    assert path == tmp_path / "new" / "runs.parquet"
    found = parquet.read_table(path).to_pylist()
    assert [(line["seed"], line["n"], line["coverage"]) for line in found] == [
        (0, 5, None), (0, 9, 0.9), (1, 5, None), (1, 9, 0.9),
    ]  # fmt: skip
    assert tuple(found[0]) == export.COLUMNS
    assert json.loads(found[0]["settings"]) == {"initial": 5}
    assert [p.name for p in path.parent.iterdir()] == ["runs.parquet"]


def test_no_runs_are_a_table_too(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    assert parquet.read_table(export.write_parquet([], tmp_path / "x.parquet")).num_rows == 0


def test_without_pyarrow_it_is_csv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(export, "import_module", missing)
    with pytest.raises(MissingDependencyError, match=r"maxentry\[studies\]"):
        export.write_parquet(RUNS, tmp_path / "x.parquet")
    (tmp_path / "runs.parquet").write_text("of an earlier report")
    path = export.write_table(iter(RUNS), tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name] == ["runs.csv"]
    lines = list(csv.DictReader(path.open(encoding="utf-8")))
    assert [(line["n"], line["coverage"], line["error"]) for line in lines[:2]] == [
        ("5", "", "0.9"),
        ("9", "0.9", "0.5"),
    ]
