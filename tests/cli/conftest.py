from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compiled: None, short_fits: None) -> Path:
    """An empty folder to work in, with nothing set in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in ("MAXENTRY_STORAGE", "MAXENTRY_CAMPAIGN", "MAXENTRY_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MAXENTRY_CACHE", str(tmp_path.with_name(tmp_path.name + "-cache")))
    monkeypatch.setenv("COLUMNS", "200")  # messages are looked for as they stand, not as they are wrapped
    return tmp_path
