"""Storages to test with, and a policy that needs no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.campaign.postgres_server import database

POSTGRES = pytest.param("postgresql", marks=pytest.mark.postgres)
KINDS = ("file", "memory", POSTGRES)


@pytest.fixture(params=KINDS)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A storage of every kind."""
    yield from _storage(request.param, request, tmp_path)


@pytest.fixture(params=("file", POSTGRES))
def lasting(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A storage of every kind that can be opened twice."""
    yield from _storage(request.param, request, tmp_path)


def _storage(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if kind == "file":
        yield str(tmp_path / "lab.db")
    elif kind == "memory":
        yield "sqlite://"
    else:
        with database(request.getfixturevalue("postgres")) as url:
            yield url


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compiled: None, short_fits: None) -> None:
    monkeypatch.setenv("MAXENTRY_CACHE", str(tmp_path / "cache"))
