"""Choosing: large batches in little time, and starts that are no worse than random ones."""

import sys
import time
from pathlib import Path

import numpy as np
from benchmarks.honest.line import Line

from maxentry.acquisition import Problem, choose

sys.path.insert(0, str(Path(__file__).parents[1]))  # the scripts beside import each other by name
from choosing import belief, question

SHARE = "gain of a sample over exact, least of 3 beliefs x 3 criteria"


def large_choices(quick: bool) -> list[Line]:
    """CPU seconds of two choices for which bounds do not separate, beside a matrix product of fixed size."""
    cases = [
        (20_000, 128, 96, "96 of 20,000 x 20,000, like rows", "at most 30 s"),
        (1000, 384, 1992, "1,992 of 1,000 x 1,000", "at most 10 s"),
    ]
    if quick:
        cases = [(300, 64, 96, "96 of 300 x 300", "")]
    lines, unit = [], multiply()
    for m, S, n, what, asked in cases:
        b, q = belief(m, m, S, 10), question(m, m)
        choose("predictive_variance", belief(6, 5, 3, 2), question(6, 5, 2), 1, rng=np.random.default_rng(0))
        start = time.process_time()
        batch = choose("predictive_variance", b, q, n, rng=np.random.default_rng(0))
        seconds, sampled = time.process_time() - start, getattr(batch, "sampled", 0)
        how = f"best of {sampled:,} sampled" if sampled else "exact"
        value = f"{seconds:.1f} CPU s ({seconds / unit:.0f} products of 1,000 x 1,000), gain {batch.gain.sum():.1f}"
        lines.append(Line(what, f"{value}, {how}", asked))
    return lines


def multiply() -> float:
    """CPU seconds of one product of two 1,000 x 1,000 matrices, a measure of the machine; best of 5."""
    x, seconds = np.random.default_rng(0).normal(size=(1000, 1000)), []
    for _ in range(5):
        start = time.process_time()
        x @ x
        seconds.append(time.process_time() - start)
    return min(seconds)


def sampled_gain(quick: bool) -> list[Line]:
    """The gain of a batch from a hundredth of the entries over that of the exact search, where both can be had."""
    from maxentry.acquisition import greedy, total_variance

    if not hasattr(greedy, "sample_candidates"):
        return [
            Line("gain of a sample over exact, least of 3 beliefs x 3 criteria", "at least 0.95", "no sample")
        ]
    m, shares = 200 if quick else 600, []
    for coherence in (0.0, 0.3, 0.8):
        b, q = belief(m, m, 64, 6, coherence), Problem((m, m))
        for name in ("predictive_variance", "maxent", "integrated_variance"):
            gains = []
            for most in (1e99, -1):
                greedy.MOST_WORK = total_variance.MOST_WORK = most
                greedy.MOST_SAMPLED = m * m // 100
                gains.append(choose(name, b, q, 96, rng=np.random.default_rng(0)).gain.sum())
            shares.append(gains[1] / gains[0])
    value = f"{min(shares):.3f} (mean {np.mean(shares):.3f})"
    return [Line(SHARE, value, "at least 0.95")]


CHECKS = {"large_choices": large_choices, "sampled_gain": sampled_gain}
