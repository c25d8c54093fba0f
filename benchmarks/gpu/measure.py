"""Measure the GPU engine on the machine this runs on; every part writes its figures to a file of results.

    python -m benchmarks.gpu.measure OUT.json [part ...]     # then: python -m benchmarks.gpu OUT.json

Parts: sweeps, kinds, parts, graphs, precision, posterior, large, ratings, small, first_use, peers (needs SMURFF), host.
Each part runs in a process of its own, so that its peak of memory is its own; one that fails leaves its error in the
results. `ratings` reads the file that MAXENTRY_ML1M names.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from pathlib import Path

import numpy as np

import maxentry
from maxentry import Observations, Sampling
from maxentry.model.likelihood import GAUSSIAN, Likelihood
from maxentry.model.priors import Priors
from maxentry.posterior import chains, gibbs
from maxentry.progress import track

SHAPE = (140_000, 27_000)
N = 20_000_000
RANKS = (16, 32, 64)
GRAPHS = "--xla_gpu_enable_command_buffer=FUSION,CUBLAS,CUBLASLT,CUDNN,CUSTOM_CALL,CONDITIONAL,WHILE"


def heavy_tailed(n, shape=SHAPE, rank=8, seed=0):
    """Ratings of a rank-8 matrix with effects, sd of the noise 0.8: few rows and columns have most of them."""
    rng, (m1, m2) = np.random.default_rng(seed), shape
    p, q = np.exp(1.2 * rng.standard_normal(m1)), (np.arange(m2) + 20.0) ** -1.1
    i = np.repeat(np.arange(m1), rng.multinomial(n, p / p.sum()))
    j = np.minimum(np.searchsorted(np.cumsum(q) / q.sum(), rng.random(n)), m2 - 1)
    i, j = np.divmod(np.sort(i * np.int64(m2) + j), m2)  # an entry may be there twice
    A, B = rng.standard_normal((m1, rank)) / np.sqrt(rank), rng.standard_normal((m2, rank))
    r, c, y = 0.4 * rng.standard_normal(m1), 0.6 * rng.standard_normal(m2), np.empty(n)
    for k in range(0, n, 4_000_000):
        at = slice(k, k + 4_000_000)
        y[at] = 0.5 * np.einsum("nr,nr->n", A[i[at]], B[j[at]]) + r[i[at]] + c[j[at]]
    y += 3.5 + 0.8 * rng.standard_normal(n)
    return i.astype(np.int32), j.astype(np.int32), y


def say(*words):
    print(f"[{time.monotonic() - BEGIN:.1f}]", *words, flush=True)


BEGIN = time.monotonic()


def start_run(data, rank, n_chains, observed):
    """Chains on the GPU, drawn from the prior."""
    import jax

    from maxentry.gpu.device import Batch, Control, Run

    class Quiet:
        def advance(self, n=1):
            pass

    priors = Priors.weak(data.shape, rank)
    generators = [np.random.default_rng(k) for k in range(n_chains)]
    states = [gibbs.init(data, rank, priors, g) for g in generators]
    batch = Batch(states, rank, gibbs.hyperparameters(priors), generators, [], list(range(n_chains)))
    with jax.enable_x64(True):
        return Run(observed, batch, Control(threading.Event(), Quiet(), lambda places, n: None))


def time_sweeps(run, n):
    """Seconds until the first sweeps are done (compiled and annealed), then milliseconds a sweep of all chains."""
    import jax

    with jax.enable_x64(True):
        begin = time.perf_counter()
        run.sweep(0.01 ** np.linspace(1.0, 0.0, run.chunk))
        first, times = time.perf_counter() - begin, []
        for _ in range(3):
            begin = time.perf_counter()
            run.sweep(np.ones(n))
            jax.block_until_ready(run.state)
            times.append((time.perf_counter() - begin) / n * 1e3)
    return first, float(np.median(times))


def memory():
    import jax

    stats = jax.devices()[0].memory_stats() or {}
    return {"in use": stats.get("bytes_in_use", 0) / 1e9, "peak": stats.get("peak_bytes_in_use", 0) / 1e9}


def cpu_sweep(data, rank, sweeps):
    """Milliseconds a sweep of one chain on all processors."""
    priors = Priors.weak(data.shape, rank)
    rng = np.random.default_rng(0)
    state, workspace = gibbs.init(data, rank, priors, rng), gibbs.Workspace.allocate(data, rank)
    nothing = gibbs.DrawBuffers(*(np.empty((0,) * d) for d in (3, 3, 2, 2, 2)))
    times = []
    with gibbs.ThreadTeam(os.cpu_count() or 1) as team:
        for _ in range(sweeps + 1):
            begin = time.perf_counter()
            args = (gibbs.hyperparameters(priors), rng, np.ones(1), nothing, 0, workspace, team)
            state = gibbs.step(state, data, rank, *args)
            times.append(time.perf_counter() - begin)
    return float(np.median(times[1:])) * 1e3


def sweeps():
    from maxentry.gpu.device import Observed

    i, j, y = heavy_tailed(N)
    data = gibbs.prepare(Observations(SHAPE, i, j, y), True, GAUSSIAN, True, None)
    result = {"observations": N, "shape": SHAPE}
    observed = Observed(data, os.cpu_count() or 1)
    result["memory of observations, GB"] = memory()["in use"]
    for rank in RANKS:
        first, ms = time_sweeps(start_run(data, rank, 1, observed), 32)
        result[str(rank)] = {"first": first, "ms": ms, "memory": memory()}
        say(rank, result[str(rank)])
    first, ms = time_sweeps(start_run(data, 16, 8, observed), 8)
    result["8 chains"] = {"rank": 16, "first": first, "ms": ms, "memory": memory()}
    say("8 chains", result["8 chains"])
    return result


def kinds():
    """Rank 16, one chain: milliseconds of a sweep where measurements have limits, are grades, or noise is Student's."""
    from maxentry.gpu.device import Observed

    i, j, y = heavy_tailed(N)
    once = np.append(True, (np.diff(i) != 0) | (np.diff(j) != 0))
    i, j, y = i[once], j[once], y[once]
    low, high = (float(q) for q in np.quantile(y, [0.3, 0.7]))
    grades = np.clip(np.round(y), 1, 5)
    given = {
        "limits": (np.clip(y, low, high), Likelihood(limits=(low, high))),
        "grades": (grades, Likelihood("grades", levels=(1, 2, 3, 4, 5))),
        "student": (y, Likelihood(noise="student")),
    }
    result = {"observations": len(y)}
    for name, (values, likelihood) in given.items():
        data = chains.ModelSpec(likelihood).data(Observations(SHAPE, i, j, values))
        first, ms = time_sweeps(start_run(data, 16, 1, Observed(data, os.cpu_count() or 1)), 32)
        result[name] = {"first": first, "ms": ms, "memory": memory()}
        say(name, result[name])
    return result


