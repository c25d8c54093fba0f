"""The README's Python blocks run, in order, in a folder that holds the files they read."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

README = Path(__file__).parent.parent / "README.md"
LIGANDS = [f"L{i}" for i in range(1, 13)]
SUBSTRATES = [f"S{j}" for j in range(1, 9)]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with yields.csv (wide) and runs.csv (long)."""
    rng = np.random.default_rng(0)
    truth = 0.5 + 0.1 * np.outer(rng.normal(size=12), rng.normal(size=8))
    measured = np.where(rng.random(truth.shape) < 0.6, truth + 0.02 * rng.normal(size=truth.shape), np.nan)
    wide = pd.DataFrame(measured.round(3), pd.Index(LIGANDS, name="ligand"), SUBSTRATES)
    wide.to_csv(tmp_path / "yields.csv")
    long = wide.reset_index().melt("ligand", var_name="substrate", value_name="yield").dropna()
    long.to_csv(tmp_path / "runs.csv", index=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blocks():
    """(line, code) of each Python block."""
    text = README.read_text(encoding="utf-8")
    for found in re.finditer(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, found.start(1)), found.group(1)


@pytest.mark.pages
def test_the_python_blocks_run(folder, capsys):
    seen = list(blocks())
    assert len(seen) >= 7
    names: dict = {}
    for line, code in seen:
        # Blank lines in front, so that a failure names the README's own line.
        exec(compile("\n" * line + code, str(README), "exec"), names)
    out = capsys.readouterr().out
    assert "mean" in out
    assert "converged" in out
    # What the page says of these results.
    assert names["best"].shape == (200, 8)
    assert list(names["doubtful"]) == ["row", "col", "mean", "sd", "low", "high", "observed"]
    assert names["longer"].draws.mu.shape[1] == 20
    assert names["updated"].shape == (13, 8)
    assert names["filled"].notna().all(axis=None)
    assert (folder / "fit.npz").exists()


@pytest.mark.pages
def test_the_lab_loop_runs_line_by_line(folder, compiled):
    """As typed, from a folder with nothing but yields.csv; someone fills in the plate in between."""
    text = README.read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    bin = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{bin}{os.pathsep}{os.environ['PATH']}",
        "MAXENTRY_CACHE": str(folder / "cache"),
    }
    for line in block.splitlines():
        done = subprocess.run(line, shell=True, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        if "ask" in line:
            plate = pd.read_csv("plate.csv")
            assert list(plate) == ["id", "row", "col", "mean", "sd", "gain", "cost", "value"]
            plate["value"] = ["0.5"] * 6 + ["failed", ""]
            plate.to_csv("plate.csv", index=False)
        if "tell" in line:
            assert "6 values told, 1 failed, 1 still empty" in done.stderr
    assert pd.read_csv("completed.csv", index_col=0).shape == (12, 8)


def test_what_is_linked_and_what_make_is_told_exists():
    text = README.read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (README.parent / target).exists(), target
    makefile = (README.parent / "Makefile").read_text()
    for target in re.findall(r"make (\w+)  ", text):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
