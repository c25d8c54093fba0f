"""`maxentry compare`: what it says, writes and answers; the runs themselves are invented here but for one."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.run import answer, check_quiet, good, process, refused, run

from maxentry.cli import compare as command
from maxentry.cli.output import ExitCode
from maxentry.compare import report, runner
from maxentry.compare.runner import Failure
from maxentry.compare.scenario import LAW, OURS, Cell
from maxentry.compare.store import Look, Run, Store
from maxentry.plots.matplotlib import new_figure

pytest.importorskip("matplotlib")
KEYS = [
    "folder", "runs", "failed", "missing", "page", "figures", "tables", "raw", "answer", "rows", "cols", "known",
    "initial", "budget", "batch", "ratios",
]  # fmt: skip


def invent(cell: Cell) -> Run:
    """A run whose strategy is twice as good as uniform at the end, but for a little luck."""
    rng = np.random.default_rng(cell.seed)
    better = 0.5 if cell.strategy.name not in ("uniform", "papers_uniform") else 1.0
    first, last = 1.0 + 0.01 * rng.standard_normal(), better * (0.4 + 0.01 * rng.standard_normal())
    n = cell.case.initial, cell.case.initial + cell.case.budget
    looks = tuple(
        Look(k, float(k), error, error, 0.9, 2.0, 0.1, 0.1) for k, error in zip(n, (first, last), strict=True)
    )
    name, identity = cell.case.name, cell.case.identity()
    return Run(LAW, name, identity, cell.strategy.name, cell.seed, (12, 9), 90, 1.0, looks, 30.0, 30.0)


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Stand for the processes; say which cells were begun, and let the strategies under `failing` fail.

    Figures are empty here, since drawing takes longest; tests/compare/test_report.py draws them.
    """
    monkeypatch.setattr(report, "draw_panels", lambda panels, across: new_figure(1, 1))
    seen: dict[str, Any] = {"begun": [], "failing": ("maxent",)}

    def run_cells(cells: Sequence[Cell], workers: int | None = None) -> Iterator[tuple[int, Run | Failure]]:
        for k, cell in enumerate(cells):
            seen["begun"].append(cell)
            fails = cell.strategy.name in seen["failing"]
            yield k, Failure.from_cell(cell, "no luck") if fails else invent(cell)

    monkeypatch.setattr(runner, "run_in_processes", run_cells)
    return seen


@pytest.fixture
def my_csv(folder: Path) -> Path:
    rng = np.random.default_rng(3)
    M = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 9))
    lines = [",".join(["x", *(f"c{j}" for j in range(9))])]
    lines += [
        f"r{i}," + ",".join("" if (i + j) % 7 == 0 else f"{M[i, j]:.5f}" for j in range(9)) for i in range(12)
    ]
    path = folder / "my.csv"
    path.write_text("\n".join(lines))
    return path


def test_compare_answers_in_one_sentence(engine: dict, my_csv: Path) -> None:
    result = good("compare", my_csv.name)
    assert result.stdout.startswith("Yes, active sampling would have helped: ")
    assert result.stdout.count("\n") == 1
    assert (
        "my.csv: 12 x 9 with 93 known entries; 12 at first, then 36 in batches of 4; uniform" in result.stderr
    )
    written = Path("maxentry-study/compare-my")
    names = {path.name for path in written.iterdir()}
    assert names == {"runs.jsonl", "runs.parquet", "report.html", "tables.md", "curves.png", "curves.pdf"}
    assert len(Store(written)) == 15
    assert "my.csv" in (written / "report.html").read_text()


@pytest.mark.usefixtures("undrawn")
def test_runs_that_fail_do_not_keep_the_others_from_being_reported(engine: dict, my_csv: Path) -> None:
    words = ["compare", "my.csv", "--strategy", "predictive_variance", "--strategy", "maxent", "-o", "out"]
    result = run(*words)
    assert result.exit_code == ExitCode.REFUSED
    assert result.stdout.startswith("Yes, ")
    assert "Failed: my.csv, maxent, seed 0: no luck (4 more runs failed with this error)" in result.stderr
    for name in ("report.html", "tables.md"):
        assert "5 of 15 runs failed: no luck." in Path("out", name).read_text()
    engine["begun"].clear()
    again = run(*words, "--json")
    assert again.exit_code == ExitCode.REFUSED
    found = json.loads(again.stdout)
    assert (found["runs"], len(found["failed"]), again.stderr) == (10, 5, "")
    assert {cell.strategy.name for cell in engine["begun"]} == {"maxent"}


