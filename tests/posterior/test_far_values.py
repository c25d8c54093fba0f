"""A value far from all others is named in the printed posterior; ordinary tables have none."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from maxentry import Observations, Sampling, complete
from maxentry.model.slips import name_far
from maxentry.transform import FEWEST_FAR

SHORT = Sampling(chains=4, anneal=20, settle=20, draws=6, thin=2)


def lines_of(table: Any, **said: Any) -> list[str]:
    printed = str(complete(table, rank=1, sampling=SHORT, seed=1, **said)).splitlines()
    return [line.strip() for line in printed if line.strip().startswith("far values")]


def name(values: np.ndarray) -> str:
    rows, n = np.arange(values.size), values.size
    return name_far(values, Observations((n, 2), rows, rows % 2, values))


def table(rng: np.random.Generator) -> pd.DataFrame:
    x = 5 + rng.normal(size=(12, 1)) @ rng.normal(size=(1, 8)) + 0.1 * rng.normal(size=(12, 8))
    return pd.DataFrame(x, [f"r{i}" for i in range(12)], [f"c{j}" for j in range(8)])


def test_a_lost_decimal_comma_is_named() -> None:
    data = table(np.random.default_rng(0))
    assert lines_of(data) == []
    data.loc["r3", "c5"] = 512.0
    (line,) = lines_of(data)
    assert line.startswith("far values: row 'r3', column 'c5': 512 (nine tenths of the values lie between ")
    data.loc["r9", "c1"] = 731.0
    (line,) = lines_of(data)
    assert line.startswith("far values: row 'r9', column 'c1': 731 and 1 more (")


def test_far_values_of_one_line_may_be_of_another_unit() -> None:
    """Ten times as large is not beyond doubt."""
    rng = np.random.default_rng(0)
    data = pd.concat([table(rng).add_suffix(k) for k in "abc"], axis=1)
    data["c2a"] *= 8
    (line,) = lines_of(data)
    assert "and 11 more of this column (nine" in line
    assert "if this column is in another unit, use scale='columns'; correct mistakes" in line
    (line,) = lines_of(data.T)
    assert "and 11 more of this row (nine" in line
    data.loc["r3", "c5b"] = 512.0
    assert "unit" not in lines_of(data)[0]


def test_student_noise_allows_for_it_and_a_noise_for_each_column_does_not() -> None:
    data = table(np.random.default_rng(0))
    data.loc["r3", "c5"] = 512.0
    assert lines_of(data, noise="student") == []
    assert len(lines_of(data, noise="columns")) == 1


def test_values_that_vary_by_factors_are_judged_on_the_scale_of_the_model() -> None:
    data = np.exp(3 * (table(np.random.default_rng(0)) - 5))
    assert len(lines_of(data)) == 1
    assert lines_of(data, transform="log") == []


@pytest.mark.parametrize(("law", "n"), [("normal", 100_000), ("uniform", 100_000), ("exponential", 1_000)])
def test_common_laws_have_none(law: str, n: int) -> None:
    rng = np.random.default_rng(1)  # of 1,000 exponential values one lies that far with probability 0.7%
    values = getattr(rng, law)(size=n)
    assert name(values) == ""


def test_few_values_or_a_floor_say_nothing() -> None:
    values = np.append(np.arange(FEWEST_FAR - 2.0), 1e6)
    assert name(values) == ""
    assert name(np.append(values, 0.0)) != ""
    floor = np.append(np.full(99, 5.0), 9.0)
    assert name(floor) == ""
