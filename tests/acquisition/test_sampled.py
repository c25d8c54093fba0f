"""Where an exact search would take too long, candidates are sampled: with nearly all of the gain, and said."""

import numpy as np
import pytest
from tests.acquisition.beliefs import belief, problem

from maxentry import acquisition
from maxentry.acquisition import Limits, Problem, draw_field, greedy, subspace_field, total_variance
from maxentry.acquisition.draw_field import DrawField
from maxentry.acquisition.greedy import GreedySearch, Sample, sample_candidates
from maxentry.acquisition.problem import Quota
from maxentry.belief import Belief, Entries

NAMES = ["maxent", "maxent_nearest", "predictive_variance", "integrated_variance"]
SHAPE = (90, 80)


def alike(seed=0):
    """Rows and columns alike: bounds do not separate."""
    return belief(SHAPE, S=30, R=3, spread=0.3, seed=seed)


def levels(seed=0):
    """Row effects rule, so that the entries of a row are nearly one."""
    b, rng = alike(seed), np.random.default_rng(seed)
    row = rng.normal(size=b.row.shape) * np.exp(rng.normal(size=SHAPE[0]))
    return Belief(0.2 * b.left, b.right, row, b.col, b.mu, b.noise_var)


def clusters(seed=0):
    """Six kinds of rows."""
    b, rng = alike(seed), np.random.default_rng(seed)
    kind, size = rng.integers(6, size=SHAPE[0]), np.exp(0.7 * rng.normal(size=(6, 1)))
    return Belief(b.left[:, kind] * size[kind] + 0.1 * b.left, b.right, b.row, b.col, b.mu, b.noise_var)


BELIEFS = {
    "alike": alike,
    "levels": levels,
    "clusters": clusters,
    "coherent": lambda: belief(SHAPE, S=30, coherent=True),
}


def choose(name, b, q, n, seed=0):
    return acquisition.choose(name, b, q, n, rng=np.random.default_rng(seed))


@pytest.fixture
def sampled(monkeypatch):
    """Treat every search as too long; samples are a tenth of the matrix."""

    def treat(most=720):
        monkeypatch.setattr(greedy, "MOST_WORK", -1)
        monkeypatch.setattr(total_variance, "MOST_WORK", -1)
        monkeypatch.setattr(greedy, "MOST_SAMPLED", most)

    return treat


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", BELIEFS)
def test_a_sample_has_nearly_the_gain_of_the_exact_search(name, kind, sampled):
    b, q = BELIEFS[kind](), Problem(SHAPE)
    exact = choose(name, b, q, 24)
    assert (exact.sampled, exact.better) == (0, 0)
    sampled()
    chosen = choose(name, b, q, 24)
    assert 0 < chosen.sampled <= 720
    assert 0 < chosen.better <= 3 / 170
    assert chosen.gain.sum() >= 0.95 * exact.gain.sum()


def test_entries_at_random_alone_are_not_enough(sampled, monkeypatch):
    """The control: without estimates a sample of the same size loses more than is allowed."""
    b, q = BELIEFS["coherent"](), Problem(SHAPE)
    exact = choose("predictive_variance", b, q, 24)

    def draw(field, problem, quota, chosen, n, rng):
        return Sample(np.sort(rng.choice(7200, size=720, replace=False)), 720)

    sampled()
    monkeypatch.setattr(greedy, "sample_candidates", draw)
    assert choose("predictive_variance", b, q, 24).gain.sum() < 0.95 * exact.gain.sum()


