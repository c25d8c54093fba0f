"""From results of cells to what is compared: seconds a sweep, an effective sample, to an error; megabytes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from benchmarks.peers.cells import Store
from benchmarks.peers.methods import PEERS, Method
from benchmarks.peers.problems import Problem

POINT_ESTIMATES = [method.name for method in PEERS if not method.draws]
WITHIN = 1.01  # of the best held-out error

Pair = tuple[float, float]  # on the clock, of the processor


@dataclass
class Figures:
    """Of one method on one problem with so many threads; None where there is no such figure."""

    sweep: Pair | None = None
    effective: Pair | None = None  # seconds for one effective sample of the median watched entry
    to_error: Pair | None = None
    sweeps_to_error: float | None = None
    peak: float | None = None
    before: float | None = None
    error: float | None = None  # at the end
    ess_share: float | None = None  # effective samples a sweep
    rhat: float | None = None
    chains_there: tuple[int, int] = (0, 0)  # that reached the error, of all
    loads: list[float] = field(default_factory=list)
    said: str = ""  # why something is missing


def results(store: Store, problem: Problem, method: Method, what: str, threads: int) -> list[dict[str, Any]]:
    """The newest of each repeat."""
    places = [(problem.name, method.name, what, threads, repeat) for repeat in range(problem.repeats)]
    return [store.latest[place] for place in places if place in store.latest]


def figures(store: Store, problem: Problem, method: Method, threads: int, best: float) -> Figures | None:
    """None where nothing was run."""
    timed = results(store, problem, method, "timed", threads if method.threads else 1)
    recorded = results(store, problem, method, "recorded", 1)
    found = Figures(said=_said([*timed, *recorded]))
    ended = [r["figures"] for r in timed if r["outcome"] == "ended" and _laps(r["figures"])]
    found.loads = [r["load"] for r in timed if "load" in r]
    if not timed and not recorded:
        return None
    if ended:
        found.sweep = _pair([_usual(f) for f in ended])
        found.peak, found.before = (float(np.median([f[name] for f in ended])) for name in ("peak", "before"))
    if recorded and recorded[0]["outcome"] == "ended":
        figures_of = recorded[0]["figures"]
        found.error, found.rhat = last_error(figures_of), figures_of.get("rhat")
        if figures_of.get("ess") and found.sweep:
            found.ess_share = figures_of["ess"] / figures_of["kept"]
            found.effective = (found.sweep[0] / found.ess_share, found.sweep[1] / found.ess_share)
        if ended and _laps(figures_of):
            _reach(found, figures_of, _pair([f["set_up"] for f in ended]), WITHIN * best)
    return found


def _said(results: list[dict[str, Any]]) -> str:
    for result in results:
        if result["outcome"] == "over":
            return f"more than {result['limit']:.0f} s"
        if result["outcome"] == "failed":
            return f"failed: {result.get('message', '')}"
        if result["figures"].get("note"):
            return str(result["figures"]["note"])
        cell, done = result["cell"], min(result["figures"].get("sweeps", []), default=0)
        sampled = cell["what"] == "recorded" and cell["method"] not in POINT_ESTIMATES
        if sampled and done < cell["settings"].get("sweeps", 0):
            return f"recorded {done} of {cell['settings']['sweeps']} sweeps in the time"
    return ""


def _laps(found: dict[str, Any]) -> list[list[float]]:
    return [lap for chain in found["laps"] for lap in chain if lap[0]]


def _usual(found: dict[str, Any]) -> Pair:
    """Seconds of a sweep: the median lap of the second half of every chain, short laps left out."""
    longest = max(lap[0] for lap in _laps(found))
    halves = [[lap for lap in chain if 2 * lap[0] > longest] for chain in found["laps"]]
    laps = np.array([lap for chain in halves for lap in chain[len(chain) // 2 :]])
    wall, cpu = np.median(laps[:, 1:] / laps[:, :1], axis=0)
    return float(wall), float(cpu)


def _pair(pairs: Sequence[Sequence[float]]) -> Pair:
    """The best of the repeats, which others on the machine disturbed least."""
    wall, cpu = np.min(np.array(pairs, float), axis=0)
    return float(wall), float(cpu)


def last_error(found: dict[str, Any]) -> float | None:
    """Held-out error at the end, the median of the chains."""
    ends = [chain[-1][1] for chain in found["errors"] if chain]
    return float(np.median(ends)) if ends else None


def _reach(found: Figures, recorded: dict[str, Any], set_up: Pair, target: float) -> None:
    """Seconds from data in memory to the target: the recorded sweeps, at the speed of the timed ones."""
    assert found.sweep is not None
    usual = _usual(recorded)
    times, sweeps = [], []
    for errors, clock in zip(recorded["errors"], recorded["clock"], strict=True):
        k = next((k for k, (_, error) in enumerate(errors) if error <= target), None)
        if k is not None:
            scaled = [set_up[c] + clock[k][c] * found.sweep[c] / max(usual[c], 1e-12) for c in (0, 1)]
            times.append(scaled)
            sweeps.append(errors[k][0])
    found.chains_there = len(times), len(recorded["errors"])
    if 2 * len(times) > len(recorded["errors"]):
        wall, cpu = np.median(times, axis=0)
        found.to_error, found.sweeps_to_error = (float(wall), float(cpu)), float(np.median(sweeps))


def best_error(store: Store, problem: Problem, methods: Sequence[Method]) -> float:
    """The lowest held-out error that anybody ends with."""
    found = [
        last_error(result["figures"])
        for method in methods
        for result in results(store, problem, method, "recorded", 1)
        if result["outcome"] == "ended"
    ]
    return min((error for error in found if error is not None), default=float("nan"))
