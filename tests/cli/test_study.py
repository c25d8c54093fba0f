"""`maxentry study`: what it says, writes and answers; the runs themselves are invented here but for one."""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.cli.run import COMMAND, answer, good, process, refused, run

from maxentry.cli import choices, codes, grouped
from maxentry.errors import DataError
from maxentry.studies import local, verdict
from maxentry.studies.case import Cell
from maxentry.studies.outcomes import Failure, failed
from maxentry.studies.record import Look, Run
from maxentry.studies.runner import code_of
from maxentry.studies.store import Store

pytest.importorskip("matplotlib")
FACTS = "folder runs failed missing page figures tables raw"
COMMANDS = {
    ("paper",): f"{FACTS} claims",
    ("suite",): f"{FACTS} ratios",
    ("compare", "my.csv"): f"{FACTS} answer rows cols known initial budget batch ratios",
    ("data",): "sets",
}


def invented(cell: Cell) -> Run:
    """A run whose strategy is twice as good as uniform at the end, but for a little luck."""
    rng = np.random.default_rng(cell.seed)
    better = 0.5 if cell.strategy not in ("uniform", "papers_uniform") else 1.0
    first, last = 1.0 + 0.01 * rng.standard_normal(), better * (0.4 + 0.01 * rng.standard_normal())
    n = cell.case.initial, cell.case.initial + cell.case.budget
    looks = tuple(
        Look(k, float(k), error, error, 0.9, 2.0, 0.1, 0.1) for k, error in zip(n, (first, last), strict=True)
    )
    code = code_of(cell)
    return Run(
        cell.key(code), code, cell.case.name, cell.case.identity(), cell.strategy, cell.seed, (12, 9), 90, 1.0, looks,
        1.0, 1.0,
    )  # fmt: skip


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Cell]]:
    """Stand for the processes; tell which cells were begun."""
    seen: dict[str, list[Cell]] = {"begun": []}

    def results(cells: list[Cell], n: int) -> Iterator[tuple[int, Run | Failure]]:
        for k, cell in enumerate(cells):
            seen["begun"].append(cell)
            yield k, failed(cell, "no luck") if cell.strategy == "maxent" else invented(cell)

    monkeypatch.setattr(local, "results", results)
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


def test_compare_answers_in_one_sentence(workers: dict, my_csv: Path) -> None:
    result = good("study", "compare", my_csv.name)
    assert result.stdout.startswith("Yes, active sampling would have helped: ")
    assert result.stdout.count("\n") == 1
    assert (
        "my.csv: 12 x 9 with 93 known entries; 12 at first, then 36 in batches of 4, by uniform"
        in result.stderr
    )
    written = Path("maxentry-study/compare-my")
    names = {path.name for path in written.iterdir()}
    assert names == {"runs.jsonl", "runs.parquet", "report.html", "tables.md", "curves.png", "curves.pdf"}
    assert len(Store(written)) == 15
    assert "my.csv" in (written / "report.html").read_text()


