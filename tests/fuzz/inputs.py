"""Odd data at the doors through which values come in: observations, options of `complete`, tables, campaigns.

`draw_inputs(seed, n)` gives the same inputs for the same seed. Each of them is accepted, or refused by a MaxentryError
in one line; nothing else may come out.
"""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse

from maxentry import Campaign, InverseGamma, Observations, Priors, Sampling, complete
from maxentry.campaign.lines import lines_from_table
from maxentry.errors import MaxentryError
from maxentry.tables import Format, read

LONGEST = 300  # characters of a refusal


class Input(NamedTuple):
    """A call with odd data, and its name for a report."""

    door: str
    call: Callable[[], object]
    given: tuple[Any, ...]


class NoText:
    """An object that can be neither shown nor turned into a number."""

    def __repr__(self) -> str:
        raise RuntimeError("no text\nof this object")

    def __float__(self) -> float:
        raise RuntimeError("no number")

    def __hash__(self) -> int:
        return 1


class NoItems:
    """A sequence that breaks while it is read."""

    def __iter__(self) -> Iterator[int]:
        yield 1
        raise RuntimeError("no more items")

    def __len__(self) -> int:
        return 3


NUMBERS: tuple[Any, ...] = (
    0, 1, -1, 3, 0.5, -0.0, 1e-320, 1e300, -1e308, float("nan"), float("inf"), -float("inf"), 2**31, 2**63, -(2**63),
    10**400, -(10**400), 10**5000, True, False, 1j, 3 + 0j, np.int8(-3), np.uint64(2**64 - 1), np.float16("inf"),
    np.longdouble("1e4000"), np.complex64(1), np.bool_(True), Decimal("1.5"), Decimal("NaN"), Decimal("sNaN"),
    Decimal("1E+999999"), Decimal("-Infinity"), Fraction(1, 3), Fraction(10**400, 3),
)  # fmt: skip
TEXTS: tuple[str, ...] = (
    "", " ", "a", "b", "r0", "c1", "1", "1.5", "1,5", "1,234", "-1", "nan", "NA", "inf", "-inf", "1e999", "١٢", "=1+1",
    "failed", "\x00", "a\x00b", "a\nb", "\r", "\ud800", "\u202e", "\x1b[31m", "x" * 5000, "1" * 5000, "1" * 5000 + "x",
    "../../x", "auto", "log", "logit(1, 0)", "student", "rows", "pandas", "row", "col", "value",
)  # fmt: skip
OTHERS: tuple[Any, ...] = (
    None, b"", b"\xff\x00", bytearray(b"1"), (), [], {}, set(), frozenset({1}), object(), NoText(), NoItems(), list,
    np.float64, pd.DataFrame, len, Ellipsis, range(3), slice(1, 2), memoryview(b"ab"), pd.NA, pd.NaT, np.ma.masked,
    dt.date(2024, 2, 29), dt.timedelta(days=1), np.datetime64("NaT"), np.datetime64("2024-01-01"), pd.Timestamp("2024"),
    np.timedelta64(1, "s"), pd.Interval(0, 1), pd.Series([1.0]), pl.Series([1, 2]), np.array(3.0),
    np.array("2024", "M8[ns]"),
)  # fmt: skip
MATRIX = np.array([[1.0, np.nan, 2.0], [0.5, 3.0, np.nan], [np.nan, 4.0, 5.0], [2.5, 6.0, 1.5]])
TINY = Sampling("population", chains=2, anneal=1, settle=1, draws=2, thin=1)
LARGEST = 10_000  # of whole numbers where a larger one is granted, and takes long


def draw_scalar(rng: Random) -> Any:
    """A number, a text, or an object of another kind."""
    return rng.choice(rng.choice((NUMBERS, TEXTS, OTHERS)))


def draw_small(rng: Random) -> Any:
    """Anything odd but large whole numbers."""
    given = draw_any(rng)
    return 3 if isinstance(given, int | np.integer) and given > LARGEST else given


def draw_any(rng: Random) -> Any:
    """Anything odd: a scalar, lists within lists, an array, a sparse matrix, a frame, a mapping."""
    kinds = (
        draw_scalar,
        draw_scalar,
        draw_list,
        draw_nested,
        draw_array,
        draw_masked,
        draw_sparse,
        draw_frame,
        draw_mapping,
    )
    return rng.choice(kinds)(rng)