def parts():
    """Where the milliseconds of a sweep go."""
    from benchmarks.gpu.profile import profile_sweeps

    from maxentry.gpu.device import Observed

    i, j, y = heavy_tailed(N)
    data = gibbs.prepare(Observations(SHAPE, i, j, y), True, GAUSSIAN, True, None)
    run = start_run(data, 16, 1, Observed(data, os.cpu_count() or 1))
    return profile_sweeps(run, time_sweeps(run, 32)[1])


def graphs():
    """`parts` of a process in which loops and branches are part of CUDA's graphs."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        words = [sys.executable, "-m", "benchmarks.gpu.measure", "part", str(out), "parts"]
        subprocess.run(words, env=os.environ | {"XLA_FLAGS": GRAPHS}, check=True)
        return json.loads(out.read_text())["parts"]


def precision():
    """Eight chains of rank 16: milliseconds of a sweep of all in single and in double precision."""
    import jax

    from maxentry.gpu.device import Observed, cast

    i, j, y = heavy_tailed(N)
    data = gibbs.prepare(Observations(SHAPE, i, j, y), True, GAUSSIAN, True, None)
    observed = Observed(data, os.cpu_count() or 1)
    result = {}
    for real in (np.float32, np.float64):
        with jax.enable_x64(True):
            if real is not observed.real:
                observed.go_on_in(real)
            run = start_run(data, 16, 8, observed)
            run.state = cast(run.state, real)
        first, ms = time_sweeps(run, 8)
        result[np.dtype(real).name] = {"first": first, "ms": ms, "repeated": run.repeats}
        say(real.__name__, result)
    return result


def peers():
    """A sweep on the GPU, on all processors, and of SMURFF on all processors, on the same data in one run."""
    from maxentry.gpu.device import Observed

    i, j, y = heavy_tailed(N)
    data = gibbs.prepare(Observations(SHAPE, i, j, y), True, GAUSSIAN, True, None)
    observed = Observed(data, os.cpu_count() or 1)
    result = {}
    for rank, n in zip(RANKS, (3, 3, 1), strict=True):
        found = result[str(rank)] = {"gpu ms": time_sweeps(start_run(data, rank, 1, observed), 32)[1]}
        say(rank, found)
        found["smurff ms"] = smurff_sweep(i, j, y, rank)
        say(rank, found)
        found["cpu ms"] = cpu_sweep(data, rank, n)
        say(rank, found)
    return result


def host():
    """Seconds to sort N measurements and to arrange them for the GPU, on one processor and on all."""
    from maxentry.gpu.fused import PIECE
    from maxentry.gpu.layout import Order, flatten
    from maxentry.kernels import sorting

    i, j, y = heavy_tailed(N)
    result = {}

    def timed(name, work):
        begin = time.perf_counter()
        found = work()
        result[name] = time.perf_counter() - begin
        say(name, result[name])
        return found

    def by_numpy():
        order = np.argsort(j, kind="stable").astype(np.int32)
        return order, i[order], y[order]

    def compiled():
        sort = sorting.CountingSort(j, SHAPE[1])
        return sort.order, sort.arrange(i), sort.arrange(y)

    before = timed("by column, NumPy", by_numpy)
    sorting.CountingSort(j[:1000], SHAPE[1]).arrange(y[:1000])  # compiled
    _ = sorting.CountingSort(j[:1000], SHAPE[1]).order
    after = timed("by column, compiled", compiled)
    assert all(np.array_equal(a, b) for a, b in zip(before, after, strict=True))
    data = timed(
        "sort and standardise",
        lambda: gibbs.prepare(Observations(SHAPE, i, j, y), True, GAUSSIAN, True, None),
    )
    orders = [Order.by_degree(half.indptr, 1) for half in (data.by_row, data.by_col)]
    small = Observations((2, 2), [0, 1], [0, 1], [1.0, 2.0])
    tiny = [Order.by_degree(half.indptr, 1) for half in (small.by_row, small.by_col)]
    flatten(small.by_row, *tiny, PIECE, 1)  # compiled
    threads = os.cpu_count() or 1
    timed("arrange rows", lambda: flatten(data.by_row, *orders, PIECE, threads))
    timed("arrange columns", lambda: flatten(data.by_col, *orders[::-1], PIECE, threads))
    return result


def smurff_sweep(i, j, y, rank):
    """Milliseconds an iteration of SMURFF's BPMF, without effects, on all processors: of 6 beyond those of 2."""
    import smurff
    from scipy.sparse import coo_matrix

    train = coo_matrix((y - y.mean(), (i, j)), shape=SHAPE)
    train.sum_duplicates()
    few = coo_matrix((y[:10], (i[:10], j[:10])), shape=SHAPE)
    times = []
    for n in (2, 6):
        session = smurff.TrainSession(
            priors=["normal", "normal"], num_latent=rank, burnin=n - 1, nsamples=1, num_threads=os.cpu_count(),
            seed=1, verbose=0,
        )  # fmt: skip
        session.addTrainAndTest(train, few, smurff.FixedNoise(1.5))
        session.init()
        begin = time.perf_counter()
        for _ in range(n):
            smurff.wrapper.PythonSession.step(session)  # without the status, which costs a pass over the data
        times.append(time.perf_counter() - begin)
    return (times[1] - times[0]) / 4 * 1e3


