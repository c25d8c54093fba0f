"""The copies written out as their publishers write them, in any order: parsed again, the catalogue knows them."""

import csv
import zipfile

import numpy as np
import pytest
from tests.evidence.datasets.samples import SHARED, xlsx

from evidence.datasets import info, load
from evidence.datasets.load import check

pytestmark = pytest.mark.skipif(
    not SHARED.is_dir(), reason="no local copies of the data beside the repository"
)


@pytest.fixture(autouse=True)
def copies(monkeypatch):
    monkeypatch.setenv("MAXENTRY_DATA", str(SHARED))


def agree(name, *paths):
    data, matrix = load(name), info(name).parse(*paths)
    assert (matrix.rows, matrix.cols) == (data.rows, data.cols)
    np.testing.assert_array_equal(check(info(name), matrix, paths[0]).M, data.M)


def lines(data):
    """(row, column, value) of all known entries, shuffled."""
    at = np.argwhere(~np.isnan(data.M))
    np.random.default_rng(7).shuffle(at)
    return [(data.rows[i], data.cols[j], float(data.M[i, j])) for i, j in at]


@pytest.mark.parametrize("name", ["sat11", "sat20"])
def test_solvers(tmp_path, name):
    attributes = ("instance_id STRING", "repetition NUMERIC", "algorithm STRING", "runtime NUMERIC")
    head = "".join(f"@ATTRIBUTE {a}\n" for a in attributes)
    body = "".join(f"{i},1,{j},{v!r}\n" for i, j, v in lines(load(name))).replace("_fixed_", r"\(fixed\)")
    path = tmp_path / "algorithm_runs.arff"
    path.write_text(f"@RELATION RUNS\n{head}\n@DATA\n{body}")
    agree(name, path)


def test_direct_arylation(tmp_path):
    path = tmp_path / "experiment_index.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["", "base", "ligand", "solvent", "concentration", "temperature", "yield"])
        for k, (i, j, v) in enumerate(lines(load("direct-arylation"))):
            ligand, base = i.split("|")
            table.writerow([k, base, ligand, *j.split("|"), v])
    agree("direct-arylation", path)


def test_buchwald_hartwig(tmp_path):
    table: list[list[str | float | None]] = [["Aryl halide", "Base", "Ligand", "Additive", "Output"]]
    table += [[*i.split("|"), *j.split("|"), v] for i, j, v in lines(load("buchwald-hartwig"))]
    agree("buchwald-hartwig", xlsx(tmp_path / "data.xlsx", {"Plates1-3": table}))


@pytest.mark.parametrize("name", ["oboe-error", "oboe-runtime"])
def test_oboe(tmp_path, name):
    data, path = load(name), tmp_path / "matrix.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["", *data.cols])
        table.writerows(
            [row.zfill(5), *values] for row, values in zip(data.rows, data.M.tolist(), strict=True)
        )
    agree(name, path)


def test_davis(tmp_path):
    data = load("davis")
    Kd, drugs, kinases = (tmp_path / name for name in ("Kd.txt", "drugs.txt", "kinases.txt"))
    Kd.write_text("\n".join(" ".join(f"{v:.4g}" for v in row) for row in 10 ** (9 - data.M)))
    drugs.write_text("\n".join(data.rows))
    kinases.write_text("\n".join(data.cols))
    agree("davis", Kd, drugs, kinases)


def test_movielens_100k(tmp_path):
    path = tmp_path / "ml-100k.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(SHARED / "ml-100k" / "u.data", "ml-100k/u.data")
    agree("movielens-100k", path)


@pytest.mark.slow
def test_movielens_1m(tmp_path):
    text = "".join(f"{i}::{j}::{v:.0f}::978300760\n" for i, j, v in lines(load("movielens-1m")))
    path = tmp_path / "ratings.dat"
    path.write_text(text)
    agree("movielens-1m", path)
