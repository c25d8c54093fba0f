"""Fingerprints with thousands of bits: conjugate gradients beside singular vectors, and beside no features."""

import resource
import time

import numpy as np
import scipy.sparse as sp
from benchmarks.checks import Line
from benchmarks.side_information.harmless import sweeps_of
from threadpoolctl import threadpool_limits

import maxentry
from maxentry.model import link
from maxentry.model.link import Basis

RANK, SETTLE = 8, 20
BITS = 50  # of a row
SIDES = (500, 1000, 2000, 4000)  # rows, and as many bits
SWEEPS = 8 * 150  # of the shortest default fit: eight chains


def bits(m: int, p: int, rng: np.random.Generator) -> sp.csr_array:
    """About fifty of p bits in each row, some of them rare and some frequent."""
    often = (1 + np.arange(p)) ** -0.7
    cols = rng.choice(p, size=(m, BITS), p=often / often.sum())
    made = sp.csr_array((np.ones(m * BITS), (np.repeat(np.arange(m), BITS), cols.ravel())), shape=(m, p))
    made.sum_duplicates()
    made.data[:] = 1.0
    return made


def measurements(m: int, n: int) -> tuple[sp.csr_array, maxentry.Observations]:
    """As many bits as rows, which explain 70% of the variance of factors; 5% of m x n entries, rank 8."""
    rng = np.random.default_rng(44)
    F = bits(m, m, rng)
    told = F @ rng.standard_normal((m, RANK))
    A = np.sqrt(0.7) * (told - told.mean(0)) / told.std(0) + np.sqrt(0.3) * rng.standard_normal((m, RANK))
    X = A @ rng.standard_normal((RANK, n)) / np.sqrt(RANK)
    i, j = np.divmod(np.sort(rng.permutation(m * n)[: m * n // 20]), n)
    return F, maxentry.Observations.of((i, j, X[i, j] + 0.4 * rng.standard_normal(i.size)), shape=(m, n))


def large(quick: bool) -> list[Line]:
    """Time of a sweep of 20,000 x 100 with 20,000 bits, and without."""
    m, n = 6_000 if quick else 20_000, 100
    F, data = measurements(m, n)
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


def crossover(quick: bool) -> list[Line]:
    """The same fit by singular vectors and by conjugate gradients, as rows and bits grow."""
    lines, usual = [], (link.FEW, link.MOST)
    for m in SIDES[: 2 if quick else None]:
        (F, data), found = measurements(m, 100), []
        for most in (m, 0):  # vectors, gradients
            link.FEW, link.MOST, basis = most, most, Basis(m, F)
            begin = time.process_time()
            with threadpool_limits(1):
                prepared = basis.U, basis.sparse
            once = time.process_time() - begin
            run = sweeps_of(data, (basis, Basis(100)), RANK, settle=SETTLE)
            begin = time.process_time()
            for _ in range(3):
                run()
            found += [once, (time.process_time() - begin) / 12]
            del prepared
        link.FEW, link.MOST = usual
        vectors, gradients = (found[k] + SWEEPS * found[k + 1] for k in (0, 2))
        lines += [
            Line(
                f"{m:,} rows and bits: seconds once, milliseconds of a sweep (vectors; gradients)",
                f"{found[0]:.1f}, {1e3 * found[1]:.1f}; {found[2]:.1f}, {1e3 * found[3]:.1f}",
            ),
            Line(
                f"{m:,} rows and bits: time of a fit by gradients over that by vectors",
                f"{gradients / vectors:.2f}",
            ),
        ]
    return lines


CHECKS = {"large": large, "crossover": crossover}
