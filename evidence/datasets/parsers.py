"""Readers of data sets: the publishers' formats, and copies that are matrices already (.npz).

Any other file is refused with a message.
"""

from __future__ import annotations

import csv
import io
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evidence.datasets.dataset import Matrix
from maxentry._types import Array
from maxentry.compare.store import atomic_path
from maxentry.errors import DataError, MissingDependencyError

Integers = NDArray[np.integer]

WEB_PAGE = "a web page, as a network that asks for a login gives instead of a file"
LARGEST_FILE = 200_000_000  # bytes of a file in an archive, unpacked: ten times what any publisher has
ZIP_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, NotImplementedError)
UTF8_MARK = b"\xef\xbb\xbf"
NUMBER = re.compile(r"(\d+(?:\.\d+)?)")


# Files and archives


def is_web_page(data: bytes) -> bool:
    """Return whether this is markup: no publisher's file starts with <."""
    return data[:10_000].removeprefix(UTF8_MARK).lstrip().startswith(b"<")


def read_bytes(path: Path) -> bytes:
    """Return the file's bytes."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"cannot read {path}: {error.strerror or error}.") from None
    if is_web_page(data):
        raise DataError(f"expected data, got {WEB_PAGE}: {path}.")
    return data


def read_text(path: Path) -> str:
    """Return the file's text."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError(f"expected text, but {path} is not UTF-8.") from None


def read_member(path: Path, name: str) -> bytes:
    """Return the file called `name` in the archive at `path`, or `path` itself if it is not a .zip."""
    data = read_bytes(path)
    if path.suffix.lower() != ".zip":
        return data
    try:
        with zipfile.ZipFile(path) as archive:
            inside = [n for n in archive.namelist() if PurePosixPath(n).name == name]
            if len(inside) == 1:
                size = check_size(archive, inside[0], path)
                with archive.open(inside[0]) as file:
                    return file.read(size + 1)  # the size may be wrong: read() would unpack everything
    except ZIP_ERRORS as error:
        raise DataError(
            f"the .zip archive {path} ({len(data)} bytes) is broken or cut off: {error}."
        ) from None
    raise DataError(f"expected one file {name} in {path}, got {len(inside)}.")


def check_size(archive: zipfile.ZipFile, name: str, path: Path) -> int:
    """Return the size of a file in an archive; refuse one that can only be meant to fill the memory."""
    size = archive.getinfo(name).file_size
    if size > LARGEST_FILE:
        raise DataError(f"expected at most {LARGEST_FILE} bytes of {name} in {path}, got {size}.")
    return size


# Jester: jokes rated from -10 to 10, an .xls sheet with one person a row

NOT_RATED = 99


def complete_raters(path: Path) -> Matrix:
    """Read the people who rated every joke; labels are numbers of rows and jokes in the sheet, from 1."""
    ratings = _read_xls(read_member(path, "jester-data-1.xls"), path)[
        :, 1:
    ]  # the first column counts the ratings
    who = np.flatnonzero((ratings != NOT_RATED).all(1))
    jokes = range(1, ratings.shape[1] + 1)
    return Matrix(ratings[who], tuple(str(i + 1) for i in who), tuple(str(j) for j in jokes))


def _read_xls(workbook: bytes, path: Path) -> Array:
    """Return the numbers in the first sheet."""
    xlrd = _import("xlrd", "Jester's .xls")
    try:
        # The log would go to stdout.
        book = xlrd.open_workbook(file_contents=workbook, on_demand=True, logfile=io.StringIO())
        sheet = book.sheet_by_index(0)
        table = np.array([sheet.row_values(i) for i in range(sheet.nrows)], dtype=float)
    except Exception as error:  # xlrd raises errors of any kind for a broken file
        raise DataError(f"expected an .xls sheet of numbers, cannot read {path}: {error}.") from None
    if table.ndim != 2 or table.shape[1] < 2:
        raise DataError(f"expected a column of counts and columns of ratings, got none in {path}.")
    return table