def draw_list(rng: Random) -> Any:
    """A list, or another kind of sequence, of scalars."""
    items = [draw_scalar(rng) for _ in range(rng.randrange(5))]
    if rng.random() < 0.3:
        items = [rng.choice((0.5, 1.0, 2.0, None, "a")) for _ in range(4)]
    kinds: tuple[Callable[[Any], Any], ...] = (list, tuple, iter, lambda x: (y for y in x), as_objects)
    return rng.choice(kinds)(items)


def as_objects(items: list[Any]) -> Any:
    """An array of these objects as they are."""
    array = np.empty(len(items), dtype=object)
    for k, item in enumerate(items):
        array[k] = item
    return array


def draw_nested(rng: Random) -> Any:
    """Lists of lists, often ragged."""
    width = rng.randrange(4)
    rows = [
        [draw_scalar(rng) if rng.random() < 0.3 else 1.0 for _ in range(width)]
        for _ in range(rng.randrange(5))
    ]
    if rows and rng.random() < 0.3:
        rows[rng.randrange(len(rows))] = draw_list(rng)
    return rows


def draw_array(rng: Random) -> Any:
    """An array of any type with up to three dimensions."""
    shape = rng.choice(((), (0,), (3,), (1, 1), (2, 2), (4, 3), (0, 3), (2, 2, 2)))
    kind = rng.choice(
        ("f8", "f2", "g", "i8", "u8", "?", "c16", "M8[D]", "M8[ns]", "m8[s]", "U3", "S3", "O", "i4,f8", ">f8")
    )
    size = int(np.prod(shape))
    if kind == "O":
        return as_objects([draw_scalar(rng) for _ in range(size)]).reshape(shape)
    if kind == "f8" and rng.random() < 0.7:
        return np.array([rng.choice((0.1, 1.0, -3.0, np.nan, 1e200, np.inf)) for _ in range(size)]).reshape(
            shape
        )
    if kind == "U3":
        return np.array([rng.choice(TEXTS)[:3] for _ in range(size)], dtype="U3").reshape(shape)
    raw = (
        rng.randbytes(size * np.dtype(kind).itemsize)
        if kind != "?"
        else bytes(rng.randrange(2) for _ in range(size))
    )
    return np.frombuffer(raw, dtype=kind).reshape(shape).copy()


def draw_masked(rng: Random) -> Any:
    """A masked array."""
    return np.ma.masked_array(draw_array(rng), mask=rng.choice((True, False, np.ma.nomask)))


def draw_sparse(rng: Random) -> Any:
    """A sparse matrix of any format; in most of them a part says what cannot be."""
    formats = ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")
    matrix: Any = sparse.csr_array(np.nan_to_num(MATRIX)).asformat(rng.choice(formats))
    if rng.random() < 0.7:
        part = rng.choice(("indptr", "indices", "data", "row", "col", "offsets", "rows"))
        broken = rng.choice((
            [0, 2**31 - 1, 2, 3, 8], [0, 9, 2, 10**9, 6], [-5, -1, 3, 4, 6], [0, 2, 4, 6, 10**6], [5] * 5,
            [0] * 5, [0, 2, 4, 5, 8], [0, 1], [], [[1]], [0.5] * 5, [2**40] * 8, [-1] * 8, [1, 1, 1, 1, 9, 9, 9, 9],
        ))  # fmt: skip
        if hasattr(matrix, part):
            try:
                setattr(matrix, part, np.array(broken) if part != "rows" else as_objects([[0, 1, 2]] * 4))
            except (AttributeError, ValueError, TypeError):
                return matrix
    return matrix


