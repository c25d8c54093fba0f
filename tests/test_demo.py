"""The demo tells a story in a few lines, and says so where it cannot draw."""

import io
import sys

import numpy as np
import pytest
from rich.console import Console

from maxentry import Sampling, complete, demo
from maxentry.model.smg import simulate

MOST_LINES = 25


@pytest.fixture
def scene():
    simulation = simulate(demo.SHAPE, demo.RANK, 300, np.random.default_rng(0))
    data = (simulation.rows, simulation.cols, simulation.values)
    short = Sampling(chains=2, anneal=5, settle=5, draws=4, thin=1)
    posterior = complete(data, 1, shape=demo.SHAPE, sampling=short, seed=0)
    observed = np.full(demo.SHAPE, np.nan)
    observed[simulation.rows, simulation.cols] = simulation.values
    return demo.make_scene("at random", simulation.X.matrix(), observed, posterior)


def test_the_error_is_relative_to_the_whole_matrix(scene):
    assert scene._replace(mean=scene.truth).error == 0
    assert scene._replace(mean=2 * scene.truth).error == pytest.approx(1.0)


def test_the_story_is_short(scene, tmp_path, monkeypatch, capsys):
    scenes = dict.fromkeys(demo.CHECKPOINTS, scene)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "run_campaign", lambda strategy: scenes)
    demo.main()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= MOST_LINES
    assert all(len(line) <= 110 for line in lines if "Picture" not in line)
    assert sum(line.split()[:1] == [str(n)] for line in lines for n in demo.CHECKPOINTS) == 4
    assert "maxentry new yields" in lines[-1]


def test_the_lines_say_how_often_intervals_contain_the_truth(scene):
    lines = demo.describe_intervals(scene._replace(coverage=(0.5, 0.79, 0.9, 0.95)))
    assert str(int(np.isnan(scene.observed).sum())) in lines[0]
    assert "80%: 79%" in lines[1]


def test_picture_is_written(scene, tmp_path):
    said = demo.draw_picture([scene], tmp_path / "demo.png")
    assert str(tmp_path / "demo.png") in said
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_says_that_matplotlib_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    console = Console(width=80, record=True, file=io.StringIO())
    demo.print_picture(console, [], tmp_path / "demo.png")
    assert "pip install 'maxentry[plots]'" in console.export_text()
    assert not (tmp_path / "demo.png").exists()


@pytest.mark.slow
def test_demo_from_start_to_end(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    demo.main()
    out = capsys.readouterr().out
    assert (tmp_path / "demo.png").exists()
    assert len(out.splitlines()) <= MOST_LINES
    assert "Error as chosen" in out