def posterior():
    """From triples in memory to 8 chains x 10 draws after 100 sweeps: nothing compiled, in a new process, again."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | own_cache(cache)
        words = [sys.executable, "-m", "benchmarks.gpu.measure", "posterior_runs"]
        first, later = (
            json.loads(
                subprocess.run(
                    [*words, n], env=environment, stdout=subprocess.PIPE, text=True, check=True
                ).stdout.splitlines()[-1]
            )
            for n in ("1", "2")
        )
    runs = {"nothing compiled": first["runs"][0], "new process": later["runs"][0], "again": later["runs"][1]}
    return first | {"runs": runs}


def count_precisions():
    """Count from now on how many batches of sweeps start in each precision."""
    from maxentry.gpu import device

    found, inner = collections.Counter(), device.Run._start

    def start(self, *args):
        found[np.dtype(self.observed.real).name] += 1
        return inner(self, *args)

    device.Run._start = start
    return found


def posterior_runs(n):
    """Print the seconds of the parts of n runs, one after the other in this process."""
    import jax

    from maxentry.gpu import device

    parts: dict[str, float] = {}
    precisions = count_precisions()

    def timed(owner, name, part):
        inner = getattr(owner, name)

        def outer(*args, **options):
            begin = time.perf_counter()
            try:
                return inner(*args, **options)
            finally:
                parts[part] = parts.get(part, 0.0) + time.perf_counter() - begin

        setattr(owner, name, outer)

    timed(gibbs, "prepare", "sort by row and column, standardise")
    timed(chains, "spawn_chains", "draw 8 states from the prior")
    timed(device.Observed, "__init__", "arrange on the host and upload")
    timed(device.Run, "sweep", "sweeps, with compilation")
    timed(device.Run, "_store", "of these, draws to the host while sweeps run")
    timed(device.Run, "to_host", "last states to the host")
    i, j, y = heavy_tailed(N)
    once = np.append(
        True, (np.diff(i) != 0) | (np.diff(j) != 0)
    )  # entries that are there twice would have deviations
    i, j, y = i[once], j[once], y[once]
    plan = Sampling("population", chains=8, anneal=50, settle=50, draws=10, thin=1)
    options = {"shape": SHAPE, "rank": 16, "sampling": plan, "dtype": np.float32, "progress": False}
    runs = []
    for _ in range(n):
        parts.clear()
        begin = time.perf_counter()
        jax.device_put(np.zeros(1)).block_until_ready()
        parts["start JAX and the GPU"] = time.perf_counter() - begin
        found = maxentry.complete((i, j, y), engine="gpu", seed=0, **options)
        runs.append({"total": time.perf_counter() - begin, **parts})
    sd = float(np.sqrt(found.draws.eta2.mean()))
    result = {"observations": len(y), "noise sd": sd, "chains": len(found.chains), "precisions": precisions}
    print(json.dumps(result | {"runs": runs}))


def own_cache(folder):
    """Where a process keeps what it compiles, if it is not to find what others kept."""
    return {"XDG_CACHE_HOME": folder, "NUMBA_CACHE_DIR": str(Path(folder) / "numba")}


def large():
    from maxentry.gpu.device import Observed

    n, shape = 100_000_000, (500_000, 60_000)
    i, j, y = heavy_tailed(n, shape)
    say("made")
    data = gibbs.prepare(Observations(shape, i, j, y), True, GAUSSIAN, True, None)
    say("prepared")
    begin = time.perf_counter()
    observed = Observed(data, os.cpu_count() or 1)
    result = {"observations": n, "shape": shape, "upload": time.perf_counter() - begin}
    result["memory of observations, GB"] = memory()["in use"]
    for rank in (16, 32):
        first, ms = time_sweeps(start_run(data, rank, 1, observed), 8)
        result[str(rank)] = {"first": first, "ms": ms, "memory": memory()}
        say(rank, result[str(rank)])
    rows, cols = observed.sides
    result["parts, GB"] = {
        "places and values": sum(a.nbytes for side in (rows, cols) for a in side.flat[:2]) / 1e9,
        "where rows begin": sum(a.nbytes for side in (rows, cols) for a in (*side.flat[2:], side.ids)) / 1e9,
    }
    return result


def ratings():
    """MovieLens 1M, a tenth held out: both engines against the same ratings, and against each other."""
    with np.load(os.environ["MAXENTRY_ML1M"]) as file:
        table = {name: file[name] for name in file.files}
    rows, cols, values = (table[name].astype(np.int64) for name in ("user", "item", "rating"))
    shape = int(table["shape"][0]), int(table["shape"][1])
    order = np.random.default_rng(0).permutation(values.size)
    test, train = np.split(order, [values.size // 10])
    plan = Sampling("population", chains=16, anneal=100, settle=100, draws=10, thin=10)
    result, means, precisions = {}, {}, count_precisions()

    def fit(engine, seed):
        begin = time.perf_counter()
        found = maxentry.complete(
            (rows[train], cols[train], values[train].astype(float)), shape=shape, rank=10, sampling=plan, seed=seed,
            engine=engine, progress=False,
        )  # fmt: skip
        return found.draws, time.perf_counter() - begin

    for engine in ("gpu", "cpu"):
        d, took = fit(engine, 1)
        i, j = rows[test], cols[test]
        z = np.array(
            [
                [
                    m + r[i] + c[j] + np.einsum("nr,nr->n", a[i], b[j])
                    for a, b, r, c, m in zip(d.left[k], d.right[k], d.row[k], d.col[k], d.mu[k], strict=True)
                ]
                for k in range(len(d.left))
            ]
        )
        mean, sd = z.mean(axis=(0, 1)), np.sqrt(z.var(axis=(0, 1)) + d.eta2.mean())
        means[engine] = z.mean(axis=1)
        error = np.abs(values[test] - mean)
        result[engine] = {
            "seconds": took, "rmse": float(np.sqrt(np.mean(error**2))), "noise sd": float(np.sqrt(d.eta2.mean())),
            "coverage of 90%": float(np.mean(error < 1.6449 * sd)), "chains": len(d.left),
            "noise sd by chain": np.sqrt(d.eta2.mean(axis=1)).tolist(),
        }  # fmt: skip
        say(engine, result[engine])
    for seed in (2, 3):
        d, took = fit("gpu", seed)
        result["gpu"]["seconds again"] = took
        result["gpu"]["noise sd by chain"] += np.sqrt(d.eta2.mean(axis=1)).tolist()
    result["gpu"]["precisions"] = precisions
    by_chain = [m.mean(axis=0) - means["cpu"].mean(axis=0) for m in means.values()]
    error = np.sqrt(sum(m.var(axis=0, ddof=1) / len(m) for m in means.values()))
    t = by_chain[0] / error
    result["difference"] = {
        "entries": int(t.size), "root mean square in Monte Carlo errors": float(np.sqrt(np.mean(t**2))),
        "beyond 2 of them": float(np.mean(np.abs(t) > 2)), "largest": float(np.abs(t).max()),
        "root mean square difference": float(np.sqrt(np.mean(by_chain[0] ** 2))),
        "root mean square Monte Carlo error": float(np.sqrt(np.mean(error**2))),
    }  # fmt: skip
    return result


def small():
    """A population of 32 chains of rank 4, a quarter of the entries observed: seconds for 96 sweeps of all."""
    result = {}
    for side in (60, 120, 250, 500, 1000):
        rng = np.random.default_rng(side)
        n = side * side // 4
        at = np.sort(rng.permutation(side * side)[:n])
        i, j = np.divmod(at, side)
        A, B = rng.standard_normal((2, side, 4))
        y = np.einsum("nr,nr->n", A[i], B[j]) + 0.5 * rng.standard_normal(n)
        data = gibbs.prepare(Observations((side, side), i, j, y), True, GAUSSIAN, True, None)
        priors = lambda rank, shape=(side, side): Priors.weak(shape, rank)  # noqa: E731
        seed = np.random.SeedSequence(0)
        started = chains.spawn_chains(seed, data, [4] * 32, priors)
        plan, times = Sampling("population", 32, 0, 90, 6, 1), {}
        for engine in ("gpu", "gpu", "cpu", "cpu"):
            with track(1, "", False) as bar:
                begin = time.perf_counter()
                chains.run_chains(started, data, priors, plan, bar, engine=engine)
                times.setdefault(engine, []).append(time.perf_counter() - begin)
        work = 32 * chains.sweep_work((side, side), n, 4)
        result[str(side)] = {
            "work": work, "compile": times["gpu"][0] - times["gpu"][1], "gpu": times["gpu"][1], "cpu": times["cpu"][1]
        }  # fmt: skip
        say(side, result[str(side)])
    return result


FIRST_USE = """
import time, numpy as np, maxentry
Y = np.random.default_rng(0).standard_normal((300, 200))
plan = maxentry.Sampling("long", 4, 10, 10, 2, 2)
begin = time.perf_counter()
maxentry.complete(Y, rank=8, sampling=plan, seed=0, progress=False, engine="gpu")
print(time.perf_counter() - begin)
"""


def first_use():
    """Seconds of a small fit in a new process: with nothing compiled, then with what the first one kept."""
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | own_cache(cache)
        times = {}
        for name in ("nothing compiled", "in a new process", "in a third"):
            done = subprocess.run(
                [sys.executable, "-c", FIRST_USE], env=environment, capture_output=True, text=True, check=True
            )
            times[name] = float(done.stdout.split()[-1])
        kept = sum(f.stat().st_size for f in Path(cache).rglob("*") if f.is_file()) / 1e6
    return times | {"kept, MB": kept}


PARTS = {
    f.__name__: f
    for f in (
        sweeps,
        kinds,
        parts,
        graphs,
        precision,
        posterior,
        ratings,
        small,
        first_use,
        large,
        peers,
        host,
    )
}


def main(out, *names):
    """Measure each part in a process of its own, and add it to the results in a file."""
    for name in names or PARTS:
        subprocess.run([sys.executable, "-m", "benchmarks.gpu.measure", "part", out, name], check=True)


def part(out, name):
    """Measure one part in this process."""
    import jax

    device, path = jax.devices()[0], Path(out)
    result = json.loads(path.read_text()) if path.exists() else {}
    result |= {
        "device": device.device_kind, "platform": device.platform, "processors": os.cpu_count(),
        "jax": jax.__version__, "numpy": np.__version__, "python": sys.version.split()[0],
    }  # fmt: skip
    try:
        result[name] = PARTS[name]()
    except Exception as error:
        traceback.print_exc(limit=-5)
        result[name] = {"failed": repr(error)[:500]}
    say(name, result[name])
    path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1] == "posterior_runs":
        posterior_runs(int(sys.argv[2]))
    elif sys.argv[1] == "part":
        part(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
