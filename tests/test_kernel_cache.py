"""Kernels are compiled once for all virtual environments of a user, and again when any kernel has changed."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import maxentry

PACKAGE = Path(maxentry.__file__).parent
CODE = """
import json
import numpy as np
import maxentry
from maxentry.kernels.small_linalg import cholesky
cholesky(np.eye(2), 2)
found = cholesky.stats
print(json.dumps([maxentry.__file__, cholesky._cache.cache_path, sum(found.cache_hits.values())]))
"""


@pytest.fixture
def environments(tmp_path: Path) -> tuple[Path, Path]:
    """The package installed twice, at different places."""
    places = tmp_path / "one", tmp_path / "two"
    for place in places:
        shutil.copytree(PACKAGE, place / "maxentry", ignore=shutil.ignore_patterns("__pycache__", "studies"))
    return places


def run(place: Path, **settings: str) -> tuple[Path, int]:
    """Call one kernel with the package at this place: the folder it is kept in, and how many came from there."""
    around = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
    done = subprocess.run(
        [sys.executable, "-c", CODE], env={**around, "PYTHONPATH": str(place), **settings},
        capture_output=True, text=True, check=False, timeout=250,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    package, folder, hits = json.loads(done.stdout)
    assert Path(package).parent == place / "maxentry"
    return Path(folder), hits


def test_another_environment_finds_what_the_first_has_compiled(environments, tmp_path: Path) -> None:
    one, two = environments
    home = {"XDG_CACHE_HOME": str(tmp_path / "cache"), "LOCALAPPDATA": str(tmp_path / "cache")}
    folder, hits = run(one, **home)
    assert hits == 0
    assert folder.is_relative_to(tmp_path / "cache")
    assert run(two, **home) == (folder, 1)
    # The control: a kernel has changed, though not the one called.
    with (two / "maxentry" / "kernels" / "student.py").open("a") as file:
        file.write("# changed\n")
    other, hits = run(two, **home)
    assert hits == 0
    assert other != folder


def test_a_folder_given_to_numba_goes_before(environments, tmp_path: Path) -> None:
    folder, _ = run(environments[0], NUMBA_CACHE_DIR=str(tmp_path / "mine"), XDG_CACHE_HOME=str(tmp_path))
    assert folder.is_relative_to(tmp_path / "mine")


def test_where_the_users_cache_cannot_be_written_numbas_own_place_serves(
    environments, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("in the way")
    folder, _ = run(environments[0], XDG_CACHE_HOME=str(tmp_path / "file"))
    assert folder == environments[0] / "maxentry" / "kernels" / "__pycache__"


def test_few_folders_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from maxentry.kernels import compiled

    monkeypatch.setattr(compiled, "user_cache", lambda: tmp_path)
    for k in range(9):
        old = tmp_path / "kernels" / f"old{k}"
        old.mkdir(parents=True)
        os.utime(old, (k, k))
    made = compiled.shared_folder.__wrapped__()
    left = {folder.name for folder in (tmp_path / "kernels").iterdir()}
    assert left == {made.name, "old4", "old5", "old6", "old7", "old8"}
