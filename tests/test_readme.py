"""The README is short, its commands say what it shows, its code runs, and its table is that of the benchmarks."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from docsite.example import LIGANDS, NOISE, SUBSTRATES, table, truth

README = Path(__file__).parent.parent / "README.md"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with yields.csv."""
    (tmp_path / "yields.csv").write_text(table(), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


MOST_LINES = 120
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def fenced(kind):
    """The blocks of a kind."""
    text = README.read_text(encoding="utf-8")
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)


def steps():
    """The lab loop: each command, and the lines that the page shows of what it says."""
    (block,) = fenced("console")
    commands = re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]
    return [(command.splitlines()[0], command.splitlines()[1:]) for command in commands]


def test_the_page_is_short_and_the_two_commands_are_near_its_top():
    lines = README.read_text(encoding="utf-8").splitlines()
    assert len(lines) <= MOST_LINES
    assert sum(line.startswith("    make ") for line in lines[:10]) == 2
    assert len(steps()) == 5
    (code,) = fenced("python")
    assert len([line for line in code.splitlines() if line]) <= 6


def test_the_benchmarks_are_those_of_their_page():
    """Each cell of the table is a line of benchmarks/RESULTS.md: method, RMSE, seconds, MB."""
    page = (README.parent / "benchmarks" / "RESULTS.md").read_text(encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    (head,) = re.findall(r"^\| RMSE, seconds, MB \|(.*)\|$", text, flags=re.MULTILINE)
    methods = [name.strip() for name in head.split("|")]
    lines = re.findall(r"^\| (.+?) \| ((?:[\d.]+, [\d.–]+, [\d.–]+|not run).*)\|$", text, flags=re.MULTILINE)
    assert len(lines) == 5
    for data, cells in lines:
        part = page[page.index(f"| {data} | {methods[0]} |") :]
        for method, cell in zip(methods, cells.split("|"), strict=True):
            if cell.strip() != "not run":
                rmse, seconds, peak = cell.strip().split(", ")
                line = rf"^\| [^|]*\| {method}[^|]*\| {rmse} \| {seconds} \| {peak} \|$"
                assert re.search(line, part, flags=re.MULTILINE), (data, method)


@pytest.mark.pages
def test_the_page_runs_line_by_line(folder, compiled, capsys):
    """As typed, from a folder with nothing but yields.csv; someone fills in the plate in between."""
    bin = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
        "MAXENTRY_CACHE": str(folder / "cache"),
        "COLUMNS": "100",
    }
    for command, shown in steps():
        if command.startswith("maxentry tell"):
            plate = pd.read_csv("plate.csv")
            assert list(plate) == ["id", "row", "col", "mean", "sd", "gain", "cost", "value"]
            known, rng = pd.DataFrame(truth(), LIGANDS, SUBSTRATES), np.random.default_rng(1)
            pairs = zip(plate["row"], plate["col"], strict=True)
            plate["value"] = [round(known.loc[r, c] + NOISE * rng.normal()) for r, c in pairs]
            plate.to_csv("plate.csv", index=False)
        done = subprocess.run(
            command, shell=True, env=environment, capture_output=True, text=True, timeout=900
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        said = [NUMBER.sub("N", line) for line in (done.stdout + done.stderr).splitlines()]
        for line in shown:  # numbers of a fit differ between processors
            assert any(NUMBER.sub("N", line) in whole for whole in said), (line, said)
    assert pd.read_csv("completed.csv", index_col=0).shape == (12, 8)
    (code,) = fenced("python")
    exec(compile(code, str(README), "exec"), {})
    out = capsys.readouterr().out
    assert "new_high" in out
    assert "gain" in out


def test_the_demo_installs_no_tools_of_development():
    makefile = (README.parent / "Makefile").read_text(encoding="utf-8")
    (needs, recipe) = re.findall(
        r"^demo: (\S+)  ##|^\.venv/\.demo: .*\n((?:\t.*\n)+)", makefile, re.MULTILINE
    )
    assert needs[0] == ".venv/.demo"
    assert "--no-compile" in recipe[1]  # only what is imported is compiled, when it is
    assert recipe[1].rstrip().splitlines()[-2].endswith("-e .")
    assert "[" not in recipe[1]


def test_the_citation_names_the_paper_and_the_licence():
    text = (README.parent / "CITATION.cff").read_text(encoding="utf-8")
    assert all(
        name in text for name in ("Mak", "Yuchi", "Xie", "Information-Guided Sampling", "license: MIT")
    )
    assert "CITATION.cff" in README.read_text(encoding="utf-8")


def test_what_is_linked_and_what_make_is_told_exists():
    text = README.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (README.parent / target).exists(), target
    makefile = (README.parent / "Makefile").read_text()
    for target in re.findall(r"make (\w+)  ", text):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


HISTORY = re.compile(
    r"(?i)since then|the first comparison|in an earlier version of this|we used to|something else came"
)


def test_documents_tell_no_history_of_ours():
    root = README.parent
    pages = [README, *root.glob("docs/*.md"), *root.glob("benchmarks/*.md")]
    assert len(pages) > 40
    told = {page.name: HISTORY.findall(page.read_text(encoding="utf-8")) for page in pages}
    assert {name: found for name, found in told.items() if found} == {}


def test_other_tools_are_compared_feature_by_feature():
    page = (README.parent / "docs" / "peers.md").read_text(encoding="utf-8")
    head = next(line for line in page.splitlines() if line.startswith("| | maxentry"))
    known = ("SMURFF", "myFM", "implicit", "Surprise", "fancyimpute", "BayBE", "Optuna")
    assert [name for name in known if name not in head] == []
