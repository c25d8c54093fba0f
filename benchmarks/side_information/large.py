"""Fingerprints with tens of thousands of bits, by conjugate gradients: time and memory of a sweep, beside Macau's."""

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
    settings = {"rank": RANK, "sweeps": SWEEPS, "seed": 0, "direct": False, "col_features": None}
    method = "macau" if way == "Macau" else "ours"
    found = peers.run(method, given.task, row_features=features, **settings)
    return [*found.judge(given.truth, given.cold), found.seconds / SWEEPS, found.memory / 1024]


def large(quick: bool) -> list[Line]:
    """As many bits as rows: 6,000, and 20,000."""
    lines = []
    for m in (6_000,) if quick else (6_000, 20_000):
        runs = {
            way: recall(KNOWN, [m, way], lambda m=m, way=way: measure(m, way))
            for way in ("features", "plain", "Macau")
        }
        ours, plain, peer = (np.array(run) for run in runs.values())
        name = f"{m:,} x 100, {m:,} bits"
        texts = {
            "a sweep, over one without features (seconds)": f"{ours[2] / plain[2]:.1f} ({ours[2]:.2f})",
            "a sweep of Macau, over ours": f"{peer[2] / ours[2]:.1f}",
            "peak memory in MB (ours, Macau, ours without features)": f"{ours[3]:.0f}, {peer[3]:.0f}, {plain[3]:.0f}",
            "error of cold rows over Macau's (ours, Macau, ours without features)": (
                f"{ours[0] / peer[0]:.3f} ({ours[0]:.4f}, {peer[0]:.4f}, {plain[0]:.4f})"
            ),
            "90% predictive intervals of cold rows cover (ours, Macau)": f"{ours[1]:.3f}, {peer[1]:.3f}",
        }
        lines += [Line(f"{name}: {what}", text) for what, text in texts.items()]
    return lines


CHECKS = {"large": large}