@pytest.mark.parametrize(
    ("words", "keys"), COMMANDS.items(), ids=lambda x: x[0] if isinstance(x, tuple) else ""
)
def test_documents(
    words: tuple[str, ...], keys: str, workers: dict, my_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from maxentry.studies import datasets

    monkeypatch.setattr(datasets, "load", lambda name: None)
    monkeypatch.setenv("MAXENTRY_DATA_CACHE", "cache")
    options = {
        "paper": ["--figure", "sim30", "--quick", "--strategy", "uniform"],
        "suite": ["--matrix", "sim30"],
    }
    small = [] if words[0] == "data" else ["--replicates", "2", "-o", "out"]
    if words[0] == "suite":
        small += ["--strategy", "uniform", "--strategy", "balanced"]
    found = answer("study", *words, *options.get(words[0], []), *small)
    assert list(found) == keys.split()
    shown = " ".join(good("study", words[0], "--help").stdout.split("JSON:", 1)[1].replace("│", " ").split())
    documented = {word.strip("(),.;:") for word in shown.split()}
    assert set(keys.split()) <= documented
    for lines in (found.get("claims"), found.get("ratios"), found.get("sets")):
        assert not lines or set(lines[0]) <= documented
    for path in [found[key] for key in ("page", "tables", "raw") if key in found] + found.get("figures", []):
        assert Path(path).is_file()


def test_runs_that_fail_do_not_keep_the_others_from_being_reported(workers: dict, my_csv: Path) -> None:
    words = (
        "study",
        "compare",
        "my.csv",
        "--strategy",
        "predictive_variance",
        "--strategy",
        "maxent",
        "-o",
        "out",
    )
    result = run(*words)
    assert result.exit_code == codes.REFUSED
    assert result.stdout.startswith("Yes, ")
    assert "Failed: my.csv, maxent, seed 0: no luck (4 more runs failed so)" in result.stderr
    for report in ("report.html", "tables.md"):
        assert "5 of 15 runs failed: no luck." in Path("out", report).read_text()
    workers["begun"].clear()
    again = run(*words, "--json")
    assert again.exit_code == codes.REFUSED
    found = json.loads(again.stdout)
    assert (found["runs"], len(found["failed"]), again.stderr) == (10, 5, "")
    assert {cell.strategy for cell in workers["begun"]} == {"maxent"}


def test_when_all_fail_it_is_one_sentence(
    workers: dict, my_csv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        local, "results", lambda cells, n: ((k, failed(c, "no luck")) for k, c in enumerate(cells))
    )
    first = "my.csv, uniform, seed 0: no luck"
    assert refused("study", "compare", "my.csv", "-o", "out").splitlines()[1:] == [
        f"Expected every run to succeed, but one failed ({first}); 14 more runs failed.",
    ]
    result = run("study", "compare", "my.csv", "-o", "out", "--json")
    assert json.loads(result.stdout)["error"]["kind"] == "RunsFailed"
    assert not Path("out/report.html").exists()


@pytest.mark.parametrize(
    ("strategies", "answer"),
    [
        (["balanced"], "Yes, balanced would have helped: after 48 entries the error of balanced is 0.5"),
        (
            ["means"],
            "Row and column means, judged by another estimate than uniform sampling, would have done better: ",
        ),
        (
            ["papers_maxent"],
            "Yes, active sampling would have helped: after 48 entries the error of MaxEnt, the",
        ),
        (
            ["balanced", "integrated_variance"],
            "Yes, active sampling would have helped: after 48 entries the error of i",
        ),
    ],
)
def test_compare_answers_of_what_was_run(
    strategies: list[str], answer: str, workers: dict, my_csv: Path
) -> None:
    words = [word for name in strategies for word in ("--strategy", name)]
    assert good("study", "compare", "my.csv", "-o", "out", *words).stdout.startswith(answer)
    page = Path("out/report.html").read_text()
    assert ("Would active sampling help on my.csv?" in page) == ("active" in answer)
    assert ("Where active sampling does not help" in page) == ("active" in answer)


def test_a_report_runs_nothing(workers: dict, my_csv: Path) -> None:
    said = refused("study", "compare", "my.csv", "--report", "-o", "out")
    assert said.endswith("Expected results to report on in out, but there are none of this study.")
    assert not Path("out").exists()
    good("study", "compare", "my.csv", "-o", "out", "--replicates", "2")
    workers["begun"].clear()
    Path("out/report.html").unlink()
    found = answer("study", "compare", "my.csv", "--report", "-o", "out")
    assert (found["runs"], found["missing"]) == (6, 9)  # of the usual 15
    caveat = "9 of 15 runs are missing; without --report the same command does them."
    assert caveat in Path("out/report.html").read_text()
    assert caveat in good("study", "compare", "my.csv", "--report", "-o", "out").stderr
    assert workers["begun"] == []


def test_what_was_kept_is_told_from_what_was_made(workers: dict, my_csv: Path) -> None:
    words = ("study", "compare", "my.csv", "-o", "out", "--replicates")
    assert "3 runs, 3 s of processor time in all. Wrote out/report.html." in good(*words, 1).stderr
    assert "6 runs (3 kept from before), 6 s of processor time" in good(*words, 2).stderr
    again = good(*words, 2).stderr
    assert "6 runs (all kept from before), 6 s of processor time" in again
    assert "missing" not in again
    assert "my.csv: 12 x 9 with 93 known entries" in again
    assert "by uniform, balanced, predictive_variance, once each." in good(*words, 1).stderr


def test_in_a_hurry_it_is_said_so_and_replaces_nothing(workers: dict, my_csv: Path) -> None:
    whole, small = Path("maxentry-study/compare-my"), Path("maxentry-study/compare-my-quick")
    good("study", "compare", "my.csv")
    before = (whole / "report.html").read_bytes()
    said = good("study", "compare", "my.csv", "--quick").stderr
    assert (whole / "report.html").read_bytes() == before
    assert b"nothing is to be concluded" not in before
    assert "12 at first, then 36 in batches of 18" in said
    assert "2 times each" in said
    for text in (said, (small / "report.html").read_text(), (small / "tables.md").read_text()):
        assert "Quick: small runs and few replicates, from which nothing is to be concluded." in text
    good("study", "paper", "--figure", "sim30", "--strategy", "uniform", "--quick")
    assert Path("maxentry-study/paper-quick/report.html").exists()
    assert not Path("maxentry-study/paper").exists()


def test_tables_of_one_name_do_not_replace_each_other(workers: dict, my_csv: Path) -> None:
    Path("other").mkdir()
    other = Path("other/my.csv")
    other.write_text(my_csv.read_text().replace("r0,,", "r0,1.5,", 1))
    pages = [
        answer("study", "compare", path, "--replicates", 1)["page"] for path in (my_csv, other, my_csv, other)
    ]
    assert pages[0] == pages[2] == "maxentry-study/compare-my/report.html"
    assert pages[1] == pages[3] != pages[0]
    assert pages[1].startswith("maxentry-study/compare-my-")


def test_infinite_values_are_refused_by_their_labels(workers: dict, my_csv: Path) -> None:
    my_csv.write_text(my_csv.read_text().replace("r0,,", "r0,inf,", 1))
    said = refused("study", "compare", "my.csv")
    assert said == "Expected finite numbers, but the value at row 'r0', column 'c0' is inf."


def test_strategies_that_no_matrix_has_are_named(workers: dict) -> None:
    words = (
        "--matrix",
        "sim30",
        "--strategy",
        "uniform",
        "--strategy",
        "balanced",
        "--replicates",
        2,
        "-o",
        "out",
    )
    assert "Not run" not in good("study", "suite", *words).stderr
    said = good("study", "suite", *words, "--strategy", "oboe", "--strategy", "means").stderr
    assert "Not run on these matrices: oboe, means." in said


def test_help_names_what_may_be_named() -> None:
    from maxentry.studies import strategies, suite

    assert tuple(strategies.STRATEGIES) == choices.STRATEGIES
    assert {case.name for case, _ in suite.CASES} == set(choices.MATRICES)
    for command in ("paper", "suite", "compare"):
        shown = " ".join(good("study", command, "--help").stdout.replace("│", " ").split())
        assert all(name in shown for name in choices.STRATEGIES)
        assert (choices.listed(choices.MATRICES) in shown) == (command == "suite")


def test_a_file_name_that_is_no_text_is_read_all_the_same(workers: dict, my_csv: Path) -> None:
    if sys.platform != "linux":
        pytest.skip("file names are bytes on Linux only")
    odd = os.fsdecode(b"b\xffd.csv")
    my_csv.rename(odd)
    assert good("study", "compare", odd, "-o", "out").stdout.startswith("Yes, ")
    assert "b?d.csv" in Path("out/report.html").read_text(encoding="utf-8")


def test_data_of_kept_runs_are_not_asked_for(workers: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    from maxentry.studies import datasets
    from maxentry.studies.paper import figure_cells

    def absent(name: str) -> None:
        raise DataError(f"expected {name} here, but it is not.")

    monkeypatch.setattr(datasets, "load", absent)
    for cell in figure_cells(["jester"], 2, quick=True, strategies=["uniform"]):
        Store("out").add(invented(cell))
    words = ("--figure", "jester", "--figure", "sim30", "--strategy", "uniform", "--quick", "-o", "out")
    assert answer("study", "paper", *words)["runs"] == 6
    assert {cell.case.name for cell in workers["begun"]} == {"sim30"}


def test_data_are_asked_for_before_the_workers_start(workers: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    from maxentry.studies import datasets

    def absent(name: str) -> None:
        raise DataError(f"expected {name} here, but it is not.")

    monkeypatch.setattr(datasets, "load", absent)
    said = refused("study", "paper", "--figure", "jester", "--quick", "-o", "out")
    assert said == "Expected jester here, but it is not."
    assert workers["begun"] == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["compare", "no.csv"], "Expected a file to read, but no.csv does not exist."),
        (
            ["compare", "my.csv", "--initial", "90", "--budget", "9"],
            "to leave known entries over to judge by",
        ),
        (["compare", "my.csv", "--strategy", "best"], "Expected one of the strategies"),
        (
            ["compare", "my.csv", "--dask", "nowhere"],
            "Expected a Dask scheduler at nowhere (like tcp://host:8786)",
        ),
        (
            ["compare", "my.csv", "--strategy", "uniform"],
            "Expected a strategy to compare with uniform, but only uniform came.",
        ),
        (["compare", "my.csv", "--transform", "log"], "for the log scale, but the value at row 'r"),
        (["compare", "my.csv", "--rank", "5"], "Expected rank 'auto' or at most 4, half the shorter side"),
        (
            ["compare", "-", "--costs", "-"],
            "Expected the matrix or the costs on standard input, but both came.",
        ),
        (["compare", "my.csv", "-o", "my.csv"], "Expected a folder for results, but my.csv is a file."),
        (["paper", "--figure", "sim31"], "Expected figures among sim30"),
        (["paper", "--strategy", "best"], "Expected one of the strategies"),
        (
            ["paper", "--strategy", "oboe"],
            "Expected strategies that are run on these matrices, but none of them is.",
        ),
        (["suite", "--matrix", "mine"], "; SAT11, log s; SAT20, log s; Jester; "),
        (
            ["suite", "--matrix", "sim30", "--strategy", "oboe"],
            "Expected strategies that are run on these matrices",
        ),
        (["data", "mine"], "Expected the name of a data set"),
    ],
)
def test_refusals(words: list[str], sentence: str, workers: dict, my_csv: Path) -> None:
    assert sentence in refused("study", *words)
    assert workers["begun"] == []