def draw_frame(rng: Random) -> Any:
    """A frame of pandas or polars, wide or long, with odd names, index and cells; or a series."""
    names: list[Any] = rng.sample(("row", "col", "value", "id", "a", "b", "status", " "), rng.randrange(5))
    n = rng.randrange(4)

    def draw_cell() -> Any:
        return rng.choice((rng.choice(NUMBERS), rng.choice(TEXTS), None, 1.0, 2.0, [1, 2], draw_scalar(rng)))

    kinds: tuple[tuple[Any, ...], ...] = (
        (1.0, None, 0.5), (1e300, float("inf")), (*TEXTS[:20], None), (1, 2, None), (True, None), (b"\xff", b"1"),
        ([1], [2, 3]), (dt.date(2024, 2, 29), None), (Decimal("1.5"), None), ({"a": 1},), (None,),
    )  # fmt: skip
    columns = {name: [rng.choice(kind) for _ in range(n)] for name in names for kind in [rng.choice(kinds)]}
    try:
        if rng.random() < 0.4:
            made: Any = pl.DataFrame(columns)  # cells of one type, others polars does not take
            return rng.choice((made, made, made.lazy(), made.to_series(0) if names else made))
        made = pd.DataFrame({name: [draw_cell() for _ in range(n)] for name in names})
        if rng.random() < 0.4:
            made = pd.DataFrame(columns)
        if rng.random() < 0.3:
            made.index = [draw_scalar(rng) for _ in range(len(made))]
        if rng.random() < 0.3:
            made.columns = [rng.choice((*TEXTS, 1, None, pd.NA, (1, 2), "a", "a")) for _ in names]
        if rng.random() < 0.1:
            made = made.astype(
                rng.choice(("category", "string", "complex", "Sparse[float]", "datetime64[ns]"))
            )
        if rng.random() < 0.1:
            made.columns = pd.MultiIndex.from_tuples([(k, k) for k in range(len(names))])
        return made.iloc[:, 0] if names and rng.random() < 0.1 else made
    except Exception:  # the libraries refuse some of it themselves
        return pd.DataFrame({"a": [1.0, None], "b": [2.0, 3.0]})


def draw_mapping(rng: Random) -> dict[Any, Any]:
    """Columns by name, as `tell` takes them."""
    names = (
        "id",
        "row",
        "col",
        "column",
        "value",
        "status",
        "failed",
        "reason",
        "ID",
        " value",
        1,
        None,
        "x",
    )
    return {
        rng.choice(names): draw_list(rng) if rng.random() < 0.7 else draw_scalar(rng)
        for _ in range(rng.randrange(5))
    }


def draw_text(rng: Random) -> Any:
    """A CSV file or something like it, as bytes or text."""
    names = rng.choice(
        (
            ["row", "col", "value"],
            ["id", "value"],
            ["x", "a", "b"],
            ["row", "row", "value"],
            [rng.choice(TEXTS)],
        )
    )
    lines = [
        names,
        *([rng.choice(TEXTS)[:200] for _ in range(rng.randrange(5))] for _ in range(rng.randrange(4))),
    ]
    text = rng.choice(("\n", "\r\n", "\r")).join(rng.choice((",", ";", "\t")).join(line) for line in lines)
    text = rng.choice(("", "\ufeff", "sep=;\n", "PAR1", '"')) + text
    content = text.encode(rng.choice(("utf-8", "utf-16", "utf-32")), "replace")
    if rng.random() < 0.3 and content:
        broken = bytearray(content)
        broken[rng.randrange(len(broken))] = rng.randrange(256)
        content = bytes(broken)
    return rng.choice((content, content, text, content[: rng.randrange(len(content) + 1)]))


# Doors


def observe(rng: Random) -> Input:
    """`Observations.of` with odd data, or with good data and odd options."""
    names = ("shape", "row_labels", "col_labels", "row", "col", "value", "row_column")
    options = {name: draw_any(rng) for name in rng.sample(names, rng.choice((0, 0, 1, 2)))}
    data = rng.choice((draw_any, draw_array, draw_sparse, draw_frame, draw_nested, lambda _: MATRIX))(rng)
    if rng.random() < 0.2:
        data = tuple(draw_any(rng) if rng.random() < 0.5 else [0, 1, 2] for _ in range(3))
    return Input("Observations.of", lambda: Observations.of(data, **options), (data, options))


def fit(rng: Random) -> Input:
    """`complete` with odd options."""
    good: dict[str, Any] = {"rank": 1, "sampling": TINY, "seed": 1, "threads": 1, "progress": False}
    names = (
        "rank", "noise", "effects", "priors", "transform", "sampling", "start", "seed", "threads", "dtype", "watch",
        "row_labels",
    )  # fmt: skip
    options = {name: draw_small(rng) for name in rng.sample(names, rng.choice((1, 1, 2)))}
    if rng.random() < 0.1:
        scale = InverseGamma(1.0, 1.0)
        return Input("Priors", lambda: Priors(scale, scale, scale, draw_small(rng), draw_small(rng)), ())
    return Input("complete", lambda: complete(MATRIX, **good | options), (options,))


