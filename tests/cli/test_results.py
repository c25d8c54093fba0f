"""Posteriors from the shell: of a campaign, of a table, and designs."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from tests.cli.run import answer, check_quiet, good, process, refused, run

import maxentry
from maxentry.cli import complete
from maxentry.cli.complete import FACTS, LONG, summarize
from maxentry.cli.output import ExitCode
from maxentry.model.likelihood import Likelihood
from maxentry.posterior.chains import ModelSpec
from maxentry.posterior.diagnostics import THOROUGH

SHORT = ("--rank", 1, "--seed", 1)


@pytest.fixture
def yields() -> pd.DataFrame:
    """An 8 x 6 matrix of rank 1 with noise, a quarter of it missing; written to yields.csv."""
    rng = np.random.default_rng(3)
    matrix = np.outer(rng.uniform(1, 3, 8), rng.uniform(1, 3, 6)) + 0.01 * rng.normal(size=(8, 6))
    matrix[rng.random((8, 6)) < 0.25] = np.nan
    frame = pd.DataFrame(matrix, index=[f"L{i}" for i in range(8)], columns=[f"S{j}" for j in range(6)])
    frame.to_csv("yields.csv", index_label="ligand")
    return frame


# complete


def test_complete_gives_what_the_library_gives(yields: pd.DataFrame) -> None:
    good("complete", "yields.csv", "-o", "full.csv", *SHORT)
    library = maxentry.complete(yields, rank=1, seed=1)
    found = pd.read_csv("full.csv", index_col="ligand")
    assert list(found.index) == list(yields.index)
    assert list(found.columns) == list(yields.columns)
    np.testing.assert_allclose(found.to_numpy(), library.mean, rtol=5e-6)  # six digits are written


@pytest.mark.parametrize("what", ["sd", "low", "high", "new_low", "new_high"])
def test_complete_gives_every_map(yields: pd.DataFrame, what: str) -> None:
    library = maxentry.complete(yields, rank=1, seed=1)
    low, high = library.interval(0.8)
    new_low, new_high = library.predictive_interval(0.8)
    maps = {"sd": library.sd, "low": low, "high": high, "new_low": new_low, "new_high": new_high}
    good("complete", "yields.csv", "-o", "out.parquet", "--what", what, "--level", 0.8, *SHORT)
    found = pd.read_parquet("out.parquet").set_index("ligand")
    np.testing.assert_allclose(found.to_numpy(), maps[what], rtol=1e-12)


def test_complete_long_through_pipes(yields: pd.DataFrame) -> None:
    result = good("complete", "-", "--long", *SHORT, stdin=Path("yields.csv").read_text())
    lines = result.stdout.splitlines()
    assert lines[0] == LONG.replace(" ", "")
    assert len(lines) == 1 + 48
    assert "8 x 6" in result.stderr
    observed = [int(line.rsplit(",", 1)[1]) for line in lines[1:]]
    assert observed == yields.notna().to_numpy().ravel().astype(int).tolist()


def test_people_get_six_digits_and_programs_all(yields: pd.DataFrame) -> None:
    mean = maxentry.complete(yields, rank=1, seed=1).arrays.mean
    lines = good("complete", "yields.csv", *SHORT).stdout.splitlines()
    assert lines[1].split(",")[1:] == [f"{x:.6g}" for x in mean[0]]
    entries = answer("complete", "yields.csv", *SHORT)["entries"]
    assert [e["mean"] for e in entries] == mean.ravel().tolist()


@pytest.mark.parametrize(("converged", "n"), [(True, 1), (False, 2)])
def test_what_was_found_is_said_in_short_and_in_the_words_of_the_shell(converged: bool, n: int) -> None:
    found: Any = SimpleNamespace(
        shape=(8, 6), rank=1, observations=SimpleNamespace(n=35, low=None), likelihood=Likelihood(),
        fit=ModelSpec(), arrays=SimpleNamespace(hint_scale=lambda *_: ""),
        diagnostics=SimpleNamespace(converged=converged, advice=f"Run with {THOROUGH}."),
    )  # fmt: skip
    said = summarize(found).splitlines()
    assert len(said) == n
    assert said[0].startswith("8 x 6, 35 values, rank 1")
    assert said[0].endswith(": converged.") == converged
    assert ("--effort thorough" in said[-1] and said[-1].startswith("not converged: ")) != converged


def test_complete_as_json_has_the_documented_keys(yields: pd.DataFrame) -> None:
    found = answer("complete", "yields.csv", *SHORT)
    assert list(found) == [*FACTS.split(", "), "entries"]
    assert list(found["entries"][0]) == LONG.split(", ")
    assert (found["shape"], found["rank"], found["n_observed"]) == (
        [8, 6],
        1,
        int(yields.notna().sum().sum()),
    )
    to_file = answer("complete", "yields.csv", "-o", "full.csv", *SHORT)
    assert list(to_file) == [*FACTS.split(", "), "output"]
    assert list(pd.read_csv("full.csv").columns) == ["ligand", *yields.columns]


def test_complete_on_another_scale_and_saved(yields: pd.DataFrame) -> None:
    found = answer(
        "complete", "yields.csv", "--transform", "log", "--save", "fit.npz", "-o", "full.csv", *SHORT
    )
    assert found["transform"] == "log"
    loaded = maxentry.Posterior.load("fit.npz")
    np.testing.assert_allclose(pd.read_csv("full.csv", index_col=0).to_numpy(), loaded.mean, rtol=5e-6)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--rank", "9"], "rank"),
        (["--level", "1.5"], "level"),
        (["--transform", "cube"], "ransform must be"),
        (["-o", "yields.csv"], "yields.csv is read"),
        (["--save", "no/fit.npz"], "no does not exist"),
    ],
)
@pytest.mark.usefixtures("yields")
def test_complete_refuses(words: list[str], sentence: str) -> None:
    assert sentence in refused("complete", "yields.csv", *words, "--seed", "1")


def test_complete_needs_something_measured() -> None:
    Path("empty.csv").write_text("x,a,b\nr,,\ns,,\n")
    assert "Traceback" not in refused("complete", "empty.csv")


@pytest.mark.usefixtures("yields")
def test_an_interrupted_completion_keeps_what_was_drawn_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    from maxentry.posterior import complete as module

    whole = module.complete

    def cut_short(*args: Any, **options: Any) -> maxentry.Posterior:
        posterior = whole(*args, **options)
        posterior.interrupted = True
        return posterior

    monkeypatch.setattr(module, "complete", cut_short)
    result = run("complete", "yields.csv", "-o", "full.csv", "--json", *SHORT)
    assert result.exit_code == ExitCode.INTERRUPTED
    assert json.loads(result.stdout)["interrupted"] is True
    assert "Interrupted: this is what had been drawn by then." in result.stderr
    assert Path("full.csv").exists()


# A campaign's


def test_a_campaign_to_the_end_of_the_loop(yields: pd.DataFrame) -> None:
    good(
        "new", "lab", "--from", "yields.csv", "--seed", 1, "--rank", 1, "--acquisition", "predictive_variance"
    )
    ahead = answer("status", "--next", 3)["outlook"]
    assert 0 < ahead["error_after"] < ahead["error_now"]
    assert ahead["entries"] == 3
    asked = answer("ask", 3)["entries"]
    assert all(np.isnan(yields.loc[e["row"], e["col"]]) for e in asked)
    assert all(e["sd"] > 0 and e["gain"] > 0 for e in asked)
    found = answer("posterior")
    assert list(found) == ["campaign", *FACTS.split(", "), "entries"]
    by_entry = {(e["row"], e["col"]): e for e in found["entries"]}
    assert by_entry[asked[0]["row"], asked[0]["col"]]["mean"] == pytest.approx(asked[0]["mean"], rel=1e-3)
    wide = good("posterior", "--what", "sd").stdout.splitlines()
    assert wide[0] == "ligand,S0,S1,S2,S3,S4,S5"
    shown = " ".join(good("status").stdout.split())
    assert "expected error" in shown
    assert "with pending" in shown
    assert (
        "You can stop here, unless you need single entries." in shown
    )  # three quarters are known, and the rank


def test_a_target_ends_a_campaign(yields: pd.DataFrame) -> None:
    good("new", "lab", "--from", "yields.csv", "--seed", 1, "--rank", 1, "--target-sd", 100)
    assert "the target is reached" in refused("ask", 1, code=ExitCode.NOTHING_LEFT).lower()
    assert "the target is reached" in answer("status")["advice"]
    good("set", "--target-sd", 1e-9)
    assert answer("status")["advice"].startswith("go on: the expected error is")


def test_a_posterior_of_nothing_is_refused() -> None:
    good("new", "lab", "--shape", "4x4")
    assert "at least one measurement" in refused("posterior")


# design


def test_a_design_is_balanced_and_fits_a_new_campaign() -> None:
    good("design", "12x8", 24, "-o", "first.csv", "--seed", 1)
    first = pd.read_csv("first.csv")
    assert list(first.columns) == ["row", "col", "value"]
    assert set(first["row"].value_counts()) == {2}
    assert set(first["col"].value_counts()) == {3}
    first["value"] = 1.0
    first.to_csv("first.csv", index=False)
    good("new", "lab", "--shape", "12x8")
    assert answer("tell", "first.csv")["told"] == 24


def test_a_design_leaves_out_what_is_measured(yields: pd.DataFrame) -> None:
    missing = int(yields.isna().sum().sum())
    found = answer("design", "yields.csv", missing, "--seed", 1)
    assert (found["shape"], found["n"]) == ([8, 6], missing)
    assert all(np.isnan(yields.loc[e["row"], e["col"]]) for e in found["entries"])
    refused("design", "yields.csv", missing + 1)


def test_a_design_of_nothing_known_is_refused() -> None:
    assert refused("design", "12by8", 3) == "Expected a shape like 30x20 or a table, got '12by8'."
    refused("design", "3x3", 10)


def test_the_same_seed_gives_the_same_design() -> None:
    one, two, other = (good("design", "9x9", 20, "--seed", s).stdout for s in (1, 1, 2))
    assert one == two != other


# In processes of their own

WITHOUT = """
import sys
for name in ("pandas", "polars", "pyarrow"):
    sys.modules[name] = None
