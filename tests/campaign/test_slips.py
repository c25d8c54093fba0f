"""A lost decimal point is named when it is told or read, and odd but honest tables are not suspected."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maxentry import Campaign, Sampling, complete
from maxentry.model.slips import find_percent, find_slips
from maxentry.transform import MOST_VALUES

Draw = Callable[[np.random.Generator, int], Any]
SHORT = Sampling(chains=4, anneal=20, settle=20, draws=6, thin=2)
NOTE = "Row 'r3', column 'c5': 972, but all other values lie between "


def slips(values: Any, columns: int = 8) -> list[int]:
    rows, cols = np.divmod(np.arange(len(values)), columns)
    return find_slips(np.asarray(values, dtype=float), rows, cols).tolist()


def yields(rng: np.random.Generator) -> pd.DataFrame:
    labels = [f"r{i}" for i in range(12)], [f"c{j}" for j in range(8)]
    return pd.DataFrame(rng.uniform(0, 100, (12, 8)).round(1), *labels)


def triples(frame: pd.DataFrame) -> dict[str, list[Any]]:
    rows, cols = np.indices(frame.shape).reshape(2, -1)
    return {"row": [*frame.index[rows]], "col": [*frame.columns[cols]], "value": [*frame.to_numpy().ravel()]}


@pytest.mark.parametrize("shape", [(5, 5), (12, 8), (40, 10)])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: 5 + rng.normal(size=n),
        lambda rng, n: np.exp(0.5 * rng.normal(size=n)),
        lambda rng, n: np.exp(rng.normal(size=n)),
        lambda rng, n: np.exp(2 * rng.normal(size=n)),
        lambda rng, n: rng.standard_t(3, size=n),
        lambda rng, n: 10 + rng.standard_t(3, size=n),
        lambda rng, n: 100 + rng.standard_t(3, size=n),
        lambda rng, n: rng.exponential(size=n),
        lambda rng, n: 100 * rng.beta(0.5, 0.5, size=n),
    ],
    ids=["normal", "shifted", "half", "lognormal", "wide", "t3", "10 + t3", "100 + t3", "exponential", "ends"],
)  # fmt: skip
def test_honest_tables_are_rarely_suspected(draw: Draw, shape: tuple[int, int]) -> None:
    rng, tables = np.random.default_rng(3), 300
    suspected = sum(bool(slips(draw(rng, shape[0] * shape[1]), shape[1])) for _ in range(tables))
    assert suspected <= 7  # at a rate of 1% more come in one of 1,000 runs


@pytest.mark.parametrize(
    ("draw", "factor", "found"),
    [
        (lambda rng, n: rng.uniform(0, 100, n), 10, 0.55),
        (lambda rng, n: rng.uniform(0, 1, n), 100, 0.9),
        (lambda rng, n: 5 + 0.8 * rng.normal(size=n), 10, 0.95),
    ],
    ids=["yields", "shares", "pIC50"],
)
def test_a_lost_decimal_point_is_found(draw: Draw, factor: float, found: float) -> None:
    """A value of 12% times 10 is an honest yield: not every slip can be known."""
    rng, tables, n = np.random.default_rng(4), 300, 0
    for _ in range(tables):
        values = draw(rng, 96)
        values[17] *= factor
        n += slips(values) == [17]
    assert n / tables > found - 3 * 0.5 / np.sqrt(tables)


def test_hits_other_units_and_few_values_are_no_slips() -> None:
    rng = np.random.default_rng(5)
    hits = rng.uniform(0, 3, 96)
    hits[[5, 40, 77]] = 60.0, 75.0, 90.0
    assert slips(hits) == []
    units = rng.uniform(20, 90, 400)  # the first of 40 columns is in another unit
    units[::40] *= 1000
    assert slips(units, 40) == []
    units[::40] /= 1000
    units[80] *= 1000
    assert slips(units, 40) == [80]
    assert slips([*rng.uniform(20, 90, 18), 5e3], 5) == []
    many = rng.uniform(20, 90, MOST_VALUES + 1)
    many[7] = 5e4
    assert slips(many) == []
    assert slips(many[:1000]) == [7]


@pytest.mark.parametrize("n", [4, 40])
def test_hits_timeouts_and_collapses_over_a_background_are_no_slips(n: int) -> None:
    rng = np.random.default_rng(6)
    at = rng.permutation(3840)[:n]
    for rest, odd in (
        (100 + 8 * rng.normal(size=3840), rng.uniform(400, 900, n)),
        (rng.uniform(0.2, 1, 3840), np.full(n, 60.0)),
        (rng.uniform(0.9, 0.99, 3840), np.full(n, 0.1)),
        (rng.uniform(2, 100, 3840), rng.uniform(420, 1500, n)),
    ):
        rest[at] = odd
        assert slips(rest, 48) == []


@pytest.mark.parametrize("low", [0, 1])
def test_two_digits_among_ratings_are_a_slip(low: int) -> None:
    rng, tables, n = np.random.default_rng(8), 300, 0
    for _ in range(tables):
        values = rng.integers(low, 6, 96).astype(float)
        values[17] = 55.0
        n += slips(values) == [17]
    assert n / tables > 0.95 - 3 * np.sqrt(0.05 * 0.95 / tables)


@pytest.mark.parametrize("mean", [0.3, 1.0, 3.0])
def test_counts_have_tails(mean: float) -> None:
    """The largest of many counts is rare, so that nobody knows how far they go."""
    rng, suspected = np.random.default_rng(9), 0
    for _ in range(300):
        values = rng.poisson(mean, 96).astype(float)
        values[17] = 11 * max(values.max(), 1)
        suspected += bool(slips(values))
    assert suspected <= 7


PERCENT = "Row 'r3': its values are .* but all others lie from 0 to 1. If it is in percent, divide it by 100."


def test_a_row_in_percent_among_shares_is_named() -> None:
    shares = yields(np.random.default_rng(1)) / 100
    data = shares.copy()
    data.loc["r3"] *= 100
    with pytest.warns(UserWarning, match=PERCENT):
        c = Campaign.create("sqlite://", "x", data.index, data.columns, values=triples(data), seed=1)
    (note,) = c.status().notes
    assert "in percent" in note
    with pytest.warns(UserWarning, match=PERCENT):
        complete(data, rank=1, sampling=SHORT, seed=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Campaign.create("sqlite://", "y", data.index, data.columns, values=triples(shares), seed=1)
    c = Campaign.create("sqlite://", "z", data.index, data.columns, values=triples(shares.drop("r3")), seed=1)
    told = triples(data.loc[["r3"]])
    with pytest.warns(UserWarning, match=PERCENT):
        c.tell(told)


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.uniform(0, 1, n),
        lambda rng, n: rng.uniform(0, 100, n),
        lambda rng, n: np.exp(rng.normal(size=n)),
        lambda rng, n: rng.exponential(size=n),
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: rng.integers(0, 2, n).astype(float),
        lambda rng, n: rng.poisson(0.5, n).astype(float),
    ],
)
def test_honest_tables_are_not_taken_for_percent(draw: Draw) -> None:
    rng, line = np.random.default_rng(10), np.arange(96) // 8
    assert sum(find_percent(draw(rng, 96), line).size > 0 for _ in range(300)) <= 7


def test_lines_that_lie_higher_than_the_rest_are_not_taken_for_percent() -> None:
    rng, line = np.random.default_rng(12), np.arange(96) // 8
    levels = (np.exp(rng.normal(-2, 2, 12)[line] + 0.3 * rng.normal(size=96)) for _ in range(300))
    assert sum(find_percent(values, line).size > 0 for values in levels) <= 15
    acid = np.where(line == 3, rng.uniform(5, 9, 96), rng.uniform(0, 1, 96))
    assert find_percent(acid, line).size == 0


def test_units_of_half_the_table_and_few_values_are_not_percent() -> None:
    rng, line = np.random.default_rng(11), np.arange(96) // 8
    shares = rng.uniform(0.05, 1, 96)
    assert find_percent(np.where(line == 3, 100 * shares, shares), line).tolist() == [3]
    assert find_percent(np.where(line < 7, 100 * shares, shares), line).size == 0
    assert find_percent(np.where(line == 3, 900 * shares, shares), line).size == 0
    assert find_percent(np.where(line == 3, 100 * shares, shares)[8:32], line[8:32]).size == 0
    yes = (shares > 0.5).astype(float)
    assert find_percent(np.where(line == 3, 50 * shares, yes), line).size == 0


def test_two_slips_do_not_hide_each_other() -> None:
    values = np.random.default_rng(7).uniform(5, 99, 80)
    values[[13, 50]] = 972.0, 845.0
    assert sorted(slips(values)) == [13, 50]
    assert slips(values[:30]) == [13]


def test_campaigns_name_slips_when_they_begin_and_are_told() -> None:
    data = yields(np.random.default_rng(0))
    told = triples(data)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = Campaign.create("sqlite://", "clean", data.index, data.columns, values=told, seed=1)
        assert c.status().notes == []
        asked = c.tell(row=["r3"], col=["c4"], value=[55.0], again=True)
    assert asked.told == 1
    with pytest.warns(UserWarning, match=NOTE):
        c.tell(row=["r3"], col=["c5"], value=[972.0], again=True)
    (note,) = c.status().notes
    assert note.startswith(NOTE)
    assert note in str(c.status())
    with warnings.catch_warnings():  # said once, when it was told
        warnings.simplefilter("error")
        c.tell(row=["r3"], col=["c4"], value=[56.0], again=True)
    c.correct(row="r3", col="c5", number=len(c.export()) - 1, value=97.2)
    assert c.status().notes == []
    data.loc["r3", "c5"] = 972.0
    with pytest.warns(UserWarning, match=NOTE):
        Campaign.create("sqlite://", "slip", data.index, data.columns, values=triples(data), seed=1)


@pytest.mark.parametrize("settings", [{"noise": "student"}, {"transform": "log"}])
def test_settings_that_allow_for_it_keep_silent(settings: dict[str, str]) -> None:
    data = yields(np.random.default_rng(0)) + 1
    data.loc["r3", "c5"] = 972.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        c = Campaign.create(
            "sqlite://", "x", data.index, data.columns, values=triples(data), seed=1, **settings
        )
        assert c.status().notes == []


def test_complete_names_them() -> None:
    data = yields(np.random.default_rng(0))
    data.loc["r3", "c5"] = 972.0
    with pytest.warns(UserWarning, match=NOTE):
        complete(data, rank=1, sampling=SHORT, seed=1)
