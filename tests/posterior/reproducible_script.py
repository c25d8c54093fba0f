"""Print digests of draws, and of a sum whose order the compiler may choose; run by test_reproducible.py."""

import hashlib
import json
import sys

import numpy as np
from numba import njit

from maxentry import Sampling, complete

PLAN = Sampling(chains=2, anneal=30, settle=30, draws=3, thin=3)


def measured(seed):
    """Values made by whole numbers and one division, which every processor does alike."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(-9, 10, (20, 2)), rng.integers(-9, 10, (2, 15))
    Y = (a[:, :1] * b[0] + a[:, 1:] * b[1] + rng.integers(-9, 10, (20, 15))) / 16
    return np.where(rng.random((20, 15)) < 0.4, np.nan, Y)


def digest(posterior):
    arrays = (np.ascontiguousarray(array) for array in posterior.draws if array is not None)
    return hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest()


@njit(fastmath=True)
def careless_sum(x):
    s = 0.0
    for k in range(x.size):
        s += x[k] * x[k]
    return s


def main(threads, seed):
    Y = measured(0)
    plain = complete(Y, 2, sampling=PLAN, seed=seed, threads=threads)
    found = {
        "gaussian": plain,
        "student": complete(Y, 1, noise="student", sampling=PLAN, seed=seed, threads=threads),
        "auto": complete(Y, sampling=PLAN, seed=seed, threads=threads),
        "log": complete(1 + abs(Y), 1, transform="log", sampling=PLAN, seed=seed, threads=threads),
        "warm": complete(Y, start=plain, sampling=PLAN, seed=seed, threads=threads),
    }
    control = float(careless_sum(np.random.default_rng(0).random(1000)))
    print(json.dumps({name: digest(p) for name, p in found.items()} | {"careless": control.hex()}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
