"""Run cells, each in a process of its own, in turns, within its time, and never twice."""

import importlib.metadata
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.peers import environments
from benchmarks.peers.cells import Cell, Store
from benchmarks.peers.methods import OURS, WORKERS, Method
from benchmarks.peers.problems import Problem, saved
from benchmarks.results_cache import fingerprint

ROOT = environments.ROOT
SOURCES = [ROOT / "src" / "maxentry" / name for name in ("kernels", "posterior", "observations.py")]
THREAD_VARIABLES = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "MAXENTRY_THREADS",
)  # fmt: skip
PATIENCE = 20.0  # on the clock, over seconds of the processor
LOOK = 1.0  # seconds between two looks at how much was spent
GRACE = 60.0  # seconds beyond a cell's own limit, for imports and for what does not look at the clock
FIRST_SWEEPS = 100
ENOUGH = 100  # iterations for a point estimate, which then moves no more
FIRST_REPEATS = 3
IMPORT_REPEATS = 7

Child = tuple[
    float, float, int | None, str
]  # seconds on the clock, of the processor, exit code, what it said


def versions(method: Method) -> dict[str, str]:
    """What a result of the method depends on."""
    worker = fingerprint(WORKERS / "common.py", WORKERS / method.worker)
    if method is OURS:
        mine = {"maxentry": fingerprint(*SOURCES)}
        return (
            mine
            | {name: importlib.metadata.version(name) for name in ("numpy", "numba")}
            | {"worker": worker}
        )
    return environments.versions(method.name) | {"worker": worker}


def python_of(method: Method) -> Path:
    return Path(sys.executable) if method is OURS else environments.python_of(method.name)


def environment(method: Method, threads: int, cache: Path) -> dict[str, str]:
    held = os.environ | dict.fromkeys(THREAD_VARIABLES, str(threads))
    held |= {"JAX_COMPILATION_CACHE_DIR": str(cache / "jax")}
    held.pop("PYTHONPATH", None)
    return held | ({"PYTHONPATH": str(ROOT / "src")} if method is OURS else {})


def child(command: Sequence[object], env: dict[str, str], seconds: float, one_processor: bool) -> Child:
    """Run a process to its end or until the processor has spent the seconds on it; exit code None where it was stopped.

    The processor's seconds, since others may be using the machine; one that only waits is stopped by the clock, later.
    They are read from outside: under RLIMIT_CPU the kernel counts in ticks, which is too coarse for what is measured.
    """
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen(
        [str(part) for part in command], env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=_on_one_processor if one_processor else None,
    )  # fmt: skip
    stopped = False
    while True:
        try:
            said, complained = process.communicate(timeout=LOOK)
            break
        except subprocess.TimeoutExpired:
            if spent_by(process.pid) > seconds or time.perf_counter() - begin > PATIENCE * seconds:
                process.kill()
                stopped = True
    wall, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    code = None if stopped else process.returncode
    return wall, cpu, code, said if code == 0 else complained


