"""Fits of these tests are kept where they are thrown away, and nothing in the environment says how to make them."""

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MAXENTRY_CACHE", str(tmp_path / "cache"))
    for name in (
        "MAXENTRY_THREADS",
        "MAXENTRY_STORAGE",
        "MAXENTRY_CAMPAIGN",
        "MAXENTRY_TOKEN",
        "MAXENTRY_DEBUG",
    ):
        monkeypatch.delenv(name, raising=False)
