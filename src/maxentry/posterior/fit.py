"""What was fitted: the noise law, effects, priors and units; and the way from a run to draws in the user's units."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxentry.kernels import conjugate as kernel
from maxentry.model.priors import Priors
from maxentry.observations import Observations
from maxentry.posterior import conjugate
from maxentry.posterior.chains import PriorsOf, Run
from maxentry.posterior.conjugate import Units
from maxentry.posterior.monitored import Draws


@dataclass(frozen=True)
class Fit:
    """The model of a fit. Priors given by the user are in the data's units, so nothing is standardised then."""

    noise: conjugate.Noise = "gaussian"
    effects: bool = True
    priors: Priors | None = None
    units: Units | None = None

    def in_units_of(self, observations: Observations) -> Fit:
        """The same with units fixed: those of an earlier fit, or standard ones of these observations."""
        data = conjugate.prepare(observations, self.effects, self.noise, self.priors is None, self.units)
        return replace(self, units=data.units)

    def data(self, observations: Observations) -> conjugate.Data:
        """The observations as the sampler wants them."""
        return conjugate.prepare(observations, self.effects, self.noise, self.priors is None, self.units)

    def priors_of(self, shape: tuple[int, int]) -> PriorsOf:
        """The priors of a chain of a given rank."""
        given = self.priors
        return lambda rank: Priors.weak(shape, rank) if given is None else given


def user_draws(run: Run, fit: Fit) -> Draws:
    """The draws of a run in the user's units; its arrays are scaled in place, since they may be large."""
    assert fit.units is not None
    shift, scale = fit.units
    left, right, row, col, scalars = run.kept
    for array in (left, row, col):
        array *= np.asarray(scale, array.dtype)
    mu = shift + scale * scalars[..., kernel.MU]
    eta2, sigma2 = (scale**2 * scalars[..., k] for k in (kernel.ETA2, kernel.SIGMA2))
    nu = scalars[..., kernel.NU].copy() if fit.noise == "student" else None
    return Draws(left, right, row, col, mu, eta2, sigma2 if left.shape[-1] else None, nu)