from typer.testing import CliRunner
from maxentry.cli.main import app
for line in sys.stdin.read().splitlines():
    result = CliRunner().invoke(app, line.split())
    print(result.exit_code, line, "|", result.stderr.replace("\\n", " ")[-200:])
"""


@pytest.mark.process
@pytest.mark.usefixtures("yields")
def test_the_loop_without_pandas_polars_and_pyarrow() -> None:
    """What `pip install maxentry` brings is enough for the command line."""
    loop = [
        "new lab --from yields.csv --rank 1 --seed 1", "ask 2 -o plate.csv", "tell plate.csv", "history",
        "export --wide", "posterior -o full.csv", "status", "complete yields.csv --rank 1", "design 4x4 3",
    ]  # fmt: skip
    lines = "\n".join([*loop, "ask 1 -o plate.parquet", "ask 1 --format parquet"])
    result = subprocess.run(
        [sys.executable, "-c", WITHOUT], input=lines, capture_output=True, text=True, timeout=250, check=True
    )
    said = result.stdout.splitlines()
    assert [line.split()[0] for line in said] == ["0"] * len(loop) + ["1", "1"], said
    assert all("maxentry[parquet]" in line for line in said[-2:])
    assert answer("status", "--fast")["pending"] == 2  # nothing was asked for that could not be written


IMPORTED = """
import sys
from maxentry.cli.main import run
try:
    run()