def _import(name: str, what: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingDependencyError(
            f"{what} needs {name}, which is not installed: pip install {name}."
        ) from None


# MovieLens: who gave which movie how many stars

FEWEST = 50  # ratings of a movie, for it to be in movielens-1m
LARGEST_ID = 10_000  # of a user or movie: larger ones are not of these data sets, and may fill the memory


def movielens_100k(path: Path) -> Matrix:
    """Read u.data, alone or in ml-100k.zip: user, movie, stars, time, between tabs; all numbers up to the last."""
    user, movie, stars = _read_ratings(read_member(path, "u.data"), b"\t", path)
    users, movies = np.arange(1, user.max() + 1), np.arange(1, movie.max() + 1)
    return place_ratings(users, movies, user - 1, movie - 1, stars)


def movielens_1m(path: Path, fewest: int = FEWEST) -> Matrix:
    """Read ratings.dat, alone or in ml-1m.zip: user::movie::stars::time; movies with at least `fewest` ratings."""
    user, movie, stars = _read_ratings(read_member(path, "ratings.dat"), b"::", path)
    users = np.arange(1, user.max() + 1)
    movies, count = np.unique(movie, return_counts=True)
    movies = movies[count >= fewest]
    often = np.isin(movie, movies)
    return place_ratings(users, movies, user[often] - 1, np.searchsorted(movies, movie[often]), stars[often])


def place_ratings(users: Integers, movies: Integers, i: Integers, j: Integers, stars: Integers) -> Matrix:
    """Return the matrix with `stars` at (i, j), positions from 0, and NaN elsewhere."""
    M = np.full((len(users), len(movies)), np.nan)
    M[i, j] = stars
    return Matrix(M, tuple(str(u) for u in users), tuple(str(v) for v in movies))


def _read_ratings(text: bytes, separator: bytes, path: Path) -> tuple[Integers, ...]:
    """Return user, movie and stars of each line."""
    fields = [line.split(separator)[:3] for line in text.splitlines() if line]
    try:
        user, movie, stars = np.array(fields, dtype=np.int64).reshape(-1, 3).T
        right = min(user.min(), movie.min(), stars.min()) > 0 and stars.max() <= 5
    except (ValueError, OverflowError):  # no lines, too few fields, no numbers, or endless ones
        right = False
    if not right or max(user.max(), movie.max()) > LARGEST_ID:
        raise DataError(
            f"expected lines of user, movie, stars (1 to 5) and time separated by {separator.decode()!r}, "
            f"got others in {path}."
        )
    return user, movie, stars


# Text tables: Oboe's matrices, reaction yields, kinase affinities, run times of solvers


def wide_csv(path: Path) -> Matrix:
    """Read Oboe's: labels of columns in the first line, of rows in the first column (numbers, some zero-padded)."""
    head, *lines = _read_csv(read_text(path), path) or [[]]
    rows = tuple(line[0].lstrip("0") or "0" if line[0].isdecimal() else line[0] for line in lines)
    try:
        M = np.array([line[1:] for line in lines], dtype=float)
    except ValueError:
        M = np.zeros(0)
    if M.ndim != 2 or M.shape[1] != len(head) - 1 or not M.size:
        raise DataError(
            f"expected a table of numbers with labels on both sides, got something else in {path}."
        )
    return Matrix(M, rows, tuple(head[1:]))


def direct_arylation(path: Path) -> Matrix:
    """Read number, base, ligand, solvent, concentration, temperature, yield: ligand and base by conditions."""

    def lines() -> Iterator[tuple[str, str, str]]:
        for line in _read_csv(read_text(path), path)[1:]:
            if len(line) != 7:
                raise DataError(f"expected 7 fields in each line of {path}, got {len(line)}.")
            _, base, ligand, solvent, concentration, temperature, value = line
            yield f"{ligand}|{base}", f"{solvent}|{concentration}|{temperature}", value

    return pivot(lines(), path)


def kinase_affinities(path: Path, drugs: Path, kinases: Path) -> Matrix:
    """Read Kd in nM as a table of numbers, and the labels from files of their own; pKd = 9 - log10(Kd)."""
    rows, cols = (
        tuple(line.strip() for line in read_text(p).splitlines() if line.strip()) for p in (drugs, kinases)
    )
    try:
        Kd = np.array([line.split() for line in read_text(path).splitlines() if line.strip()], dtype=float)
    except ValueError:
        Kd = np.zeros((0, 0))
    if Kd.shape != (len(rows), len(cols)) or not (Kd > 0).all():
        raise DataError(
            f"expected {len(rows)} x {len(cols)} positive numbers (the labels in {drugs.name} and {kinases.name}), got "
            f"others in {path}."
        )
    return Matrix(9 - np.log10(Kd), rows, cols)


def solver_runs(path: Path) -> Matrix:
    """Read algorithm_runs.arff of ASlib: run times of solvers (columns) on formulas (rows), cut-offs as they are."""
    head, *bodies = re.split(r"(?im)^\s*@data\b", read_text(path), maxsplit=1)
    names = [name.strip("'\"").lower() for name in re.findall(r"(?im)^\s*@attribute\s+(\S+)", head)]
    needed = ("instance_id", "algorithm", "runtime")
    if not set(needed) <= set(names):
        raise DataError(
            f"expected the attributes {', '.join(needed)}, got {', '.join(names) or 'none'} in {path}."
        )
    at = [names.index(name) for name in needed]

    def lines() -> Iterator[tuple[str, str, str]]:
        for line in _read_csv("".join(bodies), path, quotechar="'", skipinitialspace=True):
            if line[0].startswith("%"):
                continue
            if len(line) != len(names):
                raise DataError(f"expected {len(names)} fields in each line of {path}, got {len(line)}.")
            instance, algorithm, runtime = (line[k].strip().strip('"') for k in at)
            yield instance, re.sub(r"\\?[()]", "_", algorithm), runtime

    return pivot(lines(), path)


def _read_csv(text: str, path: Path, **dialect: Any) -> list[list[str]]:
    """Return the fields of the lines that are not empty."""
    try:
        return [line for line in csv.reader(text.splitlines(), **dialect) if line]
    except csv.Error as error:
        raise DataError(f"expected lines of fields separated by commas in {path}: {error}.") from None


# Buchwald-Hartwig yields: an .xlsx workbook

SHEET = "Plates1-3"
COLUMNS = ("Aryl halide", "Base", "Ligand", "Additive", "Output")


def buchwald_hartwig(path: Path) -> Matrix:
    """Read halide and base by ligand and additive from the sheet with all plates."""

    def lines() -> Iterator[tuple[str, str, str]]:
        head, *table = _read_xlsx(path, SHEET) or [[]]
        if not set(COLUMNS) <= set(head):
            raise DataError(
                f"expected the columns {', '.join(COLUMNS)} in sheet {SHEET} of {path}, got others."
            )
        at = [head.index(name) for name in COLUMNS]
        for line in table:
            halide, base, ligand, additive, output = (line[k] for k in at)
            if any((halide, base, ligand, additive, output)):
                yield f"{halide}|{base}", f"{ligand}|{additive}", output

    return pivot(lines(), path)


def _read_xlsx(path: Path, sheet: str) -> list[list[str]]:
    """Return the rows of one sheet as text; empty cells are empty texts."""
    data = read_bytes(path)
    openpyxl = _import("openpyxl", "an .xlsx workbook")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for name in archive.namelist():
                check_size(archive, name, path)
        book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True)
        rows = book[sheet].iter_rows(values_only=True)
        return [["" if cell is None else str(cell) for cell in row] for row in rows]
    except DataError:
        raise
    except Exception as error:  # openpyxl raises errors of any kind for a broken file
        raise DataError(
            f"expected an .xlsx workbook with a sheet {sheet}, cannot read {path} ({len(data)} bytes): {error}."
        ) from None


