"""Which entries of a matrix to measure next, and the whole matrix with uncertainty you can trust."""

from maxentry.errors import MaxentryError as MaxentryError
from maxentry.model.priors import InverseGamma as InverseGamma
from maxentry.model.priors import Priors as Priors
from maxentry.observations import Observations as Observations
from maxentry.posterior.complete import complete as complete
from maxentry.posterior.posterior import Posterior as Posterior
from maxentry.posterior.sampling import Sampling as Sampling

__version__ = "0.1.0"
