"""Fits of the tests are kept where they are thrown away."""

from tests.campaign.conftest import cache  # noqa: F401
