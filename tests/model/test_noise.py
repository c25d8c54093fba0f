"""The law of the noise that is chosen where the user names none."""

import warnings

import numpy as np
import pandas as pd
import pytest

import maxentry
from maxentry import Observations
from maxentry.errors import ParameterError
from maxentry.model.likelihood import NOISE_NAMES, Likelihood
from maxentry.model.noise import choose_noise, excess, subtract_means, warn_of_known_noise
from maxentry.posterior.chains import Sampling
from maxentry.posterior.schedule import data_abound
from maxentry.transform import Transform

MANY, FEW = (300, 120), (60, 40)
OPTIONS = {"kind": "grades", "levels": [1, 2, 3, 4, 5], "seed": 1, "progress": False}
SHORT = Sampling(chains=1, anneal=2, settle=1, draws=2, thin=1)


def grades(seed, shape=MANY, differ=0.6, spread=0.7):
    """Grades of rows whose noise differs by `differ` (sd of its logarithm)."""
    rng = np.random.default_rng(seed)
    x = 3 + spread * (rng.standard_normal((shape[0], 1)) + rng.standard_normal(shape[1])) / 2
    sd = 0.8 * np.exp(differ * rng.standard_normal((shape[0], 1)))
    return np.clip(np.rint(x + sd * rng.standard_normal(shape)), 1, 5)


def choose(Y, wish="auto", kind="grades"):
    o = Observations.of(Y)
    return choose_noise(wish, kind, o, data_abound(o.shape, o.n))


def test_many_grades_have_a_noise_for_each_of_the_lines_that_differ_in_it():
    for seed in range(5):
        assert choose(grades(seed)) == "rows"
        assert choose(grades(seed).T) == "columns"


def test_few_grades_and_other_kinds_have_one_noise():
    assert choose(grades(0, FEW)) == "gaussian"
    assert choose(grades(0), kind="numbers") == "gaussian"
    assert choose((grades(0) > 3).astype(float), kind="yes/no") == "gaussian"


def test_chance_is_taken_for_none():
    """Grades thrown like dice differ in no row and no column."""
    dice = [np.random.default_rng(seed).integers(1, 6, MANY).astype(float) for seed in range(20)]
    assert {choose(Y) for Y in dice} == {"gaussian"}
    assert choose(np.full(MANY, 3.0)) == "gaussian"


@pytest.mark.parametrize("name", NOISE_NAMES)
def test_a_law_that_is_named_is_taken(name):
    assert choose(grades(0), name) == name


def test_what_an_earlier_fit_or_a_gpu_has_settles_it():
    o = Observations.of(grades(0))
    assert choose_noise("auto", "grades", o, True, "gaussian") == "gaussian"
    assert choose_noise("columns", "grades", o, True, "gaussian") == "columns"


@pytest.mark.parametrize("name", ["Auto", "laplace", None, 1, ["auto"], np.zeros(2)])
def test_other_names_are_refused(name):
    with pytest.raises(ParameterError, match="noise must be 'auto', 'gaussian'"):
        choose(grades(0), name)
    with pytest.raises(ParameterError, match="noise must be 'auto', 'gaussian'"):
        maxentry.complete(grades(0, FEW), 1, noise=name, **OPTIONS)


def test_the_excess_is_that_of_a_slow_twin():
    Y = grades(3, (30, 20))
    Y[np.random.default_rng(3).random(Y.shape) < 0.4] = np.nan
    Y[7] = np.nan
    Y[8, 1:] = np.nan
    o = Observations.of(Y)
    squares = subtract_means(o) ** 2
    relative = squares / squares.mean()
    v = np.mean((relative - 1) ** 2)
    total, chance, n, lines = 0.0, 0.0, 0, 0
    for i in range(30):
        mine = [r for r, row in zip(relative, o.rows, strict=True) if row == i]
        if len(mine) >= 2:
            total += len(mine) * (sum(mine) / (len(mine) - 1) - 1) ** 2 - v
            n, lines = n + len(mine), lines + 1
    chance = v * np.sqrt(2 * lines)
    assert total > 5 * chance
    assert excess(squares, o.rows, 30) == pytest.approx(total / n, rel=1e-12)


def test_means_of_rows_and_columns_are_subtracted():
    """Of a whole table once is enough; the slow twin subtracts them from the matrix."""
    Y = grades(4, (12, 9))
    left = Y - Y.mean(1, keepdims=True) - Y.mean(0) + Y.mean()
    np.testing.assert_allclose(subtract_means(Observations.of(Y)), left.ravel(), atol=1e-12)


def test_complete_and_campaigns_take_it_and_a_warm_start_keeps_it(tmp_path):
    Y = grades(0)
    first = maxentry.complete(Y, 0, sampling=SHORT, **OPTIONS)
    assert first.fit.noise == "rows"
    assert "for a typical one of the rows" in str(first)
    dice = np.random.default_rng(0).integers(1, 6, MANY).astype(float)
    again = maxentry.complete(dice, start=first, sampling=SHORT, **OPTIONS)
    assert again.fit.noise == "rows"
    model = {"kind": "grades", "levels": [1, 2, 3, 4, 5], "rank": 0, "effort": "quick", "seed": 1}
    known = pd.DataFrame(Y, [f"user {i}" for i in range(MANY[0])], [f"film {j}" for j in range(MANY[1])])
    campaign = maxentry.Campaign.create(
        tmp_path / "c.db", "films", [*known.index], [*known.columns], values=known, **model
    )
    assert campaign.posterior().fit.noise == "rows"


def warned(Y, noise_sd, transform="none", **more):
    likelihood = Likelihood(noise_sd=noise_sd, limits=more.pop("limits", None))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        warn_of_known_noise(Observations.of(Y, **more), likelihood, Transform.parse(transform))
    return [str(w.message) for w in said]


def test_a_known_noise_that_cannot_be_is_named():
    Y = 50 + np.random.default_rng(1).standard_normal((20, 10))
    (said,) = warned(Y, 10)
    assert said.startswith("noise_sd is 10, but the values vary by less: their standard deviation is 0.924.")
    assert warned(Y, 1.5) == []  # all may be noise
    assert warned(Y[:3, :3], 10) == []
    assert warned(Y, 10, limits=(0, 50)) == []
    assert warned(Y, 10, se=np.full(Y.shape, 0.1)) == []
    assert "on the scale of transform='log'" in warned(Y, 10, "log")[0]
    assert warned(Y, 0.01, "log") == []
    with pytest.warns(UserWarning, match="noise_sd is 10"):
        maxentry.complete(Y, 1, noise_sd=10, sampling=SHORT, seed=1, progress=False)
