"""The parts of a sweep for GPUs against obvious twins: where observations stand, sums of rows, solves, slices."""

import sys

import numpy as np
import pytest
from scipy.stats import kstest

jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from maxentry.gpu import algebra, fused, halves, laws, layout, sums  # noqa: E402
from maxentry.model.likelihood import GAUSSIAN  # noqa: E402
from maxentry.observations import Observations  # noqa: E402
from maxentry.posterior import gibbs  # noqa: E402


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


@pytest.fixture(scope="module")
def data():
    """Rows with none, few, hundreds and more than a thousand observations, some of them of the same entry."""
    rng = np.random.default_rng(0)
    share = np.array([0.0, 0.002, 0.05, 0.3, 0.9, 0.9])
    i, j = np.nonzero(rng.random((6, 1400)) < share[:, None])
    i, j = np.append(i, i[:3]), np.append(j, j[:3])
    order = np.lexsort((j, i))
    places = Observations((6, 1400), i[order], j[order], rng.standard_normal(i.size))
    return gibbs.prepare(places, True, GAUSSIAN, False, None)


def lines_of(data, devices, d, dtype=np.float64):
    rows, cols = (layout.Order.by_degree(half.indptr, devices) for half in (data.by_row, data.by_col))
    put = lambda a, shared=False: jnp.asarray(a if shared else a[d])  # noqa: E731
    if dtype == np.float32:
        flat = layout.flatten(data.by_row, rows, cols, 512, 2)
        return rows, cols, sums.Lines.of_flat(flat, put)
    found = layout.arrange(data.by_row, rows, cols, dtype, True, 2)
    return rows, cols, sums.Lines.of(found, put)


@pytest.mark.parametrize("devices", [1, 4])
def test_rows_are_dealt_out_whole_with_equal_work(data, devices):
    rows, cols, _ = lines_of(data, devices, 0)
    for order, half in ((rows, data.by_row), (cols, data.by_col)):
        m, degree = half.indptr.size - 1, np.append(np.diff(half.indptr), 0)
        assert np.array_equal(np.sort(order.rows.ravel())[:m], np.arange(m))
        assert np.array_equal(order.rows.ravel()[order.place], np.arange(m))
        work = degree[order.rows].sum(axis=1)
        assert work.max() - work.min() <= degree.max()
        assert (degree[order.rows] <= order.degree).all()


@pytest.mark.parametrize(("devices", "fused"), [(1, False), (2, False), (2, True)])
def test_sums_of_rows_are_those_of_a_plain_loop(data, devices, fused):
    rng, R = np.random.default_rng(1), 3
    real = np.float32 if fused else np.float64
    F, offset = rng.standard_normal((1400, R)), rng.standard_normal(1400)
    for d in range(devices):
        rows, cols, lines = lines_of(data, devices, d, real)
        n = cols.rows.size + 1
        table = sums.Table(*(np.zeros(shape, real) for shape in ((n, R), n, n)))
        table.F[cols.place], table.one[cols.place], table.offset[cols.place] = F, 1, offset
        weights = None if fused else jnp.append(jnp.linspace(0.5, 2.0, data.by_row.values.size), 0.0)
        found = sums.row_sums(lines, sums.Table(*map(jnp.asarray, table)), weights, 1)
        for position, row in enumerate(rows.rows[d]):
            at = slice(*data.by_row.indptr[row : row + 2]) if row < 6 else slice(0)
            j, y = data.by_row.index[at], data.by_row.values[at]
            w = np.ones(j.size) if fused else np.linspace(0.5, 2.0, data.by_row.values.size)[at]
            f, t = F[j], y + offset[j]
            twin = (f.T * w) @ f, w @ f, (w * t) @ f, w.sum(), (w * t).sum(), (w * t * t).sum()
            for got, expected in zip(found[:6], twin, strict=True):
                got = got[position][tuple(slice(n) for n in np.shape(expected))]  # the kernel pads R by zeros
                np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-3 if fused else 1e-9)


@pytest.mark.parametrize("R", [1, 8, 19])
def test_rows_solved_in_blocks_are_those_of_the_library(R):
    rng, m = np.random.default_rng(2), 5
    A = rng.standard_normal((m, R, R))
    P, b, z = A @ np.swapaxes(A, 1, 2) + np.eye(R), rng.standard_normal((m, R)), rng.standard_normal((m, R))
    twin = [
        np.linalg.solve(p, c) + np.linalg.solve(np.linalg.cholesky(p).T, e)
        for p, c, e in zip(P, b, z, strict=True)
    ]
    for blocks in (False, True):
        np.testing.assert_allclose(algebra.draw_rows(*map(jnp.asarray, (P, b, z)), blocks), twin, rtol=1e-8)


@pytest.mark.parametrize("R", [3, 16, 40])
def test_the_kernel_draws_rows_as_the_library_does(R):
    rng, m = np.random.default_rng(5), 3
    f, t = rng.standard_normal((m, 60, R)), rng.standard_normal((m, 60))
    parts = (
        np.swapaxes(f, 1, 2) @ f,
        f.sum(1),
        (t[..., None] * f).sum(1),
        np.full(m, 60.0),
        t.sum(1),
        (t * t).sum(1),
    )
    S = sums.Sums(*(jnp.asarray(x, jnp.float32) for x in parts))
    own = jnp.ones(R, jnp.float32).at[-1].set(3.0)
    z = jnp.asarray(rng.standard_normal((m, R + 2)), jnp.float32)
    precision, sd = jnp.float32(0.7), jnp.float32(0.4)
    twin = halves.draw_coefficients(S, precision, own, sd, z, False)
    side = fused.padded_side(R)
    ff = jnp.pad(S.ff, ((0, 0), (0, side - R), (0, side - R)))
    last = jnp.stack([S.w, S.t, S.tt], axis=1)
    borders = jnp.stack([jnp.pad(x, ((0, 0), (0, side - x.shape[1]))) for x in (S.f, S.tf, last)], axis=1)
    found = halves.draw_fused(S._replace(ff=ff, borders=borders), precision, own, sd, z)
    for got, expected in zip(found, twin, strict=True):
        np.testing.assert_allclose(got, expected, rtol=2e-4, atol=2e-4)


