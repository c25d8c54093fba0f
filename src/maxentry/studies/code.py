"""Which code made a result: a fingerprint of all that a run depends on, so that no result is taken for other code's."""

from __future__ import annotations

import hashlib
import platform
from functools import cache
from importlib.metadata import version
from pathlib import Path

import maxentry

# What may change without changing a run: how results are kept, shown and asked for.
ASIDE = (
    "cli",
    "server",
    "client",
    "plots",
    "demo.py",
    "estimators.py",
    "__main__.py",
    "frames.py",
    "progress.py",
)
# Of studies/. Data sets are checked against digests when they are read.
COMMON = ("case.py", "experiment.py", "sources.py", "strategies/ours.py", "strategies/strategy.py")


@cache
def fingerprint(peers: bool = False, root: Path = Path(maxentry.__file__).parent) -> str:
    """A short hash of the sources that runs depend on, and of the versions of the numerical libraries.

    peers: with the sources of strategies that bring a policy or an estimate of their own.
    """
    digest = hashlib.sha256()
    for file in sorted(root.rglob("*.py")):
        part, *rest = file.relative_to(root).parts
        if part in ASIDE or (part == "studies" and not _matters("/".join(rest), peers)):
            continue
        digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    libraries = [f"{name} {version(name)}" for name in ("numpy", "scipy", "numba")]
    digest.update(" ".join([platform.machine(), *libraries]).encode())
    return digest.hexdigest()[:12]


def _matters(name: str, peers: bool) -> bool:
    """Whether runs depend on this file of studies/."""
    return name in COMMON or (peers and name.startswith("strategies/"))
