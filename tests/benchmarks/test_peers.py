"""The comparison with peers: it resumes, keeps to its limits, computes its figures rightly, and runs in small."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from benchmarks.peers import __main__ as command
from benchmarks.peers import environments, report
from benchmarks.peers.cells import Cell, Store
from benchmarks.peers.figures import figures
from benchmarks.peers.methods import METHODS, OURS, PEERS, WORKERS
from benchmarks.peers.problems import PROBLEMS, QUICK, Problem, simulated
from benchmarks.peers.runner import Runner, child, sampling_figures

ROOT = Path(__file__).parents[2]
(TINY,) = QUICK


@pytest.fixture(scope="module")
def common() -> ModuleType:
    """The part that workers share, which is no package: it runs in the peers' environments."""
    spec = importlib.util.spec_from_file_location("common", WORKERS / "common.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cell(method: str = "smurff", what: str = "timed", threads: int = 1, **settings: Any) -> Cell:
    return Cell(TINY.name, method, what, threads, 0, settings, {"smurff": "1.1"})


def test_a_store_remembers_across_sessions_by_settings_and_versions(tmp_path: Path) -> None:
    path = tmp_path / "cells.jsonl"
    Store(path).add(cell(rank=2), "ended", 10.0, figures={"peak": 1.0})
    store = Store(path)
    assert store.known(cell(rank=2), 99.0) is not None
    assert store.known(cell(rank=3), 10.0) is None
    assert store.known(cell(rank=2)._replace(versions={"smurff": "1.2"}), 10.0) is None


def test_what_was_stopped_is_tried_again_only_with_more_time_and_what_failed_always(tmp_path: Path) -> None:
    store = Store(tmp_path / "cells.jsonl")
    store.add(cell(rank=2), "over", 10.0)
    store.add(cell(rank=3), "failed", 10.0)
    assert store.known(cell(rank=2), 10.0) is not None
    assert store.known(cell(rank=2), 11.0) is None
    assert store.known(cell(rank=3), 10.0) is None


@pytest.mark.process
@pytest.mark.parametrize("doing", ["while True: pass", "import time; time.sleep(600)"])
def test_a_process_is_stopped_at_its_limit_whether_it_works_or_waits(doing: str) -> None:
    wall, cpu, code, _ = child([sys.executable, "-c", doing], dict(os.environ), 0.2, False)
    assert code is None
    assert wall < 600
    assert cpu < 10


@pytest.mark.process
def test_a_process_that_fails_says_why() -> None:
    _, _, code, said = child(
        [sys.executable, "-c", "raise SystemExit('no such thing')"], dict(os.environ), 60.0, False
    )
    assert code == 1
    assert "no such thing" in said


@pytest.mark.parametrize("sweeps", [1, 2, 30, 97])
def test_the_running_mean_is_that_of_the_second_half(common: ModuleType, sweeps: int) -> None:
    predictions = np.random.default_rng(sweeps).standard_normal((sweeps, 3))
    mean, found = common.RunningMean(sweeps), {}
    for t, prediction in enumerate(predictions, start=1):
        if (estimate := mean.take(prediction)) is not None:
            found[t] = estimate
    looks = common.looks(sweeps)
    assert list(found) == looks
    assert looks[-1] == sweeps
    for t, estimate in found.items():
        # From the first look that lies in the second half, slowly.
        starts = [s for s in (0, *looks) if t // 2 <= s < t] or [max(s for s in (0, *looks) if s < t)]
        np.testing.assert_allclose(estimate, predictions[starts[0] : t].mean(0), rtol=1e-12)


def test_effective_samples_are_those_of_independent_draws_and_of_copies() -> None:
    rng = np.random.default_rng(0)
    independent = rng.standard_normal((2, 510, 40))
    repeated = np.repeat(rng.standard_normal((2, 51, 40)), 10, axis=1)  # each ten times over: a tenth as good
    one, other = (sampling_figures(draws, 10) for draws in (independent, repeated))
    assert one["kept"] == other["kept"] == 1000
    assert one["ess"] is not None
    assert other["ess"] is not None
    # The median of 40 estimates, each with a relative error of about 5%, is within 10% of the truth.
    assert 900 < one["ess"] < 1100
    assert 5 < one["ess"] / other["ess"] < 20


def told(sweep: float, set_up: float, **more: Any) -> dict[str, Any]:
    """Figures as a worker writes them; the processor takes half as long as the clock."""
    laps = [[[10.0, 10 * sweep, 5 * sweep]] * 4]
    return {"laps": laps, "set_up": [set_up, set_up / 2], "peak": 50.0, "before": 40.0, "note": ""} | more


def filled(path: Path) -> Store:
    """Ours: 1 ms a sweep, a sample every 4 sweeps; the peer: 3 ms, every 8."""
    store = Store(path)
    for name, sweep, ess in ((OURS.name, 1e-3, 10.0), ("smurff", 3e-3, 5.0)):
        store.add(cell(name), "ended", 20.0, figures=told(sweep, 0.5), load=1.0)
        # Recorded at half the speed of the timed run: only the number of sweeps to the error counts.
        clock = [[2 * n * sweep, n * sweep] for n in (10, 20, 40)]
        curve = {"errors": [[[10, 2.0], [20, 1.005], [40, 1.0]]], "clock": [clock]}
        store.add(
            cell(name, "recorded"), "ended", 20.0, load=1.0,
            figures=told(2 * sweep, 0.9, ess=ess, kept=40, rhat=1.0, **curve),
        )  # fmt: skip
    return store


def test_figures_are_what_the_laps_say(tmp_path: Path) -> None:
    store = filled(tmp_path / "cells.jsonl")
    ours = figures(store, TINY, OURS, 1, best=1.0)
    assert ours is not None
    assert ours.sweep == pytest.approx((1e-3, 0.5e-3))
    assert ours.effective == pytest.approx((4e-3, 2e-3))
    assert ours.sweeps_to_error == 20
    assert ours.to_error == pytest.approx((0.5 + 20e-3, 0.25 + 10e-3))
    # A lower best, and it is never reached.
    never = figures(store, TINY, OURS, 1, best=0.5)
    assert never is not None
    assert never.to_error is None
    assert never.chains_there == (0, 1)


def test_the_page_has_ratios_of_theirs_over_ours_and_says_what_is_missing(tmp_path: Path) -> None:
    store = filled(tmp_path / "cells.jsonl")
    store.add(cell("numpyro"), "over", 20.0, load=1.0)
    store.add(cell("cmfrec"), "failed", 20.0, load=1.0, message="no such thing")
    page = tmp_path / "RESULTS.md"
    report.write(page, store, [TINY], [1], {"fancyimpute": "fancyimpute: pip says no"}, 1)
    lines = {
        line.split("|")[1].strip(): line for line in page.read_text().splitlines() if line.startswith("| ")
    }
    assert "→ 3 (**3**)" in lines["SMURFF 1.1"]
    assert "→ 6 (**6**)" in lines["SMURFF 1.1"]
    assert "more than 20 s" in lines["NumPyro 0.22"]
    assert "no draws" in lines["cmfrec 3.5"]
    assert "no such thing" in lines["cmfrec 3.5"]
    assert "pip says no" in page.read_text()


@pytest.mark.parametrize(
    "problem", [p for p in [*PROBLEMS, *QUICK] if p.name in ("60x60", "1000x1000", "20x20")]
)
def test_no_entry_is_both_learnt_from_and_held_out_or_watched(problem: Problem) -> None:
    a = problem.make()
    places = [
        set(zip(a[f"{n}rows"].tolist(), a[f"{n}cols"].tolist(), strict=True))
        for n in ("", "test_", "watched_")
    ]
    assert [len(p) for p in places] == [a["values"].size, a["test_values"].size, a["watched_rows"].size]
    assert len(set.union(*places)) == sum(map(len, places))
    assert a["watched_rows"].size == (20 if problem is TINY else 200)


def test_large_matrices_have_different_entries_without_listing_all() -> None:
    a = simulated((30_000, 20_000), 2, 5_000, 500, 0.1)
    flat = np.concatenate([a[f"{n}rows"] * 20_000 + a[f"{n}cols"] for n in ("", "test_", "watched_")])
    assert np.unique(flat).size == flat.size == 5_700
    assert a["values"].std() == pytest.approx(
        np.sqrt(1.01), rel=0.15
    )  # its mean square has a heavy-tailed sd of 2%


def test_only_names_problems_and_methods(capsys: pytest.CaptureFixture[str]) -> None:
    problems, methods, starts = command.chosen(["ml-100k", "smurff"], PROBLEMS)
    assert [p.name for p in problems] == ["ml-100k"]
    assert [m.name for m in methods] == ["maxentry", "smurff"]
    assert not starts
    assert command.chosen([], PROBLEMS) == (PROBLEMS, METHODS, True)
    assert command.chosen(["start-up"], PROBLEMS) == ([], METHODS, True)
    with pytest.raises(SystemExit, match="--only takes any of"):
        command.chosen(["netflix"], PROBLEMS)


def test_absent_peers_are_left_out_in_small_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "imports", lambda peer: peer == "myfm")
    able, absent = command.usable(METHODS, make=False)
    assert [m.name for m in able] == ["maxentry", "myfm"]
    assert set(absent) == {m.name for m in PEERS} - {"myfm"}


def test_every_peer_has_an_environment_and_a_worker() -> None:
    of_goals = {"baybe"}  # compared in `benchmarks.goals`
    assert {m.name for m in PEERS} | of_goals == set(environments.PEERS)
    assert all((WORKERS / m.worker).exists() for m in METHODS)


@pytest.mark.process
def test_ours_runs_in_small_and_is_not_run_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "cells.jsonl"
    for known in (0, 2):
        Runner(Store(path), [OURS], tmp_path / "cache", [1]).run(TINY, 0)
        assert capsys.readouterr().out.count(": known") == known
    results = [json.loads(line) for line in path.read_text().splitlines()]
    assert [r["outcome"] for r in results] == ["ended", "ended"]
    timed, recorded = (r["figures"] for r in results)
    assert timed["sweeps"] == [20]
    assert recorded["sweeps"] == [30, 30]
    assert recorded["kept"] == 40
    assert all(errors[-1][1] < errors[0][1] for errors in recorded["errors"])  # it learns
    assert 0 < timed["before"] <= timed["peak"]


@pytest.mark.process
@pytest.mark.slow
def test_all_that_are_installed_run_in_small(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peers", "--quick", "--out", tmp_path],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT / "src")}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    outcomes = {json.loads(line)["outcome"] for line in (tmp_path / "cells.jsonl").read_text().splitlines()}
    assert outcomes == {"ended"}, done.stdout
    assert "| maxentry |" in (tmp_path / "RESULTS.md").read_text()
