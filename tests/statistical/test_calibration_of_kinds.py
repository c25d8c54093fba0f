"""Simulation-based calibration of kinds of measurement and priors of effects: ranks of the truth are uniform.

A state comes from the prior, latent values given it, and what is told of them. The sampler starts elsewhere, from a
draw of the prior of its own. Each kind has a negative control, in which the sampler is told something else.
"""

from typing import NamedTuple

import numpy as np
import pytest
from tests.posterior.test_gibbs_geweke import PRIORS, WIDE, Case, unlike_noises  # noqa: F401
from tests.reference import gibbs_slow as slow
from tests.reference.gibbs_slow import State
from tests.reference.laws import ACCEPT, REJECT, ks

from maxentry.kernels import gibbs as kernel
from maxentry.model.likelihood import Likelihood
from maxentry.model.priors import KNOWN, Priors
from maxentry.observations import Observations
from maxentry.posterior import gibbs

INF = np.inf
SHAPE, RANK, TABLES = (6, 5), 1, 250
WARM_UP, DRAWS, THIN = 500, 19, 100
WIDTH = 1.0  # of the ranges
ERRORS = np.tile([0.1, 0.4, 1.2], 20)


class Kind(NamedTuple):
    """What is told of latent values z, and the mistake of the negative control."""

    name: str
    mistake: str = ""

    @property
    def likelihood(self):
        if self.graded:
            return Likelihood("grades", self.noise, levels=(1, 2, 3, 4, 5))
        return Likelihood("yes/no") if self.name == "yes/no" else Likelihood()

    @property
    def graded(self):
        return self.name.startswith("grades")

    @property
    def noise(self):
        return "rows" if self.name == "grades, noise by row" else "gaussian"

    @property
    def priors(self):
        noise, of = KNOWN if self.name == "yes/no" else PRIORS.noise, WIDE if self.wide else PRIORS
        return Priors(noise, of.signal, of.rows, of.cols, of.mu_var)

    @property
    def slowness(self):
        """Chains move slowly between a small variance of free effects and a large one beside small aligned ones."""
        return 5 if self.name == "half-Cauchy" else 1

    @property
    def wide(self):
        """Effects have half-Cauchy sds; the control takes them for inverse gamma."""
        return self.name == "half-Cauchy" and not self.mistake

    @property
    def shift(self):
        """Grades 1 to 5 lie around 3: tables of one grade alone say little, and mix slowly."""
        return 3.0 if self.graded else 0.0

    def first_cuts(self, rng):
        return np.sort(rng.uniform(1.5, 4.5, 2)) if self.graded else np.empty(0)

    def measure(self, state, i, j, rng):
        sd = np.sqrt(
            state.eta2 / state.w + (ERRORS[: i.size] ** 2 if self.name == "standard errors" else 0.0)
        )
        return self.shift + slow.mean_of(state, i, j) + sd * rng.standard_normal(i.size)

    def tell(self, z, cuts, i, j):
        """The observations that the sampler gets."""
        low, high, values, se = z, z, z, None
        if self.name == "limits":
            low, high, values = np.where(z <= 0, -INF, z), np.maximum(z, 0), np.maximum(z, 0)
        elif self.name == "ranges":
            low = WIDTH * np.floor(z / WIDTH)
            high, values = low + WIDTH, low + WIDTH / 2
        elif self.name == "yes/no":
            yes = z > (1.0 if self.mistake == "yes above one" else 0.0)
            low, high, values = np.where(yes, 0, -INF), np.where(yes, INF, 0), np.where(yes, 1.0, -1.0)
        elif self.graded:
            values = 1.0 + (z[:, None] > np.array([1.5, *cuts, 4.5])).sum(axis=1)
            low, high = values - 0.5, values + 0.5  # the sampler has ends of its own, which the cuts move
        elif self.name == "standard errors":
            se = ERRORS[: i.size] if self.mistake != "errors forgotten" else None
        if self.mistake == "limits as values":
            low = high = values
        return Observations(SHAPE, i, j, values, low=low, high=high, se=se)