def spent_by(pid: int) -> float:
    """Seconds of the processor that a running process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _on_one_processor() -> None:
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


class Runner:
    """Runs what the store does not know."""

    def __init__(self, store: Store, methods: Sequence[Method], cache: Path, threads: Sequence[int]) -> None:
        self.store, self.methods, self.cache, self.threads = store, methods, cache, threads
        self.versions = {method.name: versions(method) for method in methods}
        cache.mkdir(parents=True, exist_ok=True)
        (cache / ".gitignore").write_text("*\n")

    def cells(self, problem: Problem, repeat: int) -> Iterator[tuple[Method, Cell]]:
        """One round of a problem, the methods in turns; the first also chooses settings and records draws."""
        able = [method for method in self.methods if not method.why_not(problem)]
        if repeat == 0:
            yield from ((m, self.cell(problem, m, "tuned", max(self.threads), 0)) for m in able if m.tuned)
        for threads in self.threads:
            for method in able:
                if (method.threads or threads == 1) and repeat < min(problem.repeats, method.repeats):
                    yield method, self.cell(problem, method, "timed", threads, repeat)
        if repeat == 0:
            yield from ((method, self.cell(problem, method, "recorded", 1, 0)) for method in able)

    def cell(self, problem: Problem, method: Method, what: str, threads: int, repeat: int) -> Cell:
        recorded = problem.sweeps if method.draws else min(problem.sweeps, ENOUGH)
        lengths = {
            "tuned": min(ENOUGH, problem.timed),
            "timed": problem.timed,
            "recorded": recorded,
            "first": FIRST_SWEEPS,
        }
        seeds = list(range(problem.chains)) if what == "recorded" and method.draws else [repeat]
        options: dict[str, Any] = {}
        if method is OURS:
            options["anneal"] = problem.burnin // 5
        if method.tuned and what != "tuned":
            options["tuned"] = self.chosen(problem, method)
        settings = {
            "rank": problem.rank, "sweeps": lengths[what], "burnin": problem.burnin, "seeds": seeds, "options": options,
        }  # fmt: skip
        return Cell(problem.name, method.name, what, threads, repeat, settings, self.versions[method.name])

    def chosen(self, problem: Problem, method: Method) -> Any:
        """The settings that predicted best, once they are known."""
        result = self.store.known(self.cell(problem, method, "tuned", max(self.threads), 0), 0.0)
        return result["figures"]["tuned"] if result and result["outcome"] == "ended" else None

    def run(self, problem: Problem, repeat: int) -> None:
        """One round of the problem, cell by cell."""
        try:
            saved(problem, self.cache / "problems")
        except FileNotFoundError as error:
            print(f"[{problem.name}] left out: {error.filename} is not there", flush=True)
            return
        for method, cell in self.cells(problem, repeat):  # made one by one: later ones need what was chosen
            self.run_one(problem, method, cell)

    def run_one(self, problem: Problem, method: Method, cell: Cell) -> dict[str, Any]:
        known = self.store.known(cell, problem.seconds)
        if known is not None:
            print(f"{cell}: known", flush=True)
            return known
        if method.tuned and cell.what != "tuned" and cell.settings["options"]["tuned"] is None:
            return self.store.add(cell, "failed", problem.seconds, message="its settings could not be chosen")
        print(f"{time.strftime('%H:%M:%S')} {cell} …", end=" ", flush=True)
        with tempfile.TemporaryDirectory(dir=self.cache) as folder:
            result = self._run(problem, method, cell, Path(folder))
        print(result["outcome"], f"{result['wall']:.1f} s", result.get("message", ""), flush=True)
        return result

    def _run(self, problem: Problem, method: Method, cell: Cell, folder: Path) -> dict[str, Any]:
        job, out = folder / "job.npz", folder / "out"
        with np.load(saved(problem, self.cache / "problems")) as arrays:
            plain = {name: value for name, value in cell.settings.items() if name != "options"}
            np.savez(
                job, **arrays, **plain, what=cell.what, threads=cell.threads, seconds=problem.seconds,
                options=json.dumps(cell.settings["options"]),
            )  # fmt: skip
        wall, cpu, code, said = child(
            [python_of(method), WORKERS / method.worker, job, out],
            environment(method, cell.threads, self.cache), cell.threads * problem.seconds + GRACE,
            method.name == "numpyro" and cell.threads == 1,  # XLA takes no order about threads
        )  # fmt: skip
        spent = {
            "wall": wall,
            "cpu": cpu,
            "load": os.getloadavg()[0],
            "when": time.strftime("%Y-%m-%d %H:%M"),
        }
        if code is None:
            return self.store.add(cell, "over", problem.seconds, **spent)
        if code:
            last = (said.strip().splitlines() or [f"exit code {code}"])[-1]
            message = last[:300] if code > 0 else f"ended by signal {-code}: no memory left?"
            return self.store.add(cell, "failed", problem.seconds, message=message, **spent)
        figures = json.loads(Path(f"{out}.json").read_text())
        if Path(f"{out}.npz").exists():
            with np.load(f"{out}.npz") as file:
                figures |= sampling_figures(file["draws"], problem.burnin)
        return self.store.add(cell, "ended", problem.seconds, figures=figures, **spent)

    def start_up(self, problem: Problem, repeats: int) -> None:
        """What it takes to import each, in turns, and to make a first small fit; caches are warm."""
        statements = {
            "nothing": (OURS, "pass"),
            "numpy": (OURS, "import numpy"),
            "import maxentry": (OURS, "import maxentry"),
        }
        statements |= {method.name: (method, method.imports) for method in self.methods}
        for repeat in range(0 if repeats == 1 else -1, repeats):
            for name, (method, statement) in statements.items():
                versions = self.versions[method.name]
                cell = Cell(
                    "start-up", name, "imported", 1, max(repeat, 0), {"statement": statement}, versions
                )
                if self.store.known(cell, 0.0):
                    continue
                wall, cpu, code, said = child(
                    [python_of(method), "-c", statement], environment(method, 1, self.cache), 300.0, False
                )  # fmt: skip
                if repeat >= 0:  # one round beforehand only fills caches
                    outcome = "ended" if code == 0 else "failed"
                    found = {"figures": {}, "wall": wall, "cpu": cpu, "message": said[-200:]}
                    self.store.add(cell, outcome, 300.0, **found)
            print(f"[start-up] imports, round {repeat + 1}/{repeats}", flush=True)
        self._first_fits(problem, min(repeats, FIRST_REPEATS))

    def _first_fits(self, problem: Problem, repeats: int) -> None:
        for repeat in range(repeats):
            for method in self.methods:
                if method.tuned:
                    continue
                cell = self.cell(problem, method, "first", 1, repeat)
                self.run_one(problem, method, cell)


def sampling_figures(draws: np.ndarray, burnin: int) -> dict[str, float | None]:
    """Bulk effective sample size over all chains, and R-hat, of the watched entries after the burn-in."""
    import arviz  # takes seconds

    kept = draws[:, burnin:].astype(float)
    if kept.shape[1] < 8:
        return {"kept": 0}
    ess = np.array([arviz.ess(kept[:, :, n], method="bulk") for n in range(kept.shape[2])])
    rhat = [arviz.rhat(kept[:, :, n]) for n in range(kept.shape[2])] if kept.shape[0] > 1 else []
    return {
        "kept": kept.shape[0] * kept.shape[1],
        "ess": float(np.nanmedian(ess)), "ess_5%": float(np.nanquantile(ess, 0.05)),
        "rhat": float(np.nanmedian(rhat)) if rhat else None,
    }  # fmt: skip
