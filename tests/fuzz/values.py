"""Odd values: what nobody should pass, and what somebody will. Everything is drawn from a `random.Random`."""

from __future__ import annotations

import contextlib
import datetime as dt
import io
import json
import zipfile
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np

NUMBERS: tuple[Any, ...] = (
    0, 1, 2, 3, -1, 7, 0.5, -0.0, 1e-300, 1e300, -1e300, 1e160, float("nan"), float("inf"), -float("inf"),
    2**31, 2**63, 2**64, 10**400, -(10**400), 5e-324, True, False, np.int8(3), np.uint64(2**63), np.float32(0.1),
    np.float64("nan"), np.longdouble("1e4000"), np.bool_(True), Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"),
    Decimal("1E+999999"), Fraction(1, 3), 1j, np.complex128(1), np.float16(2),
)  # fmt: skip
TEXTS = (
    "", " ", "a", "r1", "c1", "1", "1.5", "1,5", "nan", "inf", "-1", "1e999", "auto", "log", "logit", "logit(0, 1)",
    "logit(1, 0)", "logit(a, b)", "logit(1e308, -1e308)", "percent", "gaussian", "student", "population", "long",
    "rows", "cols", "pandas", "polars", "columns", "uniform", "balanced", "maxent", "failed", "=1+1", "é", "\x00",
    "\ud800", "\u202e", "a\nb", "x" * 400, "\U0001f600" * 90, "../../x", "/", "%s%n", "{}", "[1]", "null", "١٢",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, b"", b"\xff\x00", (), [], {}, set(), frozenset({1}), object(), object, Ellipsis, NotImplemented, len,
    range(3), slice(1, 2), dt.date(2024, 2, 29), dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, tzinfo=dt.UTC),
    dt.timedelta(days=-1), dt.timedelta(days=999999999), np.datetime64("NaT"), np.datetime64("2024-01-01"),
    np.timedelta64(1, "s"), memoryview(b"ab"), Random, 3 + 0j,
)  # fmt: skip
TYPES = ("f8", "f4", "f2", "i8", "u8", "i1", "?", "c16", "M8[D]", "m8[s]", "U3", "S3", "O", "g")


def scalar(rng: Random) -> Any:
    """A number, a text, or something else that stands alone."""
    return rng.choice(rng.choice((NUMBERS, TEXTS, OTHERS)))


def value(rng: Random, depth: int = 2) -> Any:
    """Any odd value."""
    kind = rng.randrange(12 if depth else 5)
    if kind < 5:
        return scalar(rng)
    if kind < 7:
        return sequence(rng, depth)
    return rng.choice((array, sparse, frame, mapping, masked))(rng)


def sequence(rng: Random, depth: int = 1) -> Any:
    """A list, tuple, set or iterator of odd values."""
    items = [value(rng, depth - 1) for _ in range(rng.randrange(5))]
    if rng.random() < 0.3:
        items = [rng.choice(NUMBERS)] * rng.randrange(1, 8)
    make: Callable[[Any], Any] = rng.choice(
        (list, tuple, iter, lambda x: (y for y in x), lambda x: dict.fromkeys(map(str, x)))
    )
    return make(items)


def mapping(rng: Random) -> dict[Any, Any]:
    """A mapping with keys that something may look for."""
    names = ("id", "row", "col", "value", "entry", "status", "failed", "", "shape", 1, None, "x" * 400)
    return {rng.choice(names): value(rng, 1) for _ in range(rng.randrange(4))}