def posterior_draws(kind, told, rng):
    """Statistics of draws of the compiled sampler, (DRAWS, statistics).

    Not mu by itself: it trades with the means of the effects, for hundreds of sweeps, and no entry tells.
    """
    data = gibbs.prepare(told, True, kind.likelihood, False, gibbs.Units(kind.shift, 1.0))
    if kind.mistake == "cuts at halves":
        data = data._replace(limits=data.limits._replace(often=0.0))
    (m1, m2), hyper, state = (
        SHAPE,
        gibbs.hyperparameters(kind.priors),
        gibbs.init(data, RANK, kind.priors, rng),
    )
    parts = ((m1, RANK), (m2, RANK), (m1,), (m2,), (state.scalars.size,))
    buffers = gibbs.DrawBuffers(*(np.empty((DRAWS, *part)) for part in parts))
    nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))
    thin = THIN * kind.slowness
    state = gibbs.step(state, data, RANK, hyper, rng, np.ones(WARM_UP * kind.slowness), nothing, 0)
    gibbs.step(state, data, RANK, hyper, rng, np.ones(DRAWS * thin), buffers, thin)
    entry = np.einsum("sir,sjr->sij", buffers.left, buffers.right)
    entry += buffers.row[:, :, None] + buffers.col[:, None] + buffers.scalars[:, kernel.MU, None, None]
    chosen = buffers.scalars[:, [kernel.SIGMA2, kernel.TAU2_ROW, kernel.TAU2_COL, kernel.ETA2]]
    cuts = buffers.scalars[:, kernel.N_SCALARS :][:, : kind.likelihood.n_cuts]
    weight = buffers.scalars[:, [-m1]] if kind.noise == "rows" else np.empty((DRAWS, 0))
    return np.column_stack([entry[:, 0, 0], entry[:, 1, 2], entry.mean(axis=(1, 2)), chosen, cuts, weight])


def ranks(kind, seed):
    """Ranks of the truth among posterior draws, spread over (0, 1): (TABLES, statistics)."""
    rng = np.random.default_rng(seed)
    m1, m2 = SHAPE
    i, j = np.divmod(np.sort(np.tile(np.arange(m1 * m2), 2)), m2)
    truth_of = kind._replace(mistake="")
    model = Case(SHAPE, RANK, effects=True, noise=kind.noise).model()._replace(priors=truth_of.priors)
    found = []
    for _ in range(TABLES):
        s = State(*(field[0] for field in slow.prior_draws(1, model, i, j, rng)))
        cuts = kind.first_cuts(rng)
        entry = slow.mean_of(s, *np.divmod(np.arange(m1 * m2), m2)).reshape(SHAPE)
        scales = [s.sigma2, s.tau2_row, s.tau2_col, s.eta2]
        truth = np.array(
            [
                entry[0, 0],
                entry[1, 2],
                entry.mean(),
                *scales,
                *(cuts - kind.shift),
                *s.w[: kind.noise == "rows"],
            ]
        )
        told = kind.tell(kind.measure(s, i, j, rng), cuts, i, j)
        draws = posterior_draws(kind, told, rng)
        found.append(((draws < truth).sum(axis=0) + rng.random(truth.size)) / (DRAWS + 1))
    return np.array(found)


def smallest(u, kind):
    """The smallest p-value of uniform ranks, times their number; the noise of yes/no is known."""
    p = [ks(column, lambda t: t) for k, column in enumerate(u.T) if not (kind.name == "yes/no" and k == 6)]
    return min(p) * len(p)


KINDS = ("limits", "ranges", "yes/no", "grades", "grades, noise by row", "standard errors", "half-Cauchy")
CONTROLS = {
    "limits": "limits as values",
    "ranges": "limits as values",
    "yes/no": "yes above one",
    "grades": "cuts at halves",
    "grades, noise by row": "cuts at halves",
    "standard errors": "errors forgotten",
    "half-Cauchy": "inverse gamma",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_ranks_of_the_truth_are_uniform(name):
    kind = Kind(name)
    assert smallest(ranks(kind, seed=1), kind) > ACCEPT


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_negative_control_a_sampler_that_is_told_something_else_fails(name):
    kind = Kind(name, CONTROLS[name])
    assert smallest(ranks(kind, seed=2), kind) < REJECT
