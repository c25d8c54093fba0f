"""What was fitted: the scale, noise law, effects, priors and units; and the way from a run to draws on that scale."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from maxentry.kernels import conjugate as kernel
from maxentry.model.priors import Priors
from maxentry.observations import Observations
from maxentry.observations.labels import place
from maxentry.posterior import conjugate
from maxentry.posterior.chains import PriorsOf, Run
from maxentry.posterior.conjugate import Units
from maxentry.posterior.monitored import Draws
from maxentry.transform import NONE, Transform


@dataclass(frozen=True)
class Fit:
    """The model of a fit. Priors given by the user are in the data's units, so nothing is standardised then.

    With a transform, the values on its scale take the place of the data throughout, for priors and units too.
    """

    noise: conjugate.Noise = "gaussian"
    effects: bool = True
    priors: Priors | None = None
    units: Units | None = None
    transform: Transform = NONE

    def in_units_of(self, observations: Observations) -> Fit:
        """The same with units fixed: those of an earlier fit, or standard ones of these observations."""
        return replace(self, units=self.data(observations).units)

    def data(self, observations: Observations) -> conjugate.Data:
        """The observations, in the user's units, as the sampler wants them."""
        z = on_scale(self.transform, observations)
        return conjugate.prepare(z, self.effects, self.noise, self.priors is None, self.units)

    def priors_of(self, shape: tuple[int, int]) -> PriorsOf:
        """The priors of a chain of a given rank."""
        given = self.priors
        return lambda rank: Priors.weak(shape, rank) if given is None else given


def on_scale(transform: Transform, observations: Observations) -> Observations:
    """The observations with values on the scale of the model; one that has no place there is named by its labels."""
    if transform == NONE:
        return observations
    o = observations
    z = transform.forward(o.values, lambda k: place(o.row_axis, o.rows[k], o.col_axis, o.cols[k]))
    return replace(o, values=z)


def user_draws(run: Run, fit: Fit) -> Draws:
    """The draws of a run in the units of the (transformed) data; its arrays, often large, are scaled in place."""
    assert fit.units is not None
    shift, scale = fit.units
    left, right, row, col, scalars = run.kept
    for array in (left, row, col):
        array *= np.asarray(scale, array.dtype)
    mu = shift + scale * scalars[..., kernel.MU]
    eta2, sigma2 = (scale**2 * scalars[..., k] for k in (kernel.ETA2, kernel.SIGMA2))
    nu = scalars[..., kernel.NU].copy() if fit.noise == "student" else None
    return Draws(left, right, row, col, mu, eta2, sigma2 if left.shape[-1] else None, nu)