def read_table(rng: Random) -> Input:
    """A table from a stream, columns or a frame, and the lines of a report in it."""
    if rng.random() < 0.6:
        content, form = draw_text(rng), rng.choice((None, None, *Format))
        stream = io.StringIO(content) if isinstance(content, str) else io.BytesIO(content)
        return Input("tables.read", lambda: lines_from_table(read(stream, form)), (content, form))
    data = rng.choice((draw_any, draw_frame, draw_mapping))(rng)
    return Input("tables.read", lambda: lines_from_table(data), (data,))


def create(rng: Random) -> Input:
    """`Campaign.create` with odd labels, values or settings."""
    settings = (
        "rank", "acquisition", "noise", "effects", "priors", "transform", "range", "costs", "mask", "lease",
        "n_initial", "again", "target_sd", "budget", "per_row", "per_col", "plates", "seed", "values", "frame", "who",
        "x",
    )  # fmt: skip
    options = {name: draw_small(rng) for name in rng.sample(settings, rng.choice((0, 1, 1, 2)))}
    name, rows, cols = "x", ["r0", "r1", "r2"], ["c0", "c1"]
    odd: list[Any] = [name, rows, cols]
    if rng.random() < 0.5:
        odd[rng.randrange(3)] = draw_small(rng)

    def call() -> None:
        Campaign.create("sqlite://", *odd, **{"seed": 1} | options).close()

    return Input("Campaign.create", call, (odd, options))


def tell(rng: Random) -> Input:
    """`Campaign.tell` and the other changes with odd ids, labels and values."""
    campaign = Campaign.create(
        "sqlite://", "x", ["r0", "r1", "r2"], ["c0", "c1"], seed=1, acquisition="balanced"
    )
    campaign.ask(2)

    def odd(good: Any) -> Any:
        return draw_small(rng) if rng.random() < 0.5 else good

    ways: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
        ("tell", (odd([1]), odd([0.5])), {}),
        ("tell", (odd(1), odd(0.5)), {"again": odd(False)}),
        ("tell", (), {"row": odd("r0"), "col": odd("c0"), "value": odd(0.5)}),
        ("tell", (draw_mapping(rng),), {}),
        ("tell", (draw_frame(rng),), {}),
        ("correct", (odd(1), odd(0.5)), {"reason": odd("")}),
        ("correct", (None, odd(0.5)), {"row": odd("r0"), "col": odd("c0")}),
        ("correct", (None, odd(0.5)), {"number": odd(1)}),
        ("fail", (odd([1]), odd("")), {"retry": odd(False)}),
        ("withdraw", (odd([1]), odd("")), {}),
        ("add_rows", (odd(["z"]),), {"cost": odd(None)}),
        ("add_cols", (odd(["z"]),), {"who": odd(None)}),
    ]
    name, args, options = rng.choice(ways)

    def call() -> None:
        before = len(campaign.history(frame="columns")["event"])
        try:
            getattr(campaign, name)(*args, **options)
        except MaxentryError:
            assert len(campaign.history(frame="columns")["event"]) == before, "changed after a refusal"
            raise
        finally:
            campaign.close()

    return Input(f"Campaign.{name}", call, (args, options))


DOORS = (observe, observe, observe, fit, read_table, read_table, create, tell, tell)


def draw_inputs(seed: int, n: int) -> Iterator[Input]:
    """The first n inputs of this seed. Each has a random generator of its own, so any of them can be made again."""
    for k in range(n):
        rng = Random(f"{seed} {k}")
        yield rng.choice(DOORS)(rng)


def find_fault(given: Input) -> str | None:
    """Make the call; None if it is accepted or refused as it should be, else what was wrong, for a report."""
    try:
        given.call()
    except MaxentryError as error:
        text = str(error)
        if len(text) > LONGEST or len(text.splitlines()) != 1 or not text.isprintable():
            return f"{given.door}: a refusal of {len(text)} characters: {text!a:.400}"
    except Exception as error:
        where = error.__traceback__
        places = []
        while where is not None:
            places.append(f"{where.tb_frame.f_code.co_filename.rpartition('/src/')[2]}:{where.tb_lineno}")
            where = where.tb_next
        inside = [place for place in places if place.startswith("maxentry/")]
        return f"{given.door}: {type(error).__name__}: {str(error)!a:.100} at {' < '.join(inside[::-1][:3])}"
    return None
