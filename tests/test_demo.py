"""The demo runs from start to end, and says so where it cannot draw."""

import io
import sys

import numpy as np
import pytest
from rich.console import Console

from maxentry import Sampling, complete, demo
from maxentry.model.smg import simulate


@pytest.fixture
def simulation():
    return simulate(demo.SHAPE, demo.RANK, 300, np.random.default_rng(0))


def test_error_is_that_of_the_entries_not_measured(simulation):
    X = simulation.X.matrix()
    wrong_where_measured = X.copy()
    wrong_where_measured[simulation.rows, simulation.cols] += 1.0
    assert demo._error(wrong_where_measured, simulation) == 0
    assert demo._error(2 * X, simulation) == pytest.approx(1.0)


def test_picture_is_written(simulation, tmp_path):
    data = (simulation.rows, simulation.cols, simulation.values)
    short = Sampling(chains=2, anneal=5, settle=5, draws=4, thin=1)
    posterior = complete(data, 1, shape=demo.SHAPE, sampling=short, seed=0)
    said = demo.draw_picture([demo.make_scene(simulation, posterior)], tmp_path / "demo.png")
    assert str(tmp_path / "demo.png") in said
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_says_that_matplotlib_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    console = Console(width=80, record=True, file=io.StringIO())
    demo.print_picture(console, [], tmp_path / "demo.png")
    assert "pip install 'maxentry[plots]'" in console.export_text()
    assert not (tmp_path / "demo.png").exists()


def test_table_fits_a_terminal_of_80_columns():
    scores = [
        demo.Score("row and column means", 1.17, (), 0.001),
        demo.Score('maxentry, rank="auto"', 0.962, (0.4, 0.7, 0.85, 1.0), 12.3),
        demo.Score("maxentry, paper's, rank 3", 0.823, (0.5, 0.8, 0.9, 0.95), 0.6),
    ]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(demo.make_table({300: scores}))
    text = console.export_text()
    assert "…" not in text
    assert all(figure in text for figure in ("96.2%", "40%", "100%", "12.3 s"))


@pytest.mark.slow
def test_demo_from_start_to_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo.main()
    out = capsys.readouterr().out
    assert (tmp_path / "demo.png").exists()
    assert all(f"{n}" in out for n in demo.MEASURED)
    assert "row and column means" in out
    assert "chosen by maxentry" in out


def test_campaigns_are_compared_at_the_same_numbers():
    truth, told = np.ones((2, 2)), np.full((2, 2), np.nan)
    scenes = [{3: demo.Scene("", truth, told, mean, truth)} for mean in (truth, 0 * truth)]
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(demo.compare_campaigns(*scenes))
    assert [cell.strip() for cell in console.export_text().splitlines()[-2].split("│")[1:4]] == [
        "3",
        "100.0%",
        "0.0%",
    ]
