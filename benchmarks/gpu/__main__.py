"""Write benchmarks/gpu.md from the results of `benchmarks.gpu.measure`: python -m benchmarks.gpu [RESULT.json]."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent


def table(head, lines):
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def write(result):
    sweeps, large, small, first = (result[k] for k in ("sweeps", "large", "small", "first_use"))
    ratings, whole = result["ratings"], result["posterior"]
    text = [
        "# On a GPU",
        f"{result['device']}, {result['processors']} processors, JAX {result['jax']}, Python {result['python']}. "
        "Measured by `python -m benchmarks.gpu.measure OUT.json`, written by `python -m benchmarks.gpu OUT.json`; the "
        "figures are in benchmarks/gpu/h200.json. Other processes used some of the processors while first use and "
        "small matrices were measured, which makes the processors look slower there.",
        "## A sweep with effects, 140,000 x 27,000, 2e7 observations, heavy-tailed degrees",
        table(
            ["rank", "GPU, ms", "asked, ms", "all processors over GPU", "first sweeps, s", "peak memory, GB"],
            [
                [
                    r, f"{sweeps[r]['ms']:.1f}", asked, f"{sweeps[r]['cpu ms'] / sweeps[r]['ms']:.0f}",
                    f"{sweeps[r]['first']:.0f}", f"{sweeps[r]['memory']['peak']:.1f}",
                ]
                for r, asked in (("16", 5), ("32", 10), ("64", 30))
            ],
        ),
        f"Eight chains of rank 16 as a batch: {sweeps['8 chains']['ms']:.1f} ms a sweep of all. The observations of "
        f"both sides take {sweeps['memory of observations, GB']:.2f} GB. First sweeps include compilation.",
        f"## From triples in memory to a posterior, {whole['observations']:,} observations, rank 16",
        "100 sweeps to anneal and settle, then 10 draws of each of 8 chains: seconds, the first time and again in the "
        "same process.",
        table(
            ["part", "first", "again"],
            [[k, f"{x:.1f}", f"{whole['again'].get(k, 0.0):.1f}"] for k, x in whole["first"].items()],
        ),
        "Draws are brought to the host while sweeps run. What the parts leave of the total is reading the triples and "
        "judging convergence.",
        "## 1e8 observations, 500,000 x 60,000",
        table(
            ["rank", "GPU, ms a sweep", "peak memory, GB"],
            [[r, f"{large[r]['ms']:.1f}", f"{large[r]['memory']['peak']:.1f}"] for r in ("16", "32")],
        ),
        f"Arranged on the host and uploaded in {large['upload']:.1f} s: {large['memory of observations, GB']:.1f} GB. "
        "Peaks are those of the process, which had run 2e7 observations at rank 64 (3.1 GB) before.",
        "## A population of 32 chains on small matrices, rank 4, a quarter observed",
        table(
            ["side", "multiplications a sweep", "processors over GPU, 96 sweeps"],
            [[side, f"{x['work']:.1g}", f"{x['cpu'] / x['gpu']:.2f}"] for side, x in small.items()],
        ),
        "`engine=\"auto\"` takes the GPU from 5e7 multiplications a sweep of all chains.",
        "## MovieLens 1M, a tenth held out, rank 10",
        table(
            ["engine", "RMSE", "coverage of 90% intervals", "noise sd"],
            [
                [e, *(f"{ratings[e][k]:.4f}" for k in ("rmse", "coverage of 90%", "noise sd"))]
                for e in ("gpu", "cpu")
            ],
        ),
        f"Posterior means of {ratings['difference']['entries']:,} held-out entries differ by "
        f"{ratings['difference']['root mean square in Monte Carlo errors']:.2f} Monte Carlo errors (root mean "
        f"square; 1 is expected), {100 * ratings['difference']['beyond 2 of them']:.1f}% by more than 2 (4.6% are "
        f"expected); the largest by {ratings['difference']['largest']:.1f}. With compilation the GPU took "
        f"{ratings['gpu']['seconds'] / ratings['cpu']['seconds']:.1f} times as long as the processors: a table of this "
        "size, fitted once, is not worth it.",
        "## First use",
        f"A small fit takes {first['nothing compiled']:.0f} s where nothing is compiled, and "
        f"{first['in a new process']:.0f} s in a new process, which finds what the first one compiled.",
    ]  # fmt: skip
    (HERE.parent / "gpu.md").write_text("\n\n".join(text) + "\n")


if __name__ == "__main__":
    write(json.loads(Path(sys.argv[1] if sys.argv[1:] else HERE / "h200.json").read_text()))