# One measurement a line


def pivot(lines: Iterable[tuple[str, str, str]], path: Path) -> Matrix:
    """Return (row, column, value) as a matrix with sorted labels, numbers in the parts of a label by size."""
    entries: dict[tuple[str, str], float] = {}
    for row, col, value in lines:
        try:
            number = float(value)
        except ValueError:
            raise DataError(f"expected a number for {row}, {col} in {path}, got {value!r}.") from None
        if (row, col) in entries:
            raise DataError(f"expected one value for {row}, {col} in {path}, got several.")
        entries[row, col] = number
    if not entries:
        raise DataError(f"expected measurements in {path}, got none.")
    rows, cols = (tuple(sorted({key[side] for key in entries}, key=_sort_key)) for side in (0, 1))
    i, j = ({label: k for k, label in enumerate(labels)} for labels in (rows, cols))
    M = np.full((len(rows), len(cols)), np.nan)
    for (row, col), number in entries.items():
        M[i[row], j[col]] = number
    return Matrix(M, rows, cols)


def _sort_key(label: str) -> list[tuple[float, str]]:
    """Compare the parts between | in turn: a number by its size, anything else as text."""
    return [
        (float(part), "") if NUMBER.fullmatch(part) else (float("inf"), part) for part in label.split("|")
    ]


# Copies, as in MAXENTRY_DATA and in the cache


def read_npz(path: Path) -> Matrix:
    """Read M, rows, cols."""
    with _arrays(path) as a:
        matrix = Matrix(a["M"].astype(float), _labels(a["rows"]), _labels(a["cols"]))
        if matrix.M.shape != (len(matrix.rows), len(matrix.cols)):
            raise ValueError("its labels do not match its rows and columns")
        return matrix


def read_jester(path: Path) -> Matrix:
    """Read ratings times 100, and users by their position in the publisher's sheet, from 0."""
    with _arrays(path) as a:
        return Matrix(a["M"] / 100, _labels(a["rows"] + 1), _labels(np.arange(1, a["M"].shape[1] + 1)))


def read_movielens_1m(path: Path) -> Matrix:
    """Read positions from 0 of users and movies, stars, and the publisher's numbers of the movies."""
    with _arrays(path) as a:
        users = np.arange(1, int(a["shape"][0]) + 1)
        return place_ratings(users, a["movie_id"], a["user"], a["item"], a["rating"])


def write_copy(matrix: Matrix, path: Path) -> None:
    """Write M, rows, cols; another process sees the whole file or none."""
    with atomic_path(path) as part, part.open("wb") as file:
        M = matrix.M.astype(np.float32)
        np.savez_compressed(file, M=M, rows=np.array(matrix.rows), cols=np.array(matrix.cols))


@contextmanager
def _arrays(path: Path) -> Iterator[Mapping[str, NDArray[Any]]]:
    try:
        with np.load(path, allow_pickle=False) as arrays:
            yield arrays
    except Exception as error:  # NumPy raises errors of any kind for a broken file
        raise DataError(f"expected a matrix in {path}, cannot read it: {error}.") from None


def _labels(labels: NDArray[Any]) -> tuple[str, ...]:
    return tuple(str(label) for label in labels)
