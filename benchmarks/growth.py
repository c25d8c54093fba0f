"""Growth of time and memory: CPU time a sweep, and memory of a fit less its draws, against N, m and R.

    .venv/bin/python benchmarks/growth.py            # writes benchmarks/growth.md
    .venv/bin/python benchmarks/growth.py --quick    # small; writes nothing

One of N (observations), m (rows, and as many columns) and R (rank) grows at a time; each measurement in a process of
its own, one thread. Exponents are slopes of a line through the logarithms, over all sizes, and between the last two,
where what does not grow matters least. A sweep is N R^2 for the sums and m R^3 for the solves: exponents below those
of the leading term mean that the other part, or the memory's latency, is in it.
"""

import argparse
import json
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
from measures import sweep_seconds, table

import maxentry
from maxentry import Observations, Sampling

BASE = {"N": 1_000_000, "m": 5_000, "R": 10}
SIZES = {
    "N": [100_000, 300_000, 1_000_000, 3_000_000],
    "m": [1_000, 3_000, 10_000, 30_000],
    "R": [2, 4, 8, 16, 32],
}
QUICK = {"N": [10_000, 30_000, 100_000], "m": [300, 1_000, 3_000], "R": [2, 4, 8]}


def measure(N: int, m: int, R: int) -> dict[str, float]:
    """CPU seconds a sweep; bytes that a fit of one chain holds at its peak, without its single draw."""
    rng = np.random.default_rng(0)
    rows, cols = rng.integers(m, size=(2, N))
    values = rng.standard_normal(N)
    observations = Observations.of((rows, cols, values), shape=(m, m))
    seconds = sweep_seconds(observations, R, least=1.0, blocks=3)
    tracemalloc.start()
    observations = Observations.of((rows, cols, values), shape=(m, m))
    loaded = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    plan = Sampling("long", chains=1, anneal=0, settle=0, draws=1, thin=1)
    posterior = maxentry.complete(observations, R, sampling=plan, seed=0, progress=False, threads=1)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    draws = sum(a.nbytes for a in posterior.draws if a is not None)
    return {"seconds": seconds, "loading": loaded, "held": held - draws, "peak": peak - draws}


def child(**sizes: int) -> dict[str, float]:
    command = [sys.executable, __file__, "--part", json.dumps(sizes)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    print(sizes, done.stdout.strip(), flush=True)
    return json.loads(done.stdout.splitlines()[-1])


def slope(x: list[int], y: list[float]) -> tuple[float, float]:
    """Over all sizes, and between the last two."""
    u, v = np.log(x), np.log(y)
    return float(np.polyfit(u, v, 1)[0]), float((v[-1] - v[-2]) / (u[-1] - u[-2]))


def report(base: dict[str, int], sizes: dict[str, list[int]]) -> str:
    text, summary = "", []
    for name, values in sizes.items():
        found = [child(**{**base, name: value}) for value in values]
        others = ", ".join(f"{k} = {v:,}" for k, v in base.items() if k != name)
        lines = [
            [
                f"{value:,}", f"{1e3 * f['seconds']:.2f}", f"{f['held'] / 1e6:.1f}", f"{f['peak'] / 1e6:.1f}",
                f"{f['held'] / (value if name == 'N' else base['N']):.1f}",
            ]
            for value, f in zip(values, found, strict=True)
        ]  # fmt: skip
        header = [name, "ms a sweep", "MB held", "MB at the peak", "bytes held an observation"]
        text += f"## {name}, where {others}\n\n{table(header, lines)}\n"
        for what, key in (
            ("time a sweep", "seconds"),
            ("memory held", "held"),
            ("memory at the peak", "peak"),
        ):
            over_all, last = slope(values, [f[key] for f in found])
            summary.append([what, name, f"{over_all:.2f}", f"{last:.2f}"])
    exponents = table(["", "against", "exponent over all sizes", "between the last two"], summary)
    return f"## Exponents\n\n{exponents}\n{text}"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--quick", action="store_true")
    options.add_argument("--part", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.part:
        print(json.dumps(measure(**json.loads(given.part))))
        return
    if given.quick:
        print(report({"N": 30_000, "m": 300, "R": 4}, QUICK))
        return
    title, *_ = __doc__.splitlines()
    text = f"# {title}\n\n{''.join(__doc__.partition('One of N')[1:])}\n{report(BASE, SIZES)}"
    Path(__file__).with_suffix(".md").write_text(text)


if __name__ == "__main__":
    main()
