"""Write benchmarks/gpu.md from the results of `benchmarks.gpu.measure`: python -m benchmarks.gpu [RESULT.json].

`python -m benchmarks.gpu devices` counts what travels between devices first.
"""

import json
import sys
from pathlib import Path

from benchmarks.gpu import devices
from benchmarks.gpu.measure import GRAPHS

HERE = Path(__file__).parent


def table(head, lines):
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def write(result):
    sweeps, large, small, first = (result[k] for k in ("sweeps", "large", "small", "first_use"))
    ratings, whole, host = result["ratings"], result["posterior"], result["host"]
    parts, double = result["parts"], result["precision"]
    fresh = whole["runs"]["nothing compiled"]
    ready = fresh["sort by row and column, standardise"] + fresh["arrange on the host and upload"]
    spread, beside = (ratings[engine]["noise sd by chain"] for engine in ("gpu", "cpu"))
    assert max(spread) < 1.02 * max(beside)  # a chain that misses the mode has 1.05 times the noise
    slower = double["float64"]["ms"] / double["float32"]["ms"]
    text = [
        "# On a GPU",
        f"{result['device']}, {result['processors']} processors, JAX {result['jax']}, Python {result['python']}. "
        "Measured by `python -m benchmarks.gpu.measure OUT.json`, written by `python -m benchmarks.gpu OUT.json`; the "
        "figures are in benchmarks/gpu/h200.json. Each part ran in a process of its own, all on one code. That had no "
        "latent values yet; sweeps of plain numbers are the same, those of limits and grades (`kinds`) were not timed.",
        "## A sweep with effects, 140,000 x 27,000, 2e7 observations, heavy-tailed degrees",
        table(
            ["rank", "GPU, ms", "asked, ms", "first sweeps, s", "peak memory, GB"],
            [
                [
                    r, f"{sweeps[r]['ms']:.1f}", asked,
                    f"{sweeps[r]['first']:.0f}", f"{sweeps[r]['memory']['peak']:.1f}",
                ]
                for r, asked in (("16", 5), ("32", 10), ("64", 30))
            ],
        ),
        f"Eight chains of rank 16 as a batch: {sweeps['8 chains']['ms']:.1f} ms a sweep of all. The observations of "
        f"both sides take {sweeps['memory of observations, GB']:.2f} GB. First sweeps include compilation.",
        f"**The goal of 2 ms at rank 16 is missed.** Of {parts['ms']:.1f} ms, the sums of rows and columns take "
        f"{parts['sums']['ms']:.1f} and their draws {parts['draws']['ms']:.1f}, which are kernels in Pallas; "
        f"{parts['others']['kernels']:.0f} small kernels (R x R algebra in double precision, effects, slice steps) "
        f"take {parts['others']['ms']:.1f}, and waiting between kernels takes {parts['waiting']:.1f}. So sums and "
        "draws alone are over the goal. With loops and branches in CUDA's graphs, not on the host "
        f"(`XLA_FLAGS={GRAPHS}`), a sweep takes {result['graphs']['ms']:.1f} ms.",
        "The same beside SMURFF (BPMF, which has no effects) on all processors, in one run:",
        table(
            ["rank", "GPU, ms", "SMURFF over GPU", "our processors over GPU", "SMURFF over our processors"],
            [
                [
                    r, f"{x['gpu ms']:.1f}", f"{x['smurff ms'] / x['gpu ms']:.0f}", f"{x['cpu ms'] / x['gpu ms']:.0f}",
                    f"{x['smurff ms'] / x['cpu ms']:.1f}",
                ]
                for r, x in result["peers"].items()
            ],
        ),
        f"## From triples in memory to a posterior, {whole['observations']:,} observations, rank 16",
        "100 sweeps to anneal and settle, then 10 draws of each of 8 chains: seconds in a process that finds nothing "
        "compiled, in a new process that finds what the first one kept, and again in the same process.",
        table(
            ["part", *whole["runs"]],
            [[k, *(f"{run[k]:.1f}" for run in whole["runs"].values())] for k in whole["runs"]["again"]],
        ),
        f"To sort, arrange and upload takes {ready:.1f} s where nothing is compiled (asked: 3). What the parts leave "
        "of the total is reading the triples and judging convergence. Of the batches of sweeps, "
        f"{whole['precisions'].get('float32', 0)} ran in single precision and "
        f"{whole['precisions'].get('float64', 0)} in double, in which a sweep of 8 chains takes {slower:.1f} times as "
        "long.",
        f"Of 2e7 observations on all processors: by column {host['by column, compiled']:.2f} s, by NumPy "
        f"{host['by column, NumPy']:.2f} s ({host['by column, NumPy'] / host['by column, compiled']:.0f} times as "
        "long); "
        f"arranged for the GPU in {host['arrange rows'] + host['arrange columns']:.2f} s. All of it compiled before.",
        "## 1e8 observations, 500,000 x 60,000",
        table(
            ["rank", "GPU, ms a sweep", "peak memory, GB"],
            [[r, f"{large[r]['ms']:.1f}", f"{large[r]['memory']['peak']:.1f}"] for r in ("16", "32")],
        ),
        f"Arranged on the host and uploaded in {large['upload']:.1f} s: {large['memory of observations, GB']:.1f} GB. "
        f"By part: places and values of both sides {large['parts, GB']['places and values']:.2f} GB, where rows begin "
        f"{large['parts, GB']['where rows begin']:.2f}; the rest of the peaks is mostly the sums of rows, 4 (R^2 + 3 "
        "R) bytes each (0.61 and 2.24 GB), then factors and normals.",
        "## A population of 32 chains on small matrices, rank 4, a quarter observed",
        table(
            ["side", "multiplications a sweep", "processors over GPU, 96 sweeps"],
            [[side, f"{x['work']:.1g}", f"{x['cpu'] / x['gpu']:.2f}"] for side, x in small.items()],
        ),
        "`engine=\"auto\"` takes the GPU from 5e7 multiplications a sweep of all chains, if all sweeps together have "
        "3e11: about as many as the processors do while a new process gets the GPU ready (below). A test compares both "
        "with this page's figures.",
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
        f"expected); the largest by {ratings['difference']['largest']:.1f}. The GPU's first "
        f"fit, which compiles its sweeps, took {ratings['gpu']['seconds']:.0f} s; the processors, whose kernels the "
        f"parts before had compiled, took {ratings['cpu']['seconds']:.0f} s; again in the same process, the GPU took "
        f"{ratings['gpu']['seconds again']:.1f} s. Of three fits by three seeds, "
        f"{ratings['gpu']['precisions'].get('float32', 0)} batches of sweeps ran in single precision and "
        f"{ratings['gpu']['precisions'].get('float64', 0)} in double. Their {len(spread)} chains have noise of sd "
        f"{min(spread):.3f} to {max(spread):.3f}, those of the processors {min(beside):.3f} to {max(beside):.3f}: all "
        "found the same mode.",
        "## First use",
        f"A small fit takes {first['nothing compiled']:.0f} s where nothing is compiled, and "
        f"{first['in a new process']:.0f} s in a new process, which finds what the first one kept "
        f"in the user's cache ({first['kept, MB']:.0f} MB): JAX's own cache of compiled programs, and Numba's. What is "
        "left is starting the GPU and tracing the sweep in Python.",
        *write_devices(sweeps, large),
    ]  # fmt: skip
    (HERE.parent / "gpu.md").write_text("\n\n".join(text) + "\n")


