"""Whose data it is, told once: licence and citation of a data set when a machine first uses it."""

from __future__ import annotations

import sys
from functools import cache

from maxentry.errors import MaxentryError
from maxentry.studies.datasets.dataset import Info
from maxentry.studies.datasets.places import cache_folder


def tell_once(about: Info) -> None:
    """Licence and citation on stderr, unless this machine's cache says that they were told."""
    try:
        marker = cache_folder() / "told" / about.name
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.open("x").close()  # of several processes at once, one succeeds
    except FileExistsError:
        return
    except (OSError, MaxentryError):  # nowhere to remember it: once in each process
        _tell_once_here(about)
    else:
        _tell(about)


@cache
def _tell_once_here(about: Info) -> None:
    _tell(about)


def _tell(about: Info) -> None:
    print(f"{about.title}\n  licence: {about.licence}\n  please cite: {about.citation}", file=sys.stderr)
