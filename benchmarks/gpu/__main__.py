"""Write benchmarks/gpu.md from the results of `benchmarks.gpu.measure`: python -m benchmarks.gpu [RESULT.json].

`python -m benchmarks.gpu devices` counts what travels between devices first.
"""

import json
import sys
from pathlib import Path

from benchmarks.gpu import devices

HERE = Path(__file__).parent


def table(head, lines):
    rows = [head, ["---"] * len(head), *lines]
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in rows)


def write(result):
    sweeps, large, small, first = (result[k] for k in ("sweeps", "large", "small", "first_use"))
    ratings, whole, host = result["ratings"], result["posterior"], result["host"]
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
        "100 sweeps to anneal and settle, then 10 draws of each of 8 chains: seconds, the first time and again in the "
        "same process.",
        table(
            ["part", "first", "again"],
            [[k, f"{x:.1f}", f"{whole['again'].get(k, 0.0):.1f}"] for k, x in whole["first"].items()],
        ),
        "Draws are brought to the host while sweeps run. What the parts leave of the total is reading the triples and "
        "judging convergence.",
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
        *write_devices(sweeps, large),
    ]  # fmt: skip
    (HERE.parent / "gpu.md").write_text("\n\n".join(text) + "\n")


def write_devices(sweeps, large):
    """What travels between devices, counted, and how sweeps scale, reckoned."""
    counted = json.loads((HERE / "devices.json").read_text())
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
        f"one adapter in the last columns. A sweep has about {devices.collectives():.0f} collectives, most of them "
        f"single numbers of slice steps ({devices.EVALUATIONS} evaluations each, a guess).",
    ]
    for title, shape, rank, _, found in devices.tables(one):
        text += [f"### {shape[0]:,} x {shape[1]:,}, {title}, rank {rank}", table(head, found)]
    return text


if __name__ == "__main__":
    if sys.argv[1:] == ["devices"]:
        devices.measure()
    given = [word for word in sys.argv[1:] if word != "devices"]
    write(json.loads(Path(given[0] if given else HERE / "h200.json").read_text()))