def draw_along(direction, growth, real):
    """Coefficients of a row whose prior precision is I, but for `growth` along a direction; R = 6."""
    rng = np.random.default_rng(7)
    f, t = rng.standard_normal((1, 40, 6)), rng.standard_normal((1, 40))
    parts = np.swapaxes(f, 1, 2) @ f, f.sum(1), (t[..., None] * f).sum(1), [40.0], t.sum(1), (t * t).sum(1)
    S, z = (
        sums.Sums(*(jnp.asarray(x, real) for x in parts)),
        jnp.asarray(rng.standard_normal((1, 8)), real),
    )
    P = np.eye(6) + growth * np.outer(direction, direction) + 0.01 * np.asarray(S.ff[0], float)
    if np.count_nonzero(direction) > 1:
        return np.asarray(algebra.draw_rows(jnp.asarray(P[None], real), 0.01 * S.tf, z[:, :6], False))
    own = jnp.asarray(1.0 + growth * direction**2, real)
    return np.asarray(halves.draw_coefficients(S, real(0.01), own, real(0.0), z, False).g)


def test_a_strength_that_grows_a_billionfold_is_safe_along_a_coordinate_and_nowhere_else():
    """The first sweeps of large tables redraw strengths by so much. Components other than that must not feel it."""
    last, slanted = np.eye(6)[-1], np.full(6, 6**-0.5)
    right = draw_along(last, 1e9, np.float64)
    np.testing.assert_allclose(draw_along(last, 1e9, np.float32), right, rtol=1e-4, atol=1e-7)
    right, single = (draw_along(slanted, 1e9, real) for real in (np.float64, np.float32))
    assert not np.allclose(single, right, rtol=0.1)  # NaN, or far off


def test_the_component_that_is_redrawn_is_the_last_coordinate():
    rng = np.random.default_rng(6)
    B, m = rng.standard_normal((40, 5)), rng.standard_normal(5)
    Q = B.T @ B
    prior = halves.Prior(*map(jnp.asarray, (Q, Q + np.outer(m, m), m, B, 0.0)))
    values, vectors = np.linalg.eigh(Q)
    for uniform in (0.01, 0.5, 0.99):
        C, inverse, e, found, k = map(np.asarray, halves.pick_component(uniform, prior, jnp.asarray(np.inf)))
        np.testing.assert_allclose(C @ C.T, prior.whole, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(C @ inverse, np.eye(5), atol=1e-9)
        np.testing.assert_allclose(found, values, rtol=1e-9)
        np.testing.assert_allclose(abs(e @ vectors[:, k]), 1.0, rtol=1e-9)
        np.testing.assert_allclose((inverse @ e)[:-1], 0.0, atol=1e-9)


def test_a_frame_is_orthonormal_even_where_columns_are_almost_the_same():
    rng = np.random.default_rng(3)
    B = rng.standard_normal((50, 4))
    B[:, 3] = B[:, 2] + 1e-6 * B[:, 3]
    V, T = algebra.orthonormalise(jnp.asarray(B), lambda x: x)
    np.testing.assert_allclose(V.T @ V, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(V @ T.T, B, atol=1e-10)


def test_slices_leave_a_law_as_it_is_and_a_wrong_height_does_not():
    """A standard normal law: 20,000 draws of it stay draws of it after two slice steps."""
    rng = np.random.default_rng(4)
    x = jnp.asarray(rng.standard_normal(20_000))

    def p_value(log_density):
        step = jax.jit(jax.vmap(lambda u, x: laws.slice_step(u, x, log_density)))
        after = x
        for _ in range(2):
            after = step(jnp.asarray(rng.random((x.size, laws.UNIFORMS))), after)
        return kstest(np.asarray(after), "norm").pvalue

    assert p_value(lambda x: -0.5 * x * x) > 1e-3
    assert p_value(lambda x: -0.6 * x * x) < 1e-6


def test_normals_of_rows_are_normal_and_belong_to_the_row():
    key, rows = jnp.array([1, 2], jnp.uint32), jnp.arange(4_000, dtype=jnp.int32)
    for dtype in (np.float32, np.float64):
        z = np.asarray(laws.row_normals(key, rows, 5, np.dtype(dtype)))
        assert kstest(z.ravel(), "norm").pvalue > 1e-3
        assert np.abs(np.corrcoef(z.T) - np.eye(5)).max() < 5 / np.sqrt(4_000)
        np.testing.assert_array_equal(laws.row_normals(key, rows[::-1], 5, np.dtype(dtype))[::-1], z)


@pytest.mark.parametrize(
    ("platform", "capability", "expected"),
    [
        ("gpu", "9.0", True),
        ("gpu", "8.0", True),
        ("gpu", "7.5", False),
        ("gpu", "gfx942", False),
        ("cpu", "", False),
    ],
)
def test_kernels_are_for_gpus_that_their_compiler_knows(monkeypatch, platform, capability, expected):
    device = type("Device", (), {"platform": platform, "compute_capability": capability})()
    assert fused.has_kernels(device) is expected
    monkeypatch.setitem(sys.modules, "jax.experimental.pallas.triton", None)  # a JAX without it
    monkeypatch.delattr("jax.experimental.pallas.triton", raising=False)
    assert fused.has_kernels(device) is False