def array(rng: Random) -> Any:
    """An array of any type and up to four dimensions."""
    shape = rng.choice(((), (0,), (3,), (1, 1), (2, 2), (4, 3), (3, 0), (5, 4), (2, 2, 2), (1, 1, 1, 1)))
    kind = rng.choice(TYPES)
    size = int(np.prod(shape))
    if kind == "O":
        made = np.empty(size, dtype=object)
        made[:] = [scalar(rng) for _ in range(size)]
        return made.reshape(shape)
    raw = np.frombuffer(rng.randbytes(max(1, size) * np.dtype(kind).itemsize), dtype=kind)[:size]
    if kind == "?":
        raw = np.array([rng.random() < 0.5 for _ in range(size)], dtype=bool)
    if kind == "U3":
        raw = np.array([rng.choice(TEXTS)[:3] for _ in range(size)], dtype="U3")
    made = raw.reshape(shape).copy()
    if kind in ("f8", "f4", "g") and rng.random() < 0.7:
        plain = np.array([rng.choice((0.1, 1.0, 2.5, -3.0, np.nan, 1e200, np.inf)) for _ in range(size)])
        with np.errstate(over="ignore"):
            made = plain.astype(kind).reshape(shape)
    return made if rng.random() < 0.8 else np.asfortranarray(made)[..., ::-1] if made.ndim else made


def masked(rng: Random) -> Any:
    """A masked array."""
    given = array(rng)
    return np.ma.masked_array(given, mask=rng.choice((True, False, np.ma.nomask)))


def sparse(rng: Random) -> Any:
    """A sparse matrix of any format."""
    from scipy import sparse as scipy_sparse

    make = rng.choice((scipy_sparse.csr_array, scipy_sparse.csc_matrix, scipy_sparse.coo_array, scipy_sparse.bsr_array,
                       scipy_sparse.lil_matrix, scipy_sparse.dok_array, scipy_sparse.dia_array))  # fmt: skip
    return make(np.array([[1.0, 0, 2], [0, 3, 0], [4, 0, 5], [0, 6, 0]]))


def broken_sparse(rng: Random) -> Any:
    """A sparse matrix whose parts do not agree: to print it may corrupt the memory."""
    made = sparse(rng)
    parts = [part for part in ("indptr", "indices", "data", "row", "col", "offsets", "_shape", "coords", "rows")
             if hasattr(made, part)]  # fmt: skip
    part = rng.choice(parts)
    broken = rng.choice(
        ([0, 2**31 - 1, 2, 3, 4], [0, 9, 2, 10**9, 6], [-5, -1, 3, 4, 6], [9**9] * 6, [], [[1]], (10**9, 2))
    )
    with contextlib.suppress(AttributeError, ValueError, TypeError):
        setattr(made, part, broken if part in ("_shape", "coords") else np.array(broken))
    return made


def frame(rng: Random) -> Any:
    """A pandas or polars frame or series."""
    import pandas
    import polars

    names = rng.sample(("row", "col", "value", "id", "a", "b", "status", " ", "x" * 400), rng.randrange(5))
    kind = rng.randrange(3)
    n = rng.randrange(5)
    numbers = [x for x in NUMBERS if not isinstance(x, Decimal)]  # pandas cannot print one that is no number

    def cells() -> Any:
        return rng.choice((rng.choice(numbers), rng.choice(TEXTS), None))

    columns = {
        name: [rng.choice((0.5, 1.0, None)) if kind == 0 else cells() for _ in range(n)] for name in names
    }
    try:
        if rng.random() < 0.5:
            made: Any = polars.DataFrame(columns, strict=False)
            return made.to_series(0) if names and rng.random() < 0.1 else made
        made = pandas.DataFrame(
            columns, index=rng.choice((None, [cells() for _ in range(n)])) if names else None
        )
        if names and rng.random() < 0.3:
            made.columns = [rng.choice((*TEXTS, 1, None, (1, 2))) for _ in names]
        return made.iloc[:, 0] if names and rng.random() < 0.1 else made
    except BaseException:  # the libraries refuse some of it themselves
        return pandas.DataFrame({"a": [1.0, None], "b": [2.0, 3.0]})