except SystemExit:
    heavy = ("numba", "numpy", "scipy", "sqlalchemy", "pandas")
    print([name for name in heavy if name in sys.modules])
"""


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "light"),
    [(["--help"], True), (["version"], True), (["ask", "--help"], True), (["list"], False)],
)
def test_the_help_is_quick_since_nothing_heavy_is_imported(words: list[str], light: bool) -> None:
    command = [sys.executable, "-c", IMPORTED, *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert (result.stdout.splitlines()[-1] == "[]") == light, result.stderr


def complete_words(line: str, *, shell: str = "bash") -> list[str]:
    words = line.split(" ")
    env = {"_MAXENTRY_COMPLETE": f"complete_{shell}", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    result = process(env=env)
    check_quiet(result.stderr.decode())
    return result.stdout.decode().split()


@pytest.mark.process
def test_the_shell_completes_commands_options_choices_and_campaigns() -> None:
    assert complete_words("maxentry sta") == ["status"]
    assert set(complete_words("maxentry a")) == {"answer", "ask", "add-rows", "add-cols"}
    assert "--plates" in complete_words("maxentry ask --p")
    assert complete_words("maxentry ask --plates r") == ["rows"]
    assert complete_words("maxentry status -c ") == []  # no storage yet, and no error into the line
    run("new", "kinase", "--shape", "3x3")
    run("new", "other", "--shape", "3x3")
    assert complete_words("maxentry status -c k") == ["kinase"]


@pytest.mark.process
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_for_the_shell_is_shown(shell: str) -> None:
    # Without looking for the shell that runs it, Typer takes its name instead.
    env = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    result = process("--show-completion", shell, env=env)
    assert result.returncode == 0
    assert "_MAXENTRY_COMPLETE" in result.stdout.decode()


@pytest.mark.process
def test_completion_is_installed_for_bash(folder: Path) -> None:
    env = {"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1", "HOME": str(folder)}
    result = process("--install-completion", "bash", env=env)
    assert result.returncode == 0, result.stderr
    assert (folder / ".bash_completions" / "maxentry.sh").exists()
    assert "maxentry.sh" in (folder / ".bashrc").read_text()


# answer


def test_answer_is_a_table_sentences_and_json(yields: pd.DataFrame) -> None:
    good("new", "x", "--from", "yields.csv", "--goal", "best per column", *SHORT)
    result = good("answer")
    lines = result.stdout.splitlines()
    assert lines[0] == "row,col,place,estimate,low,high,probability,regret,observed"
    assert "Best ligand for S0: L" in result.stderr
    document = answer("answer", "rank rows")
    assert document["goal"] == "rank rows"
    assert answer("answer", "--goal", "rank rows") == document
    assert [line["place"] for line in document["lines"]] == list(range(1, 9))
    library = maxentry.Campaign.open("maxentry.db").answer("rank rows")
    assert [line["row"] for line in document["lines"]] == library.table["row"]
    good("answer", "best 3", "-o", "best.csv")
    assert len(pd.read_csv("best.csv")) >= 3
    assert "got 'bes'" in refused("answer", "bes")


@pytest.mark.usefixtures("yields")
def test_entries_that_promise_nothing_for_the_goal_are_counted() -> None:
    good("new", "x", "--from", "yields.csv", "--goal", "best per column", *SHORT)
    found = good("ask", 8, "-o", "plate.csv")
    idle = int((pd.read_csv("plate.csv")["gain"] == 0).sum())
    assert 0 < idle < 8
    assert f"{idle} of these 8 promise nothing more for the goal 'best per column'" in found.stderr
    assert f"; {idle} of these 8 promise nothing more for it" in good("history", "--format", "csv").stdout
    good("set", "--drop", "goal")
    assert "promise" not in good("ask", 1, "-o", "other.csv").stderr


def test_a_campaign_that_fills_says_how_to_name_a_goal(yields: pd.DataFrame) -> None:
    good("new", "x", "--from", "yields.csv", *SHORT)
    assert "maxentry set --goal 'best per row'" in refused("answer")
    good("set", "--goal", "smallest 2 per row")
    assert answer("answer")["goal"] == "smallest 2 per row"
    good("set", "--drop", "goal")
    refused("answer")


def test_weights_of_a_ranking_come_from_a_file(yields: pd.DataFrame) -> None:
    Path("weights.csv").write_text("col;weight\nS1;2,5\nS3;0\n")
    good("new", "x", "--from", "yields.csv", "--goal", "rank rows", "--weights", "weights.csv", *SHORT)
    document = answer("status", "--fast")
    assert (document["goal"], document["weights"]) == ("rank rows", {"S1": 2.5, "S3": 0.0})
    assert "rank rows, weights S1 2.5, S3 0" in " ".join(good("status", "--fast").stdout.split())
    said, library = answer("answer"), maxentry.Campaign.open("maxentry.db").posterior()
    assert said["lines"][0]["row"] == library.ranking(weights={"S1": 2.5, "S3": 0}).row[0]
    assert said["pairs"][0]["above"] == said["lines"][0]["row"]
    assert "Best ligand by weighted average: L" in said["summary"][0]
    assert answer("status")["at_stake"]["now"] == pytest.approx(said["at_stake"])
    assert "drop them" in refused("set", "--goal", "best")
    good("set", "--goal", "best", "--drop", "weights")
    assert answer("status", "--fast")["weights"] is None
    assert "expected the columns row and weight with the goal 'rank columns', got col, weight" in refused(
        "set", "--goal", "rank columns", "--weights", "weights.csv"
    )
    assert "S9" in _refused_weights("col,weight\nS9,2\n")
    assert "got row, weight" in _refused_weights("row,weight\nS1,2\n")
    assert "got substrate, how much" in _refused_weights("substrate,how much\nS1,2\n")
    Path("other.csv").write_text("weight,substrate\n2,S1\n")  # the labels may have any name
    good("set", "--goal", "rank rows", "--weights", "other.csv")
    assert answer("status", "--fast")["weights"] == {"S1": 2.0}
    assert "'a lot' is not a number" in _refused_weights("col,weight\nS1,a lot\n")


def test_on_a_screen_probabilities_are_in_per_cent_and_ties_are_marked(yields: pd.DataFrame) -> None:
    alike = yields.copy()
    alike.loc["L1"] = alike.loc["L0"]  # a tie, whatever the draws
    alike.to_csv("yields.csv", index_label="ligand")
    good("new", "x", "--from", "yields.csv", "--goal", "rank rows", *SHORT)
    assert (
        good("history")
        .stdout.splitlines()[1]
        .endswith(',"8 x 6, seed 1, predictive_variance, goal rank rows"')
    )
    found = maxentry.Campaign.open("maxentry.db").answer(level=0.999999)
    shown = complete._readable(found)
    assert list(shown) == [
        "row",
        "place",
        "estimate",
        "low",
        "high",
        "probability",
        "rank",
        "above_next",
        "regret",
    ]
    for k, place in enumerate(shown["place"]):
        tied = bool(found.table["tied"][k] or (k and found.table["tied"][k - 1]))
        assert place == (f"{k + 1} =" if tied else f"{k + 1}")
    assert any(place.endswith("=") for place in shown["place"])
    assert shown["above_next"][-1] == ""
    assert all(text.endswith("%") for text in shown["probability"] + shown["above_next"][:-1])
    ends = zip(found.table["rank_low"], found.table["rank_high"], strict=True)
    assert shown["rank"] == [f"{a}" if a == b else f"{a} to {b}" for a, b in ends]
    best = complete._readable(maxentry.Campaign.open("maxentry.db").answer("best 3"))
    assert best["place"][:3] == ["1", "2", "3"]
    assert set(best["place"][3:]) <= {"or"}


def _refused_weights(text: str) -> str:
    Path("other.csv").write_text(text)
    return refused("set", "--goal", "rank rows", "--weights", "other.csv")


def test_a_long_table_with_names_says_what_is_best_in_them(yields: pd.DataFrame) -> None:
    long = yields.rename_axis("ligand").reset_index().melt("ligand", var_name="substrate", value_name="yield")
    long.to_csv("long.csv", index=False)
    names = ("--names", "ligand,substrate,yield")
    good("new", "x", "--from", "long.csv", *names, "--goal", "best per row", *SHORT)
    assert "Best substrate for L0: S" in good("answer").stderr
    assert "Best ligand for S0: L" in good("answer", "best per column").stderr
