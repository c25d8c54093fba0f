"""The next command as it must be typed: with the storage and the campaign where they do not go without saying."""

from __future__ import annotations

import os
from shlex import quote

from maxentry.cli.options import STORAGE


def where(storage: str, campaign: str | None = None, *, several: bool = False) -> str:
    """The options that the next command needs to find this campaign; never with a password.

    A campaign is named where there are several in the storage or where the environment names another.
    """
    words = ""
    known = storage in (STORAGE, os.environ.get("MAXENTRY_STORAGE"))
    secret = "@" in storage or "passw" in storage.lower()
    if not known and not secret:
        words += f" --storage {quote(storage)}"
    usual = os.environ.get("MAXENTRY_CAMPAIGN") or None
    if campaign is not None and campaign != usual and (several or usual is not None):
        words += f" --campaign {quote(campaign)}"
    return words
