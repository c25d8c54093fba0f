"""Fingerprints with tens of thousands of bits, by conjugate gradients: time and memory beside no features."""

import resource
import time

import numpy as np
import scipy.sparse as sp
from benchmarks.checks import Line
from benchmarks.side_information.harmless import sweeps_of

import maxentry
from maxentry.model.link import Basis

RANK, SETTLE = 8, 20
BITS = 50  # of a row


def bits(m: int, p: int, rng: np.random.Generator) -> sp.csr_array:
    """About fifty of p bits in each row, some of them rare and some frequent."""
    often = (1 + np.arange(p)) ** -0.7
    cols = rng.choice(p, size=(m, BITS), p=often / often.sum())
    made = sp.csr_array((np.ones(m * BITS), (np.repeat(np.arange(m), BITS), cols.ravel())), shape=(m, p))
    made.sum_duplicates()
    made.data[:] = 1.0
    return made


def large(quick: bool) -> list[Line]:
    """20,000 x 100, 5% observed, rank 8, and as many bits as rows, which explain 70% of the variance of factors."""
    m, n, rng = 6_000 if quick else 20_000, 100, np.random.default_rng(44)
    F = bits(m, m, rng)
    told = F @ rng.standard_normal((m, RANK))
    A = np.sqrt(0.7) * (told - told.mean(0)) / told.std(0) + np.sqrt(0.3) * rng.standard_normal((m, RANK))
    X = A @ rng.standard_normal((RANK, n)) / np.sqrt(RANK)
    i, j = np.divmod(np.sort(rng.permutation(m * n)[: m * n // 20]), n)
    data = maxentry.Observations.of((i, j, X[i, j] + 0.4 * rng.standard_normal(i.size)), shape=(m, n))
    took = {}
    for name, bases in (("plain", None), ("features", (Basis(m, F), Basis(n)))):
        run = sweeps_of(data, bases, RANK, settle=SETTLE)
        begin = time.process_time()
        run()
        took[name] = (time.process_time() - begin) / 4
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    name = f"{m:,} x {n}, {m:,} bits"
    return [
        Line(
            f"{name}: seconds of a sweep (with features, without)",
            f"{took['features']:.2f}, {took['plain']:.3f}",
        ),
        Line(f"{name}: peak memory in MB", f"{memory:.0f}"),
    ]


CHECKS = {"large": large}
