"""The sweep for GPUs on JAX's CPU backend behind the states of its slow twin: many chains, each with its own data."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import random
from tests.reference.gibbs_slow import State

from maxentry.gpu import sweep
from maxentry.gpu.device import Observed
from maxentry.gpu.halves import Setup, SideState
from maxentry.gpu.latent import Ends
from maxentry.model.likelihood import Likelihood
from maxentry.observations import Observations
from maxentry.posterior import gibbs


class ManyChains:
    """Sweeps of chains at the same places (i, j), sorted by row; every chain has its own y and its own coins.

    wrong: what replaces parts of `Setup`, for controls.
    """

    def __init__(self, model, i, j, real="float64", blocks=False, **wrong):
        self.model = model
        student = model.nu_grid is not None
        # student: so that the layout knows which measurement is in which slot
        data = gibbs.prepare(
            Observations(model.shape, i, j, np.zeros(i.size)),
            model.effects,
            Likelihood(noise="student"),
            False,
            None,
        )
        self.observed = Observed(data, 1, jax.devices()[:1])
        m, R = min(model.shape), model.R
        aligned = model.effects and 0 < 2 * R < m
        self.setup = Setup(model.shape, i.size, R, model.effects, aligned, student, real=real, blocks=blocks)
        self.setup = self.setup._replace(**wrong)
        self.ends = Ends.of(data)
        self.hyper = jnp.asarray(gibbs.hyperparameters(model.priors))
        self.run = jax.jit(jax.vmap(self._sweep, in_axes=(0, 0, 0, None)))

    def given(self, y):
        """What a sweep of one chain is given: both sides with its measurements, and their ends."""
        return *(lines.with_values(jnp.append(y, 0.0)) for lines in self.observed.sides), self.ends

    def _sweep(self, state, y, key, hyper):
        rows, cols, ends = self.given(y)
        beta = jnp.asarray(self.model.beta, jnp.float64)
        coins = random.fold_in(key, 99)  # below 4 it would be one of the keys that `draw_chances` splits off
        chances = sweep.draw_chances(key, coins, beta, hyper, self.setup)
        return sweep.sweep(state, rows, cols, beta, hyper, chances, ends, self.setup)

    def __call__(self, states, y, sweeps, seed):
        """Run some sweeps of every chain; states and y have the chains first."""
        now = self.to_device(states)
        for t in range(sweeps):
            keys = random.split(random.key(1_000 * seed + t), len(y))
            now = self.run(now, jnp.asarray(y), keys, self.hyper)
        return self.to_host(now, y)

    def to_device(self, s):
        R, real = self.model.R, self.setup.real
        U, d, Vt = np.linalg.svd(s.X, full_matrices=False)
        factors = U[..., :R] * d[:, None, :R], np.swapaxes(Vt[:, :R], 1, 2)

        def side(A, free, aligned, order):
            at = partial(np.take, indices=order.rows[0], axis=1)
            return SideState(*(jnp.asarray(at(x), real) for x in (A, free, aligned)))

        left, right = (
            side(*parts) for parts in zip(factors, (s.r, s.c), (s.p, s.q), self.observed.orders, strict=True)
        )
        scalars = np.stack([s.mu, s.sigma2, s.eta2, s.tau2_row, s.tau2_col, s.nu, s.s2_row, s.s2_col], axis=1)
        scalars[:, 5] = np.where(np.isfinite(scalars[:, 5]), scalars[:, 5], 4.0)
        weights = np.pad(s.w, ((0, 0), (0, 1))) if self.setup.student else np.zeros((len(s.mu), 0))
        nothing = jnp.zeros((len(s.mu), 0), real)
        return sweep.State(left, right, jnp.asarray(scalars), jnp.asarray(weights, real), nothing)

    def to_host(self, state, y):
        rows, cols = (order.place for order in self.observed.orders)
        A, B = np.asarray(state.left.factors, float)[:, rows], np.asarray(state.right.factors, float)[:, cols]
        r, p = (np.asarray(x, float)[:, rows] for x in (state.left.free, state.left.aligned))
        c, q = (np.asarray(x, float)[:, cols] for x in (state.right.free, state.right.aligned))
        k = np.asarray(state.scalars)
        w = np.asarray(state.weights, float)[:, :-1] if self.setup.student else np.ones(y.shape)
        nu = k[:, 5] if self.setup.student else np.full(len(k), np.inf)
        return State(
            A @ np.swapaxes(B, 1, 2),
            k[:, 0],
            r,
            c,
            p,
            q,
            k[:, 1],
            k[:, 2],
            k[:, 3],
            k[:, 4],
            k[:, 6],
            k[:, 7],
            nu,
            w,
        )