def test_when_all_fail_it_is_one_sentence(engine: dict, my_csv: Path) -> None:
    engine["failing"] = [strategy.name for strategy in OURS]
    first = "my.csv, uniform, seed 0: no luck"
    assert refused("compare", "my.csv", "-o", "out").splitlines()[1:] == [
        f"A run failed ({first}); 14 more failed.",
    ]
    result = run("compare", "my.csv", "-o", "out", "--json")
    assert json.loads(result.stdout)["error"]["kind"] == "RunsFailed"
    assert not Path("out/report.html").exists()


@pytest.mark.parametrize(
    ("strategies", "answer"),
    [
        (["balanced"], "Yes, balanced would have helped: after 48 entries the error of balanced is 0.5"),
        (
            ["balanced", "integrated_variance"],
            "Yes, active sampling would have helped: after 48 entries the error of i",
        ),
    ],
)
@pytest.mark.usefixtures("undrawn")
def test_compare_answers_of_what_was_run(
    strategies: list[str], answer: str, engine: dict, my_csv: Path
) -> None:
    words = [word for name in strategies for word in ("--strategy", name)]
    assert good("compare", "my.csv", "-o", "out", *words).stdout.startswith(answer)
    page = Path("out/report.html").read_text()
    assert ("Would active sampling help on my.csv?" in page) == ("active" in answer)


@pytest.mark.usefixtures("undrawn")
def test_a_report_runs_nothing(engine: dict, my_csv: Path) -> None:
    said = refused("compare", "my.csv", "--report", "-o", "out")
    assert said.endswith("Expected results of this study in out, got none.")
    assert not Path("out").exists()
    good("compare", "my.csv", "-o", "out", "--replicates", "2")
    engine["begun"].clear()
    Path("out/report.html").unlink()
    found = answer("compare", "my.csv", "--report", "-o", "out")
    assert (found["runs"], found["missing"]) == (6, 9)  # of the usual 15
    caveat = "9 of 15 runs are missing; the same command without --report runs them."
    assert caveat in Path("out/report.html").read_text()
    assert caveat in good("compare", "my.csv", "--report", "-o", "out").stderr
    assert engine["begun"] == []


@pytest.mark.usefixtures("undrawn")
def test_what_was_kept_is_told_from_what_was_made(engine: dict, my_csv: Path) -> None:
    words = ("compare", "my.csv", "-o", "out", "--replicates")
    assert "3 runs, 1.5 min of processor time. Wrote out/report.html." in good(*words, 1).stderr
    assert "6 runs (3 stored before), 3.0 min of processor time" in good(*words, 2).stderr
    again = good(*words, 2).stderr
    assert "6 runs (all stored before), 3.0 min of processor time" in again
    assert "missing" not in again
    assert "my.csv: 12 x 9 with 93 known entries" in again
    assert "uniform, balanced, predictive_variance, 1 replicate each." in good(*words, 1).stderr


@pytest.mark.usefixtures("undrawn")
def test_in_a_hurry_it_is_said_so_and_replaces_nothing(engine: dict, my_csv: Path) -> None:
    whole, small = Path("maxentry-study/compare-my"), Path("maxentry-study/compare-my-quick")
    good("compare", "my.csv")
    before = (whole / "report.html").read_bytes()
    said = good("compare", "my.csv", "--quick").stderr
    assert (whole / "report.html").read_bytes() == before
    assert b"nothing can be concluded" not in before
    assert "12 at first, then 36 in batches of 18" in said
    assert "2 replicates each" in said
    for text in (said, (small / "report.html").read_text(), (small / "tables.md").read_text()):
        assert "Quick: small runs and few replicates, from which nothing can be concluded." in text


@pytest.mark.usefixtures("undrawn")
def test_tables_of_one_name_do_not_replace_each_other(engine: dict, my_csv: Path) -> None:
    Path("other").mkdir()
    other = Path("other/my.csv")
    other.write_text(my_csv.read_text().replace("r0,,", "r0,1.5,", 1))
    pages = [answer("compare", path, "--replicates", 1)["page"] for path in (my_csv, other, my_csv, other)]
    assert pages[0] == pages[2] == "maxentry-study/compare-my/report.html"
    assert pages[1] == pages[3] != pages[0]
    assert pages[1].startswith("maxentry-study/compare-my-")