def json_value(rng: Random, depth: int = 2) -> Any:
    """What JSON can say, or nearly (NaN)."""
    kind = rng.randrange(8 if depth else 5)
    if kind < 3:
        return rng.choice(
            (0, 1, -1, 2, 0.5, 1e300, 2**63, 2**70, 10**30, float("nan"), float("inf"), True, False, None, 3)
        )
    if kind < 5:
        return rng.choice(TEXTS)
    if kind < 7:
        return [json_value(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {str(rng.choice(TEXTS)): json_value(rng, depth - 1) for _ in range(rng.randrange(3))}


def change_json(rng: Random, data: Any) -> Any:
    """A document with one of its parts replaced, removed or added."""
    if isinstance(data, dict) and data and rng.random() < 0.9:
        data = dict(data)
        key = rng.choice(list(data))
        way = rng.random()
        if way < 0.1:
            del data[key]
        elif way < 0.15:
            data[str(rng.choice(TEXTS))] = json_value(rng)
        else:
            data[key] = change_json(rng, data[key])
        return data
    if isinstance(data, list) and data and rng.random() < 0.8:
        data = list(data)
        k = rng.randrange(len(data))
        if rng.random() < 0.2:
            del data[k]
        else:
            data[k] = change_json(rng, data[k])
        return data
    return json_value(rng)


def change_bytes(rng: Random, data: bytes) -> bytes:
    """Bytes flipped, cut, doubled, overwritten, or others altogether."""
    changed = bytearray(data)
    way = rng.randrange(7)
    if way == 0:
        return bytes(changed[: rng.randrange(len(changed) + 1)])
    if way == 1:
        return rng.randbytes(rng.randrange(200))
    if way == 2 and changed:
        at = rng.randrange(len(changed))
        return bytes(changed[:at] + changed[at : at + 64] + changed[at:])
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        if changed:
            at = rng.randrange(len(changed))
            changed[at] = rng.randrange(256) if way < 5 else changed[at] ^ (1 << rng.randrange(8))
    return bytes(changed)


def change_archive(rng: Random, data: bytes) -> bytes:
    """An .npz file with one of its parts changed and all checksums right, or with one declared far too large."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = rng.choice(sorted(parts)) if rng.random() < 0.6 else "meta.npy"
    way = rng.randrange(5)
    given = np.load(io.BytesIO(parts[name])) if name in parts else np.zeros(1)
    if name == "meta.npy" and way:
        document = change_json(rng, json.loads(str(given)))
        parts[name] = as_npy(np.array(json.dumps(document)))
    elif way == 0:
        parts.pop(name, None)
    elif way == 1:
        odd = array(rng)
        parts[name] = as_npy(odd if odd.dtype != object else np.full(odd.shape, "odd"))
    elif way == 2:
        header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': ({rng.choice((9**9, 2**62, -1, 10**12))},), }}"
        header = header.ljust(117) + "\n"
        parts[name] = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(64)
    elif way == 3 and given.ndim:
        cut = given[: rng.randrange(given.shape[0] + 1)] if rng.random() < 0.5 else given.reshape(-1)
        parts[name] = as_npy(cut)
    elif given.dtype.kind in "fi" and given.size:
        flat = given.copy().reshape(-1)
        odd_number = rng.choice((np.nan, np.inf, 1e300, -1e300, -1, 2**31 - 1, -(2**31)))
        with np.errstate(all="ignore"):
            flat[rng.randrange(flat.size)] = np.array(odd_number).astype(flat.dtype)
        parts[name] = as_npy(flat.reshape(given.shape))
    else:
        parts["../../x.npy"] = b"foreign"
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        for each, content in parts.items():
            archive.writestr(each, content)
    return made.getvalue()


def as_npy(given: Any) -> bytes:
    """An array as the bytes of an .npy file."""
    made = io.BytesIO()
    np.save(made, given, allow_pickle=False)
    return made.getvalue()


def shown(given: object) -> str:
    """A value in few words, for a report."""
    if type(given).__module__.startswith("scipy"):  # one that is broken must not be printed
        return f"sparse {type(given).__name__}"
    try:
        text = f"{type(given).__name__} {given!r}"
    except Exception:
        text = f"{type(given).__name__} without words"
    return " ".join(text.encode("ascii", "backslashreplace").decode().split())[:120]
