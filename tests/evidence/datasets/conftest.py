"""Nothing here reaches the user's own folders."""

import pytest


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """An empty cache, and no folder of data."""
    monkeypatch.setenv("MAXENTRY_DATA_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MAXENTRY_DATA", raising=False)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of data, empty."""
    made = tmp_path / "data"
    made.mkdir()
    monkeypatch.setenv("MAXENTRY_DATA", str(made))
    return made