def write_devices(sweeps, large):
    """What travels between devices, counted, and how sweeps scale, reckoned."""
    counted = json.loads((HERE / "devices.json").read_text())
    apart = json.loads((HERE / "hosts.json").read_text())
    lines = [
        [
            D, x["places"], x["rank"], *x["all-gather"], devices.gathered_bytes(x["places"], x["rank"]),
            *x["all-reduce"],
        ]
        for D, x in counted.items()
    ]  # fmt: skip
    small, huge = (140_000, 27_000), (5_000_000, 600_000)
    one = [
        ("2e7 observations, measured on one GPU", small, 16, sweeps["16"]["ms"]),
        ("1e9 observations, on one GPU ten times the measured 1e8", huge, 16, 10 * large["16"]["ms"]),
        ("1e9 observations, on one GPU ten times the measured 1e8", huge, 32, 10 * large["32"]["ms"]),
    ]
    head = ["GPUs", "MB into each GPU", "ms a sweep", "on links", "speed-up"]
    head += [f"{x}, one adapter" for x in head[2:]]
    text = [
        "## Several processes",
        "`python -m benchmarks.gpu.hosts`: two processes of two virtual devices each, joined by `jax.distributed`, "
        "beside one process of four devices, on two busy cores. Factors and effects differ by at most "
        f"{max(apart[name] for name in ('left', 'right', 'row', 'col')):.0e}, variances of the noise by "
        f"{apart['eta2']:.0e}.",
        "## Many devices",
        "No machine with several GPUs was at hand. **Counted** is what the compiled program sends, on virtual devices "
        "(`python -m benchmarks.gpu devices`). **Measured** is the sweep on one GPU. Times on several are **reckoned** "
        "from the two: work shared out evenly, no overlap of work and links, rings. Each sweep gathers the factors and "
        "effects of both sides, R + 1 numbers of four bytes a row or column and chain. The sums over devices are "
        "small, "
        "whatever the number of observations. Both are those of the program for GPUs, which differs in how each device "
        "sums its own observations.",
        table(
            [
                "devices",
                "rows and columns",
                "R",
                "all-gathers",
                "bytes",
                "4 (R + 1) bytes each",
                "sums",
                "bytes",
            ],
            lines,
        ),
        "Bandwidths are their makers' figures, times of a collective assumed: NVLink "
        f"{devices.NVLINK / 1e9:.0f} GB/s into a GPU and "
        f"{devices.NVLINK_LATENCY * 1e6:.0f} µs a collective; InfiniBand "
        f"{devices.ADAPTER / 1e9:.0f} GB/s an adapter and "
        f"{devices.ADAPTER_LATENCY * 1e6:.0f} µs. Machines have {devices.MACHINE} GPUs and "
        f"{devices.MACHINE} adapters, or "
        f"one adapter in the last columns. A sweep has about {devices.collectives():.0f} collectives; a slice step, "
        f"which evaluates all its points at once, has {devices.EVALUATIONS}.",
    ]
    for title, shape, rank, _, found in devices.tables(one):
        text += [f"### {shape[0]:,} x {shape[1]:,}, {title}, rank {rank}", table(head, found)]
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["devices"]:
        devices.measure()
    given = [word for word in sys.argv[1:] if word != "devices"]
    write(json.loads(Path(given[0] if given else HERE / "h200.json").read_text()))
