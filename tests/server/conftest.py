"""Fits of the tests are kept where they are thrown away; without the server's packages there is nothing to test."""

from importlib.util import find_spec

from tests.campaign.conftest import cache, lasting  # noqa: F401

collect_ignore_glob = [] if all(map(find_spec, ("fastapi", "uvicorn", "httpx"))) else ["test_*.py"]