def test_the_work_of_an_exact_search_is_limited(monkeypatch):
    """What was chosen before the limit is the exact choice; the rest comes from a sample."""
    b, q = alike(), Problem(SHAPE)
    monkeypatch.setattr(greedy, "HELD_BYTES", 30 * 8 * 300)
    monkeypatch.setattr(greedy, "FEW", 100)
    exact, rng = choose("predictive_variance", b, q, 30), np.random.default_rng(0)
    search, work = GreedySearch(DrawField.from_belief(b), q, 30), []
    for _ in range(30):
        search.next()
        work.append(search.work + search.open.work)
    assert work == sorted(work)
    assert exact.sampled == 0
    monkeypatch.setattr(greedy, "MOST_WORK", work[9])
    chosen = acquisition.choose("predictive_variance", b, q, 30, rng=rng)
    assert chosen.sampled > 0
    np.testing.assert_array_equal(chosen.rows[:10], exact.rows[:10])
    np.testing.assert_array_equal(chosen.cols[:10], exact.cols[:10])
    assert len(set(zip(chosen.rows.tolist(), chosen.cols.tolist(), strict=True))) == 30
    unlimited = greedy.greedy_information(DrawField.from_belief(b), q, 30)  # without a generator
    np.testing.assert_array_equal(unlimited.rows, exact.rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_sample_is_that_of_the_generator(name, sampled):
    b, q = levels(), problem(SHAPE, costs=False)
    sampled(120)
    first, same, other = (choose(name, b, q, 40, seed) for seed in (1, 1, 2))
    for part, again in zip(first, same, strict=True):
        np.testing.assert_array_equal(part, again)
    assert first.rows.tolist() != other.rows.tolist()


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("limits", [Limits(), Limits(per_row=1), Limits(per_row=2, per_col=1)])
def test_only_available_entries_are_sampled_and_none_twice(name, limits, sampled):
    q = problem(SHAPE, observed=900, limits=limits)
    sampled(200)
    chosen = choose(name, alike(), q, 60)
    keys = chosen.entries.keys(SHAPE[1])
    assert len(keys) == len(set(keys.tolist())) == 60
    assert q.mask[chosen.rows, chosen.cols].all()
    assert not np.isin(keys, q.taken.keys(SHAPE[1])).any()
    assert np.bincount(chosen.rows).max() <= (limits.per_row or 60)
    assert np.bincount(chosen.cols).max() <= (limits.per_col or 60)
    np.testing.assert_array_equal(chosen.cost, q.costs.at(chosen.rows, chosen.cols))


@pytest.mark.parametrize("name", NAMES)
def test_further_samples_are_made_until_nothing_is_left(name, sampled):
    shape = (7, 6)
    mask = np.zeros(shape, dtype=bool)
    mask[2, 3] = mask[5] = True
    sampled(4)
    chosen = choose(name, belief(shape), Problem(shape, mask=mask), 20)
    assert sorted(chosen.entries.keys(6).tolist()) == [15, 30, 31, 32, 33, 34, 35]
    assert chosen.sampled == 7  # of all samples together, though the last one was empty
    assert chosen.better > 0


def test_replicates_may_be_sampled(sampled):
    b, q = belief((6, 5), noise=30.0), Problem((6, 5), Entries.from_lists([0], [0]), again=True)
    sampled(20)
    chosen = choose("predictive_variance", b, q, 40)
    assert len(chosen.rows) == 40 > len(set(chosen.entries.keys(5).tolist()))


@pytest.mark.parametrize("effects", [True, False])
@pytest.mark.parametrize("R", [0, 1, 3])
def test_estimates_are_variances_where_rows_and_columns_are_independent(R, effects):
    """Every draw of the rows is met with every draw of the columns: then the estimate is exact."""
    rng, S, (m1, m2) = np.random.default_rng(R), 7, (6, 5)
    sides = [rng.normal(size=(m, R)) + 0.4 * rng.normal(size=(S, m, R)) for m in (m1, m2)]
    effect = [effects * 0.3 * rng.normal(size=(S, m)) for m in (m1, m2)]
    effect[1] -= effect[1].mean(1, keepdims=True)  # else the level of the columns would be moved to the rows
    i, j = np.divmod(np.arange(S * S), S)
    b = Belief(sides[0][i], sides[1][j], effect[0][i], effect[1][j], np.zeros(S * S), np.full(S * S, 0.1))
    field = DrawField.from_belief(b)
    if R:  # the draws come as they are: a rotation of each would mix rows and columns
        eye = np.repeat(np.eye(R)[:, :, None], S * S, axis=2)
        moments = tuple(
            draw_field._spread(X, x, eye, np.eye(R)) for X, x in ((field.A, field.a), (field.B, field.b))
        )
        field.__dict__["_moments"] = moments
    rows, cols = np.array([4, 0, 2]), np.arange(m2)
    np.testing.assert_allclose(
        field.estimates(rows, cols), field.variances(rows, cols) / field.eta2, rtol=1e-4
    )


def test_estimates_order_entries_as_variances_do():
    for kind in ("alike", "levels", "clusters", "coherent"):
        field = DrawField.from_belief(BELIEFS[kind]())
        rows, cols = map(np.arange, SHAPE)
        estimate, v = field.estimates(rows, cols).ravel(), field.variances(rows, cols).ravel()
        assert np.corrcoef(estimate, v)[0, 1] > 0.85
        assert 0.9 < np.median(estimate * field.eta2 / v) < 1.1


@pytest.mark.parametrize("observed", [3, 60])
def test_estimates_given_subspaces_are_the_variances(observed):
    b, q = belief((12, 10)), problem((12, 10), observed=observed)
    field = subspace_field.lemma2_field(subspace_field.mean_projections(b, 64), 0.1, q.observed)
    v = field.variances(np.arange(12), np.arange(10))
    np.testing.assert_allclose(field.estimates(np.arange(12), np.arange(10)), v / field.eta2, rtol=1e-6)


def test_a_matrix_too_large_to_scan_is_scanned_in_part(monkeypatch):
    field, q = DrawField.from_belief(belief(SHAPE, S=10, coherent=True)), Problem(SHAPE)
    monkeypatch.setattr(greedy, "MOST_SCANNED", 400)
    monkeypatch.setattr(greedy, "MOST_SAMPLED", 200)
    sample = sample_candidates(field, q, Quota(SHAPE, q.limits), [], 9, np.random.default_rng(0))
    assert 50 < len(sample.keys) <= 200
    v = field.variances(*map(np.arange, SHAPE)).ravel()
    assert v[sample.keys].max() > np.quantile(v, 0.999)  # rows and columns of high bounds are among them


@pytest.mark.parametrize("most", [40, 100_000])
@pytest.mark.parametrize("shape", [(1, 400), (400, 1), (3, 200), (9, 8)])
def test_samples_of_narrow_and_small_matrices(shape, most, sampled):
    sampled(most)
    chosen = choose("predictive_variance", belief(shape, R=1), Problem(shape), 5)
    assert len(set(chosen.entries.keys(shape[1]).tolist())) == 5
