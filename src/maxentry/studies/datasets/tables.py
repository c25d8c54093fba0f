"""Tables that publishers keep as text: Oboe's matrices, reaction yields, kinase affinities, run times of solvers."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from maxentry.errors import DataError
from maxentry.studies.datasets.dataset import Matrix
from maxentry.studies.datasets.pivot import pivot
from maxentry.studies.datasets.reading import content


def wide_csv(path: Path) -> Matrix:
    """Oboe: labels of columns in the first line, of rows in the first column (numbers, some with zeros before)."""
    head, *lines = _csv(_text(path), path) or [[]]
    rows = tuple(line[0].lstrip("0") or "0" if line[0].isdecimal() else line[0] for line in lines)
    try:
        M = np.array([line[1:] for line in lines], dtype=float)
    except ValueError:
        M = np.zeros(0)
    if M.ndim != 2 or M.shape[1] != len(head) - 1 or not M.size:
        raise DataError(f"expected a table of numbers with labels on both sides, but {path} is none.")
    return Matrix(M, rows, tuple(head[1:]))


def direct_arylation(path: Path) -> Matrix:
    """Number, base, ligand, solvent, concentration, temperature, yield: ligand and base against the conditions."""

    def lines() -> Iterator[tuple[str, str, str]]:
        for line in _csv(_text(path), path)[1:]:
            if len(line) != 7:
                raise DataError(f"expected 7 fields in each line, but one of {path} has {len(line)}.")
            _, base, ligand, solvent, concentration, temperature, value = line
            yield f"{ligand}|{base}", f"{solvent}|{concentration}|{temperature}", value

    return pivot(lines(), path)


def kinase_affinities(path: Path, drugs: Path, kinases: Path) -> Matrix:
    """Kd in nM as a table of numbers, and the labels in files of their own; pKd = 9 - log10(Kd)."""
    rows, cols = (
        tuple(line.strip() for line in _text(p).splitlines() if line.strip()) for p in (drugs, kinases)
    )
    try:
        Kd = np.array([line.split() for line in _text(path).splitlines() if line.strip()], dtype=float)
    except ValueError:
        Kd = np.zeros((0, 0))
    if Kd.shape != (len(rows), len(cols)) or not (Kd > 0).all():
        raise DataError(
            f"expected {len(rows)} x {len(cols)} positive numbers (the labels in {drugs.name} and {kinases.name}), "
            f"but {path} has others."
        )
    return Matrix(9 - np.log10(Kd), rows, cols)


def solver_runs(path: Path) -> Matrix:
    """algorithm_runs.arff of ASlib: run times of solvers (columns) on formulas (rows), cut-offs as they are."""
    head, *bodies = re.split(r"(?im)^\s*@data\b", _text(path), maxsplit=1)
    names = [name.strip("'\"").lower() for name in re.findall(r"(?im)^\s*@attribute\s+(\S+)", head)]
    needed = ("instance_id", "algorithm", "runtime")
    if not set(needed) <= set(names):
        raise DataError(
            f"expected the attributes {', '.join(needed)}, but {path} has {', '.join(names) or 'none'}."
        )
    at = [names.index(name) for name in needed]

    def lines() -> Iterator[tuple[str, str, str]]:
        for line in _csv("".join(bodies), path, quotechar="'", skipinitialspace=True):
            if line[0].startswith("%"):
                continue
            if len(line) != len(names):
                raise DataError(
                    f"expected {len(names)} fields in each line, but one of {path} has {len(line)}."
                )
            instance, algorithm, runtime = (line[k].strip().strip('"') for k in at)
            yield instance, re.sub(r"\\?[()]", "_", algorithm), runtime

    return pivot(lines(), path)


def _csv(text: str, path: Path, **dialect: Any) -> list[list[str]]:
    """The lines that are not empty, in fields."""
    try:
        return [line for line in csv.reader(text.splitlines(), **dialect) if line]
    except csv.Error as error:
        raise DataError(
            f"expected lines of fields with commas between them, but {path} has others: {error}."
        ) from None


def _text(path: Path) -> str:
    try:
        return content(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"expected text, but {path} is not UTF-8.") from None
