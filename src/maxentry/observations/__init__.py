"""What has been measured of a matrix."""

from maxentry.observations.labels import Axis as Axis
from maxentry.observations.observations import Half as Half
from maxentry.observations.observations import Observations as Observations
