"""`python -m evidence`: what it says, writes and answers; the runs themselves are invented here."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.test_compare import engine, invent, my_csv  # noqa: F401 - fixtures
from typer.testing import CliRunner, Result

from evidence import __main__ as command
from evidence import datasets, figures
from evidence.claims import judge_claims
from evidence.datasets import files
from evidence.paper import figure_cells
from evidence.strategies import STRATEGIES
from evidence.suite import CASES
from maxentry.cli.output import ExitCode
from maxentry.compare.store import Store
from maxentry.errors import DataError, MissingDependencyError
from maxentry.plots.matplotlib import new_figure

FACTS = "folder runs failed missing page figures tables raw"
NAMES = [info.name for info in datasets.catalogue()]


@pytest.fixture(autouse=True)
def no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, without data sets."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "draw_panels", lambda panels, across: new_figure(1, 1))  # quicker
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setenv("MAXENTRY_DATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MAXENTRY_DATA", raising=False)
    return tmp_path


@pytest.fixture
def folder(no_data: Path) -> Path:
    return no_data


def run(*words: object) -> Result:
    return CliRunner().invoke(command.app, [str(word) for word in words])


def good(*words: object) -> Result:
    result = run(*words)
    assert result.exit_code == 0, result.stderr + result.stdout
    return result


def answer(*words: object) -> Any:
    return json.loads(good(*words, "--json").stdout)


def refused(*words: object, code: int = 1) -> str:
    result = run(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    return result.stderr.strip()


@pytest.mark.parametrize(
    ("words", "keys"),
    [
        ("paper --figure sim30 --quick --strategy uniform --replicates 2", f"{FACTS} claims"),
        ("suite --matrix Jester --strategy uniform --strategy balanced --replicates 2", f"{FACTS} ratios"),
        (
            "compare my.csv --strategy means --replicates 2",
            f"{FACTS} answer rows cols known initial budget batch ratios",
        ),
        ("data", "sets"),
    ],
)
def test_documents(words: str, keys: str, engine: dict, my_csv: Path) -> None:  # noqa: F811
    name, *rest = words.split()
    found = answer(name, *rest, *([] if name == "data" else ["-o", "out"]))
    assert list(found) == keys.split()
    shown = " ".join(good(name, "--help").stdout.split("JSON:", 1)[1].replace("│", " ").split())
    documented = {word.strip("(),.;:") for word in shown.split()}
    assert set(keys.split()) <= documented
    for lines in (found.get("claims"), found.get("ratios"), found.get("sets")):
        assert not lines or set(lines[0]) <= documented
    for path in [found[key] for key in ("page", "tables", "raw") if key in found] + found.get("figures", []):
        assert Path(path).is_file()


def test_help_names_what_may_be_named() -> None:
    for name in ("paper", "suite", "compare"):
        shown = " ".join(good(name, "--help").stdout.replace("│", " ").split())
        assert all(strategy.name in shown for strategy in STRATEGIES)
        assert all(case.name in shown for case, _ in CASES) == (name == "suite")


def test_in_a_hurry_it_replaces_nothing(engine: dict) -> None:  # noqa: F811
    good("paper", "--figure", "sim30", "--strategy", "uniform", "--quick")
    assert Path("maxentry-study/paper-quick/report.html").exists()
    assert not Path("maxentry-study/paper").exists()


def test_strategies_that_no_matrix_has_are_named(engine: dict) -> None:  # noqa: F811
    words = [
        "suite",
        "--matrix",
        "sim30, past the degrees of freedom",
        "--strategy",
        "uniform",
        "--strategy",
        "predictive_variance",
        "--replicates",
        "2",
        "-o",
        "out",
    ]
    assert "Not run" not in good(*words).stderr
    said = good(*words, "--strategy", "oboe", "--strategy", "means").stderr
    assert "Not run on these matrices: oboe, means." in said


def absent(name: str) -> None:
    raise DataError(f"expected {name} here, got nothing.")


def test_data_of_stored_runs_are_not_asked_for(engine: dict, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    monkeypatch.setattr(datasets, "load", absent)
    for cell in figure_cells(["jester"], 2, quick=True, strategies=["uniform"]):
        Store("out").add(invent(cell))
    words = ("--figure", "jester", "--figure", "sim30", "--strategy", "uniform", "--quick", "-o", "out")
    assert answer("paper", *words)["runs"] == 6
    assert {cell.case.name for cell in engine["begun"]} == {"sim30"}


def test_data_are_asked_for_before_the_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets, "load", absent)
    said = refused("paper", "--figure", "jester", "--quick", "-o", "out")
    assert said == "Expected jester here, got nothing."


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["paper", "--figure", "sim31"], "Expected figures among sim30"),
        (["paper", "--strategy", "best"], "Expected one of the strategies"),
        (["paper", "--strategy", "oboe"], "None of these strategies can run on this matrix."),
        (["paper", "--figure", "sim30", "--cluster", "nowhere"], "No Dask scheduler at nowhere (like tcp://host:8786)"),
        (["suite", "--matrix", "mine"], "; SAT11, log s; SAT20, log s; Jester; "),
        (["suite", "--matrix", "Jester", "--strategy", "oboe"], "None of these strategies can run on this matrix."),
        (["data", "mine"], "Expected the name of a data set"),
    ],
)  # fmt: skip
def test_refusals(words: list[str], sentence: str, engine: dict) -> None:  # noqa: F811
    assert sentence in refused(*words)
    assert engine["begun"] == []


def test_wrong_usage() -> None:
    for words in (["paper", "--replicates", "0"], ["suite", "--workers", "none"], ["no-such"]):
        assert refused(*words, code=ExitCode.USAGE).startswith("Usage: ")


# Rows


def test_claims_are_tables_on_a_terminal_and_csv_down_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    store = Store("out")
    for cell in figure_cells(["sim30", "jester"], 2, quick=True):
        store.add(invent(cell))
    words = ("paper", "--figure", "sim30", "--figure", "jester", "--quick", "--report", "-o", "out")
    piped = good(*words).stdout.splitlines()
    assert piped[0] == "claim,chosen_by,figure,found,judgement"
    claims = [claim._asdict() for claim in judge_claims(store.runs())]
    assert len(piped) - 1 == len(claims)
    command.show_claims(claims)
    lines = capsys.readouterr().out.splitlines()
    headings = [line.rstrip() for line in lines if "(chosen by: " in line]
    assert "a balanced start beats a uniform start (chosen by: our default)" in headings
    rows = [line.split() for line in lines if line.startswith(" all ")]
    assert rows
    assert {len(row) > 2 for row in rows} == {True}  # the judgement, and over which figures


def test_ratios_are_tables_on_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    names = ("case", "strategy", "ratio", "low", "high", "replicates")
    lines = [("sim30", "maxent", 0.7712, 0.7, 0.8549, 10), ("[b]", "maxent", 0.5, np.nan, np.nan, 1)]
    command.show_ratios([dict(zip(names, line, strict=True)) for line in lines])
    shown = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert (shown[0], shown[5]) == ("sim30", "[b]")
    assert re.split("  +", shown[1]) == ["strategy", "error / uniform's", "90% interval", "replicates"]
    assert re.split("  +", shown[3]) == ["maxent", "0.77", "0.70 to 0.85", "10"]
    assert re.split("  +", shown[8]) == ["maxent", "0.50", "1"]


# Data sets


@pytest.fixture
def fetched(monkeypatch: pytest.MonkeyPatch) -> tuple[list[str], dict[str, Exception]]:
    """Which sets are fetched, and how some of them fail."""
    asked: list[str] = []
    errors: dict[str, Exception] = {}

    def load(name: str) -> None:
        asked.append(name)
        if name in errors:
            raise errors[name]

    monkeypatch.setattr(datasets, "load", load)
    return asked, errors


def test_data_says_where_files_go() -> None:
    lines = good("data").stdout.splitlines()
    assert lines[0] == "name,rows,cols,known,here,licence,title"
    assert lines[1].startswith("jester,7200,100,720000,no,")
    one = good("data", "davis")
    assert "citation: M. I. Davis" in one.stdout
    assert "MAXENTRY_DATA" in one.stderr


def test_the_list_needs_no_pooch(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str) -> None:
        raise ImportError(name)

    monkeypatch.delenv("MAXENTRY_DATA_CACHE")
    monkeypatch.setattr(files, "import_module", without)
    assert [line.split(",")[0] for line in good("data").stdout.splitlines()[1:]] == NAMES
    assert {line["here"] for line in answer("data")["sets"]} == {None}


def test_all_are_fetched(fetched: tuple[list[str], dict[str, Exception]]) -> None:
    assert len(answer("data", "--get")["sets"]) == len(NAMES)
    assert fetched[0] == NAMES


def test_sets_that_cannot_be_had_keep_no_other_from_being_fetched(
    fetched: tuple[list[str], dict[str, Exception]],
) -> None:
    asked, errors = fetched
    errors |= {"jester": DataError("expected jokes."), "davis": DataError("expected kinases.")}
    refusal = "Some data sets could not be fetched. jester: expected jokes. davis: expected kinases."
    assert refused("data", "--get") == refusal
    assert asked == NAMES
    result = run("data", "--get", "--json")
    assert result.exit_code == 1
    assert "davis: expected kinases." in json.loads(result.stdout)["error"]["message"]


def test_what_is_wrong_with_all_is_said_once(fetched: tuple[list[str], dict[str, Exception]]) -> None:
    asked, errors = fetched
    errors |= {name: MissingDependencyError("expected pooch.") for name in NAMES}
    assert refused("data", "--get") == "Expected pooch."
    assert asked == NAMES


def test_licences_are_shown_once_to_users_of_python_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    data = Path(__file__).parents[3] / "shared" / "data"
    if not (data / "reactions").exists():
        pytest.skip("no local copies of the data beside the repository")
    monkeypatch.setenv("MAXENTRY_DATA", str(data))
    for _ in range(2):
        datasets.load("direct-arylation")
    assert capfd.readouterr().err.count("please cite") == 1
