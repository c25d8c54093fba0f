"""Matrices of a study are the same for the same seed, and say of themselves all that they depend on."""

import json
from dataclasses import replace

import numpy as np
import pytest

from evidence import datasets, sources
from evidence.sources import Part, Simulated
from maxentry.compare.runner import run_all
from maxentry.compare.scenario import BASELINE, Case, Cell, Given
from maxentry.errors import DataError, ParameterError


@pytest.fixture
def data(monkeypatch):
    """Data sets of these names, without any file."""
    rng = np.random.default_rng(0)
    M = rng.normal(size=(12, 9)) + 10
    M[rng.random(M.shape) < 0.4] = np.nan
    M[7], M[:, 3] = 11.0, 12.0  # the busiest row and column
    known = {"some": M, "prices": np.arange(1.0, 109.0).reshape(12, 9)}
    monkeypatch.setattr(sources, "_matrix", known.__getitem__)
    return known


def test_a_simulation_has_the_rank_size_and_noise_of_the_paper():
    truths = [Simulated((30, 20), 3).truth(seed) for seed in range(40)]
    assert all(np.linalg.matrix_rank(t.M, tol=1e-8) == 3 for t in truths)
    norms = [
        np.sum(t.M**2) for t in truths
    ]  # E|X|^2 = R^2 sigma2 = 9, chi-square of 9 degrees of freedom: sd 4.24
    assert abs(np.mean(norms) - 9) < 4 * np.sqrt(18 / 40)
    noise = np.concatenate([(t.Y - t.M).ravel() for t in truths])
    assert abs(noise.std() - 0.01) < 4 * 0.01 / np.sqrt(2 * noise.size)


def test_the_seed_decides():
    source = Simulated((8, 7), 2)
    np.testing.assert_array_equal(source.truth(3).Y, source.truth(3).Y)
    assert not np.allclose(source.truth(3).M, source.truth(4).M)


def test_parts_are_random_by_seed_or_fixed(data):
    random = Part("some", 5, 4)
    a, b = random.truth(1).M, random.truth(2).M
    assert a.shape == b.shape == (5, 4)
    np.testing.assert_array_equal(a, random.truth(1).M)
    assert not np.array_equal(a, b, equal_nan=True)
    first = Part("some", 5, 4, "first")
    np.testing.assert_array_equal(first.truth(1).M, data["some"][:5, :4])
    active = Part("some", 1, None, "most active").truth(1)
    np.testing.assert_array_equal(active.M, data["some"][[7]])


def test_a_part_is_taken_out_of_the_busiest_rows_and_columns(data):
    M, known = data["some"], ~np.isnan(data["some"])
    i = np.sort(np.argsort(-known.sum(1), kind="stable")[:4])
    j = np.sort(np.argsort(-known.sum(0), kind="stable")[:3])
    whole = Part("some", busiest=(4, 3)).truth(5).M
    np.testing.assert_array_equal(whole, M[np.ix_(i, j)])


def test_costs_and_training_rows_go_with_the_part(data):
    truth = Part("some", 6, 5, costs="prices", training=2, log=True).truth(0)
    plain = Part("some", 6, 5).truth(0)
    np.testing.assert_allclose(truth.M, np.log(plain.M))
    assert truth.told.sum() == 10
    assert set(truth.told.sum(1)) == {0, 5}
    assert not (truth.judged & truth.told).any()
    rows = [int(np.flatnonzero((data["prices"] == c[0]).any(1))[0]) for c in truth.cost]
    assert rows == sorted(rows)
    assert np.isclose(truth.center, np.nanmean(truth.M[~truth.told]))


def test_identities_are_json_and_tell_sources_apart(data):
    M = np.array([[1.0, np.nan], [2.0, 3.0]])
    parts = [Part("some", 5, 4), Part("some", 5, 4, "first")]
    given = [Given(M), Given(M + 1), Given(M, np.ones((2, 2)))]
    some = [*parts, *given, Simulated((8, 7), 2), Simulated((8, 7), 3)]
    texts = [json.dumps(s.identity(), sort_keys=True) for s in some]
    assert len(set(texts)) == len(some)
    assert json.dumps(replace(some[0]).identity(), sort_keys=True) == texts[0]


def test_standardised_parts_have_mean_0_and_variance_1(data):
    M = Part("some", 6, 5, standardise=True).truth(0).M
    assert np.nanmean(M) == pytest.approx(0, abs=1e-12)
    assert np.nanstd(M) == pytest.approx(1)


def test_a_given_matrix_must_hold_something():
    with pytest.raises(ParameterError, match="known entries"):
        Given(np.full((3, 3), np.nan))


def test_scaled_parts_are_in_other_units(data):
    plain, scaled = Part("some", 6, 5).truth(0), Part("some", 6, 5, times=3.0).truth(0)
    np.testing.assert_allclose(scaled.M, 3 * plain.M)
    np.testing.assert_allclose(scaled.Y, 3 * plain.Y)
    assert scaled.center == pytest.approx(3 * plain.center)
    assert "times" not in Part("some").identity()  # so that results stored before keep their keys


def test_parts_fetch_their_data_sets_and_simulations_none(monkeypatch):
    loaded: list[str] = []
    monkeypatch.setattr(datasets, "load", loaded.append)
    Part("jester", 6, 5).prepare()
    Part("oboe-error", 6, 5, costs="oboe-runtime").prepare()
    Simulated((6, 5), 1).prepare()
    assert loaded == ["jester", "oboe-error", "oboe-runtime"]


def test_data_are_fetched_before_any_process_starts(monkeypatch, tmp_path):
    def absent(name):
        raise DataError(f"expected {name} here, got nothing.")

    monkeypatch.setattr(datasets, "load", absent)
    with pytest.raises(DataError, match="expected jester here"):
        run_all([Cell(Case("c", Part("jester", 6, 5), 6, 3, 6), BASELINE, 0)], store=tmp_path)
