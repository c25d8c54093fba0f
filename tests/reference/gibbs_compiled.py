"""The compiled sweep behind the state of its slow twin, so that the same tests run on both."""

import numpy as np
from tests.reference.gibbs_slow import State

from maxentry.kernels import gibbs as kernel
from maxentry.model.likelihood import Likelihood
from maxentry.observations import Observations
from maxentry.posterior import gibbs


class Compiled:
    """A chain of the compiled sampler at fixed places (i, j), sorted by row; a call is one sweep given y there.

    It keeps its own factors between the calls, as chains do, and nu has the grid of the product.
    """

    def __init__(self, model, start, i, j, rng):
        self.model, self.rng = model, rng
        noise = "gaussian" if model.nu_grid is None else model.noise
        grid = gibbs.NU_GRID if noise == "student" else gibbs.LINE_NU_GRID
        assert noise == "gaussian" or np.array_equal(model.nu_grid, grid)
        places = Observations(model.shape, i, j, np.zeros(i.size))
        assert np.array_equal(places.rows, i)
        assert np.array_equal(places.cols, j)
        self.data = gibbs.prepare(places, model.effects, Likelihood(noise=noise), False, None)
        self.hyper = gibbs.hyperparameters(model.priors)
        self.state = self.factored(start)
        self.nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))

    def factored(self, s):
        R, (U, d, Vt) = self.model.R, np.linalg.svd(s.X, full_matrices=False)
        left, right = U[:, :R] * d[:R], Vt[:R].T
        if self.model.effects:
            left, right = np.column_stack([left, s.r, s.p]), np.column_stack([right, s.c, s.q])
        scalars = np.array([s.mu, s.sigma2, s.eta2, s.tau2_row, s.tau2_col, s.nu, s.s2_row, s.s2_col])
        weights = np.empty(0) if self.model.nu_grid is None else np.array(s.w)
        return gibbs.GibbsState(np.ascontiguousarray(left), np.ascontiguousarray(right), scalars, weights)

    def __call__(self, y):
        data, model, R = self.data, self.model, self.model.R
        data.by_row.values[:] = y
        data.by_col.values[:] = y[data.by_col.source]
        betas = np.array([model.beta])
        self.state = gibbs.step(self.state, data, R, self.hyper, self.rng, betas, self.nothing, 0)
        left, right, k, w, _ = self.state
        m1, m2 = model.shape
        r, p, c, q = np.zeros(m1), np.zeros(m1), np.zeros(m2), np.zeros(m2)
        if model.effects:
            r, p, c, q = left[:, R], left[:, R + 1], right[:, R], right[:, R + 1]
        return State(
            left[:, :R] @ right[:, :R].T, k[kernel.MU], r, c, p, q, k[kernel.SIGMA2], k[kernel.ETA2],
            k[kernel.TAU2_ROW], k[kernel.TAU2_COL], k[kernel.S2_ROW], k[kernel.S2_COL], k[kernel.NU],
            w if w.size else np.ones(y.size),
        )  # fmt: skip