def test_infinite_values_are_refused_by_their_labels(engine: dict, my_csv: Path) -> None:
    my_csv.write_text(my_csv.read_text().replace("r0,,", "r0,inf,", 1))
    said = refused("compare", "my.csv")
    assert said == "Expected finite numbers, got inf at row 'r0', column 'c0'."


@pytest.mark.usefixtures("undrawn")
def test_a_file_name_that_is_no_text_is_read_all_the_same(engine: dict, my_csv: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("file names are bytes on Linux only")
    odd = os.fsdecode(b"b\xffd.csv")
    my_csv.rename(odd)
    assert good("compare", odd, "-o", "out").stdout.startswith("Yes, ")
    assert "b?d.csv" in Path("out/report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["no.csv"], "no.csv"),
        (["my.csv", "--initial", "90", "--budget", "9"], "to leave known entries to judge by"),
        (["my.csv", "--strategy", "best"], "Expected one of the strategies"),
        (["my.csv", "--strategy", "oboe"], "Expected one of the strategies uniform, balanced, "),
        (["my.csv", "--cluster", "nowhere"], "No Dask scheduler at nowhere (like tcp://host:8786)"),
        (
            ["my.csv", "--strategy", "uniform"],
            "Expected a strategy to compare with uniform, got only uniform.",
        ),
        (["my.csv", "--transform", "log"], "for the log scale, got "),
        (["my.csv", "--rank", "5"], "Expected rank 'auto' or at most 4, half the shorter side"),
        (["-", "--costs", "-"], "Only the matrix or the costs can come from standard input"),
        (["my.csv", "-o", "my.csv"], "Expected a folder for results, got the file my.csv."),
    ],
)
def test_refusals(words: list[str], sentence: str, engine: dict, my_csv: Path) -> None:
    assert sentence in refused("compare", *words)
    assert engine["begun"] == []


@pytest.mark.parametrize(
    "words",
    [["compare"], ["study", "compare"], ["compare", "my.csv", "--rank", "low"], ["compare", "my.csv", "--workers", "0"],
     ["study", "no-such"]],
)  # fmt: skip
def test_wrong_usage(words: list[str], my_csv: Path) -> None:
    assert refused(*words, code=ExitCode.USAGE).startswith(f"Usage: maxentry {words[0]}")


@pytest.mark.parametrize("name", ["compare", "study compare"])
def test_documents(name: str, engine: dict, my_csv: Path) -> None:
    found = answer(*name.split(), "my.csv", "--replicates", 2, "-o", "out")
    assert list(found) == KEYS
    shown = " ".join(good(*name.split(), "--help").stdout.split("JSON:", 1)[1].replace("│", " ").split())
    documented = {word.strip("(),.;:") for word in shown.split()}
    assert set(KEYS) | set(found["ratios"][0]) <= documented
    for path in (*(found[key] for key in ("page", "tables", "raw")), *found["figures"]):
        assert Path(path).is_file()


def test_help_names_the_strategies() -> None:
    assert {strategy.name for strategy in OURS} == set(command.STRATEGIES)
    shown = " ".join(good("compare", "--help").stdout.replace("│", " ").split())
    assert all(name in shown for name in command.STRATEGIES)


@pytest.mark.parametrize(
    "words", [["paper"], ["suite", "--quick", "-o", "x"], ["data", "jester"], ["paper", "--help"]]
)
def test_studies_of_the_repository_are_said_to_be_there(words: list[str]) -> None:
    said = refused("study", *words)
    assert said == (
        f"`study {words[0]}` is not part of the package. In a checkout of maxentry, run: python -m evidence {words[0]}"
    )


def test_what_a_report_needs_is_asked_for_before_any_work(
    engine: dict, my_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "find_spec", lambda name: None)
    assert refused("compare", "my.csv").endswith(
        "The report needs matplotlib: pip install 'maxentry[studies]'."
    )
    assert engine["begun"] == []


@pytest.mark.process
def test_help_stays_quick() -> None:
    heavy = ("numpy", "joblib", "matplotlib", "maxentry.compare")
    code = f"import sys; from maxentry.cli import main; print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=250
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.slow
def test_a_real_comparison_in_a_process_of_its_own(my_csv: Path) -> None:
    words = ("compare", "my.csv", "--rank", 2, "--replicates", 2, "--batch", 12, "--json")
    result = process(*words)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["runs"], found["failed"]) == (6, [])
    check_quiet(result.stderr.decode())
    assert found["answer"].startswith(
        ("Yes,", "No,", "No gain from active sampling is shown: after 48 entries")
    )
