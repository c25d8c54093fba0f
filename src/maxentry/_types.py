"""Types of arrays, named by what they hold."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.int64]
Indices32 = NDArray[np.int32]  # of observations: half the memory for the sampler to pass through