@pytest.mark.parametrize(
    "words",
    [["study", "paper", "--replicates", "0"], ["study", "compare"], ["study", "compare", "my.csv", "--rank", "low"],
     ["study", "suite", "--workers", "none"], ["study", "no-such"]],
)  # fmt: skip
def test_wrong_usage(words: list[str], my_csv: Path) -> None:
    assert refused(*words, code=codes.USAGE).startswith("Usage: maxentry study")


def test_data_says_where_files_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAXENTRY_DATA_CACHE", "cache")
    monkeypatch.delenv("MAXENTRY_DATA", raising=False)
    lines = good("study", "data").stdout.splitlines()
    assert lines[0] == "name,rows,cols,known,here,licence,title"
    assert lines[1].startswith("jester,7200,100,720000,no,")
    one = good("study", "data", "davis")
    assert "citation: M. I. Davis" in one.stdout
    assert "MAXENTRY_DATA" in one.stderr


def on_terminal(*words: object, columns: int = 80) -> tuple[list[str], str]:
    """What a command writes to stdout where that is a terminal, line by line without styles, and stderr."""
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    env = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    done = subprocess.Popen([*COMMAND, *map(str, words)], stdout=inner, stderr=subprocess.PIPE, env=env)
    os.close(inner)
    shown = b""
    try:
        while chunk := os.read(outer, 65536):
            shown += chunk
    except OSError:  # Linux's way to tell the end of a pseudo-terminal
        pass
    os.close(outer)
    said = done.communicate(timeout=120)[1].decode()
    assert done.returncode == 0, said
    return re.sub(r"\x1b\[[0-9;]*m", "", shown.decode()).splitlines(), said


