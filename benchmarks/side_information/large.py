"""Fingerprints with tens of thousands of bits, by conjugate gradients: time and memory beside no features."""

from pathlib import Path

import numpy as np
import scipy.sparse as sp
from benchmarks.checks import Line, recall
from benchmarks.side_information import peers
from benchmarks.side_information.problems import Problem, split

KNOWN = Path(__file__).parent / "results" / "large.jsonl"
RANK, SWEEPS = 8, 300
BITS = 50  # of a row


def bits(m: int, p: int, rng: np.random.Generator) -> sp.csr_array:
    """About fifty of p bits in each row, some of them rare and some frequent."""
    often = (1 + np.arange(p)) ** -0.7
    cols = rng.choice(p, size=(m, BITS), p=often / often.sum())
    made = sp.csr_array((np.ones(m * BITS), (np.repeat(np.arange(m), BITS), cols.ravel())), shape=(m, p))
    made.sum_duplicates()
    made.data[:] = 1.0
    return made


def problem(m: int, p: int) -> Problem:
    """m x 100, 5% observed; the bits explain 70% of the variance of eight factors, and a tenth of the rows is cold."""
    rng, n = np.random.default_rng([44, m]), 100
    F = bits(m, p, rng)
    told = F @ rng.standard_normal((p, RANK))
    A = np.sqrt(0.7) * (told - told.mean(0)) / told.std(0) + np.sqrt(0.3) * rng.standard_normal((m, RANK))
    Y = A @ rng.standard_normal((RANK, n)) / np.sqrt(RANK) + 0.4 * rng.standard_normal((m, n))
    entries = (*np.divmod(np.arange(m * n), n), Y.ravel())
    return split(entries, (m, n), 0.05, rng.permutation(m)[: m // 10], rng, F)


def measure(m: int, way: str) -> list[float]:
    """Error of cold rows, coverage, seconds of a sweep, peak memory in MB."""
    given = problem(m, m)
    features = None if way == "plain" else given.row_features
    settings = {"rank": RANK, "sweeps": SWEEPS, "seed": 0, "col_features": None}
    found = peers.run("ours", given.task, row_features=features, **settings)
    return [*found.judge(given.truth, given.cold), found.seconds / SWEEPS, found.memory / 1024]


def large(quick: bool) -> list[Line]:
    """20,000 rows, and as many bits."""
    m = 6_000 if quick else 20_000
    features, plain = (
        recall(KNOWN, [m, way], lambda way=way: measure(m, way)) for way in ("features", "plain")
    )
    name = f"{m:,} x 100, {m:,} bits"
    texts = {
        "seconds of a sweep (with features, without)": f"{features[2]:.2f}, {plain[2]:.3f}",
        "peak memory in MB (with features, without)": f"{features[3]:.0f}, {plain[3]:.0f}",
        "error of cold rows (with features, without)": f"{features[0]:.4f}, {plain[0]:.4f}",
        "90% predictive intervals of cold rows cover": f"{features[1]:.3f}, {plain[1]:.3f}",
    }
    return [Line(f"{name}: {what}", text) for what, text in texts.items()]


CHECKS = {"large": large}