@pytest.mark.process
def test_claims_are_readable_on_a_terminal_and_csv_down_a_pipe() -> None:
    from maxentry.studies.paper import figure_cells

    store = Store("out")
    for cell in figure_cells(["sim30", "jester"], 2, quick=True):
        store.add(invented(cell))
    words = ("study", "paper", "--figure", "sim30", "--figure", "jester", "--quick", "--report", "-o", "out")
    lines, said = on_terminal(*words)
    assert "Warning" not in said
    assert max(map(len, lines)) <= 80
    headings = [line.rstrip() for line in lines if "(chosen by: " in line]
    assert "a balanced start beats a uniform start (chosen by: our default)" in headings
    rows = [line.split() for line in lines if line.startswith(" all ")]
    assert rows
    assert {len(row) > 2 for row in rows} == {True}  # the judgement, and over which figures
    assert not any("more line" in line for line in [*lines, *said.splitlines()])
    piped = good(*words).stdout.splitlines()
    assert piped[0] == "claim,chosen_by,figure,found,judgement"
    assert len(piped) - 1 == len(verdict.claims(store.runs()))


def test_ratios_are_readable_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("case", "strategy", "ratio", "low", "high", "replicates")
    lines = [("sim30", "maxent", 0.7712, 0.7, 0.8549, 10), ("[b]", "maxent", 0.5, np.nan, np.nan, 1)]
    grouped.ratios([dict(zip(names, line, strict=True)) for line in lines])
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert (shown[0], shown[5]) == ("sim30", "[b]")
    assert re.split("  +", shown[1]) == ["strategy", "error / uniform's", "90% interval", "replicates"]
    assert re.split("  +", shown[3]) == ["maxent", "0.77", "0.70 to 0.85", "10"]
    assert re.split("  +", shown[8]) == ["maxent", "0.50", "1"]


@pytest.mark.process
def test_help_stays_quick() -> None:
    heavy = ("numpy", "joblib", "matplotlib", "distributed", "maxentry.studies")
    code = f"import sys; from maxentry.cli import main; print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert shown.stdout.strip() == "[]"


@pytest.mark.process
@pytest.mark.slow
def test_a_real_comparison_in_a_process_of_its_own(my_csv: Path) -> None:
    words = ("study", "compare", "my.csv", "--rank", 2, "--replicates", 2, "--batch", 12, "--json")
    result = process(*words)
    assert result.returncode == 0, result.stderr
    found = json.loads(result.stdout)
    assert (found["runs"], found["failed"], result.stderr) == (6, [], b"")
    assert found["answer"].startswith(
        ("Yes,", "No,", "No gain from active sampling is shown: after 48 entries")
    )
